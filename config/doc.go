// Package config reads the existing MCP configuration files of users, and merges them into one
// ordered list of server definitions.
//
// # Formats
//
// The name and the folder of a file determine its [Format]. If they do not, the members of the file
// do. Package hostconfig has the table of hosts: where their files are, where the servers are in a
// file, and which variables a file may use. Every other file is read like Junction's own, which may
// use all variables, including ${secret:NAME} and ${file:PATH}. All formats allow comments and
// trailing commas.
//
// In each format only the variables of its host are replaced. For example, Cursor does not replace
// ${TOKEN}, so it stays in a Cursor file, with a warning. The value of a variable is not searched
// for further variables. A default ends at the first closing brace.
//
// # Servers are resolved when they are used
//
// [Load] reads definitions without looking up variables, reading environment files or asking for
// inputs. [Definition.Resolve] does these for one server when it is about to be used. An unset
// variable is therefore an error of one server only. Hosts replace an unset variable by its own
// text or by nothing, but Junction never starts a server with an unset variable.
//
// # Folders
//
// A project file describes a folder, its workspace folder: the file's own folder, or the one that
// contains the file's .cursor or .vscode folder. Project files are .mcp.json, .cursor/mcp.json,
// .vscode/mcp.json, junction.json, and an mcp.json in the working folder or in a folder of its
// repository above it. The workspace folder is the default working directory, and the base of a
// relative cwd, command or envFile.
//
// In any other file, cwd and command are relative to the folder of the file, and envFile to the
// home folder. The workspace folder is then [Options].WorkDir, and the caller chooses the working
// directory. The caller looks up a command without a path separator in PATH. Commands are never
// split into words. An envFile outside its base folder is refused.
//
// # Members of Junction's own
//
// In every format a server may have disabled: true or enabled: false. timeout is a string such as
// "30s" or a number of seconds; in Claude Code's files the number is in milliseconds, as Claude
// Code defines it. startTimeout limits a start in the same way. start is "eager" or "lazy", and
// revision selects the only revision of the protocol. oauth configures the login at a server with a
// URL, and tls its certificates. openapi, graphql or http names an HTTP API in place of a server.
//
// # Faults
//
// A fault in one entry never hides the other entries: it becomes a [Problem] in [File.Problems].
// Members without a meaning are ignored and listed in [File.Warnings]. Neither list contains the
// value of a variable, an environment or a header. The String methods of [Definition] and [Server]
// do not return such values either.
//
// Any author of a repository can write a project file, so starting a server from one needs the
// user's consent: see [Definition].Project.
package config
