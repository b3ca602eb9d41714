// Package results makes resources of results that are large: a client gets a preview of what a tool
// answered, and reads the rest where it needs it, whole or page by page. It is middleware around one
// Handler, and keeps what it took out of results for a while, bounded in bytes.
package results
