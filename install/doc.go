// Package install puts packages of MCP servers on this machine: exactly the bytes that were locked.
package install
