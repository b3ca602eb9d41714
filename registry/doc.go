// Package registry reads registries of MCP servers and stores a copy of them for searches without a
// network.
package registry
