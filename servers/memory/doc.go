// Package memory is a server that keeps a knowledge graph in a file of SQLite: entities with what was
// observed of them, and relations between them. It has the tools of the reference server of that name,
// so that what was written for that works, and answers with what was found in place of all there is.
//
// What is in the graph was written by models: it counts as text that is not trusted, and as private.
package memory
