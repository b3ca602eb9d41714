// Package ratelimit bounds how often a Handler is called, and how much it does at a time: for each user,
// for each client, for a server or for one of its tools. It imports nothing but mcp, so that any Handler
// can have it.
package ratelimit
