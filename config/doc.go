// Package config reads the MCP server configuration files that people already
// have, and makes one ordered list of server definitions out of them.
//
// # Formats
//
// A file's [Format] is known by its name and folder; a file of any other name is judged by its members. Package hostconfig has
// the table of hosts: where their files are, where servers are in them, and which variables they have. A file that is none of
// these is read like Junction's own, which has all variables, also ${secret:NAME} and ${file:PATH}. Comments and trailing
// commas are accepted in all of them.
//
// Each format has its own variables and no others: ${TOKEN} in a Cursor file is
// plain text there, so it is plain text here, with a warning. Variables are replaced
// once; what a variable holds is never searched for further variables. A default ends
// at the first closing brace.
//
// # Servers are resolved when they are used
//
// [Load] reads definitions as they are written: no variable is looked up, no
// environment file is read and nobody is asked anything. [Definition.Resolve] does all
// that, for the one server that is about to be used. So a variable that is not set is
// an error of one server only. Unlike the hosts, which pass on the text or an empty
// string, Junction never starts a server with a variable missing.
//
// # Folders
//
// A project file (.mcp.json, .cursor/mcp.json, .vscode/mcp.json, junction.json, and
// mcp.json in the folder worked in or a folder of its repository above it) belongs to
// the folder that it describes: the one that holds it, or that holds its .cursor or
// .vscode folder. That is the workspace folder, the default working
// directory, and what a relative cwd, command or envFile is relative to. In any
// other file, cwd and command are relative to the folder of the file, envFile to the
// home folder, the workspace folder is [Options].WorkDir, and the working directory
// is left to the caller. A command without a path separator is for the caller to find
// in PATH; it is never split into words. An envFile outside its folder is refused.
//
// # Members of Junction's own
//
// In every format a server may say disabled: true or enabled: false, and timeout: a
// string such as "30s", or a number of seconds (of milliseconds in Claude Code's
// files, whose own member this is). So is startTimeout, how long a start may take;
// start is "eager" or "lazy"; revision is the only one of the protocol to speak. oauth says how to log in at a server with a URL, and tls with which
// certificates; openapi, graphql or http names an HTTP API in place of a server.
//
// # Faults
//
// A fault of one entry never hides the others: it is a [Problem] in [File.Problems].
// Members that mean nothing here are ignored, and named in [File.Warnings]. No text of
// either holds a value of a variable, of an environment or of a header, and neither do
// the String methods of [Definition] and [Server].
//
// Files of projects come from whoever wrote the repository. Running what they name
// needs the consent of the person: see [Definition].Project.
package config
