// Package definitions stores the offers of servers in files of the user's cache folder: their
// descriptions and their lists of tools, prompts, resources and templates. So a gateway can offer a
// server before it starts.
//
// A [Store] has one file for each [Origin]: the command line or the URL, with its environment
// variables and headers. Their values, and everything else of an origin, are only in a keyed hash,
// which names the file.
package definitions
