// Package memory is a server that stores a knowledge graph in an SQLite file: entities with
// observations, and relations between them. It has the tools of the reference server with that
// name, so that clients and prompts for that server work. A search returns only the matches, not
// the whole graph.
//
// Models write the graph, so its content counts as untrusted and private.
package memory
