// Package results turns large results into resources. A client gets a preview of a tool's result,
// and can read all of it at once or page by page. The package is middleware around one Handler. It
// keeps the removed texts for 30 minutes, up to a limit in bytes, in memory or also in a store that
// replicas share.
package results
