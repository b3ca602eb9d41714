// Package config reads the existing MCP configuration files of users, and merges them into one
// ordered list of server definitions.
//
// # Formats
//
// The name and the folder of a file determine its [Format]; for other names the file's members do.
// Package hostconfig has the table of hosts: the places of their files, the place of servers in
// these, and their variables. All other files are read like Junction's own, which support all
// variables, including ${secret:NAME} and ${file:PATH}. Comments and trailing commas are accepted
// in all formats.
//
// Each format has its own variables and no others. For example, ${TOKEN} in a Cursor file is plain
// text for Cursor, so it is plain text here, with a warning. Variables are replaced once; their
// values are not searched for further variables. A default ends at the first closing brace.
//
// # Servers are resolved when they are used
//
// [Load] reads definitions as they are written. It looks up no variables, reads no environment
// files and asks for no inputs. [Definition.Resolve] does that, for one server that is about to be
// used. So an unset variable is an error of one server only. Hosts use the text or an empty string
// in its place, but Junction never starts a server with an unset variable.
//
// # Folders
//
// A project file belongs to the folder that it describes: the folder of the file, or the folder
// around its .cursor or .vscode folder. Project files are .mcp.json, .cursor/mcp.json,
// .vscode/mcp.json, junction.json, and an mcp.json in the working folder or a folder of its
// repository above it. The described folder is the workspace folder, the default working directory,
// and the base of a relative cwd, command or envFile.
//
// In any other file, cwd and command are relative to the folder of the file, and envFile to the
// home folder. The workspace folder is then [Options].WorkDir, and the caller chooses the working
// directory. The caller looks up a command without a path separator in PATH; it is never split into
// words. An envFile outside its folder is refused.
//
// # Members of Junction's own
//
// In every format a server may have disabled: true or enabled: false, and timeout: a string such as
// "30s", or a number of seconds. In Claude Code's files, which define this member, the number is in
// milliseconds. startTimeout limits a start in the same way. start is "eager" or "lazy"; revision
// selects the only revision of the protocol. oauth configures the login at a server with a URL, and
// tls its certificates. openapi, graphql or http names an HTTP API in place of a server.
//
// # Faults
//
// A fault of one entry never hides the others: it becomes a [Problem] in [File.Problems]. Members
// without a meaning are ignored, and listed in [File.Warnings]. The texts of both never have the
// value of a variable, of an environment or of a header. Neither do the String methods of
// [Definition] and [Server].
//
// The authors of a repository write the files of a project, so starting their servers needs the
// consent of the user: see [Definition].Project.
package config
