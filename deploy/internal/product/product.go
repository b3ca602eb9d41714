// Package product has the names by which packages, registries and the container image present
// Junction.
package product

// Facts that several kinds of packages contain.
const (
	Summary  = "Gateway, host, inspector and installer for the Model Context Protocol"
	Homepage = "https://github.com/junction-mcp/junction"
	License  = "Apache-2.0"
	Author   = "The Junction authors"
	Server   = "io.github.junction-mcp/junction" // in the registry of the Model Context Protocol
	Image    = "ghcr.io/junction-mcp/junction"
)
