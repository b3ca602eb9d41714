// Package registry reads registries of MCP servers and keeps a copy of them that is searched without a network.
package registry
