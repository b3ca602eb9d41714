// Package definitions stores the definitions of servers in files of the user's cache folder: their
// descriptions and their lists of tools, prompts, resources and templates. With them a gateway can
// list the tools of a server that it has not started yet.
//
// A [Store] has one file for each [Origin]: the command line or the URL of a server, with its
// environment variables and headers. The file does not contain the origin. Its name is a keyed hash
// of the origin.
package definitions
