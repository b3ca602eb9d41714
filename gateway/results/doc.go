// Package results turns large results into resources. A client gets a preview of a tool's result,
// and can read the rest as a whole or page by page. The package is middleware around one Handler.
// It keeps the removed texts for a while, limited in bytes.
package results
