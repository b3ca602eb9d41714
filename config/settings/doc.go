// Package settings reads what Junction adds to the servers of a configuration: the member
// "junction" of a file that also has "mcpServers", or of a junction.json next to it.
package settings
