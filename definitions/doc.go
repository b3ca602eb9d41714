// Package definitions remembers what servers offer, in files of the user's cache
// folder: what a server says of itself and its lists of tools, prompts, resources
// and templates. So a gateway offers a server before it is started.
//
// A [Store] keeps one file for each [Origin]: the command line or the URL, with
// what it is given in environment variables and headers. Their values, and
// everything else of an origin, enter only a keyed hash, which names the file.
package definitions
