// Package redact hides what stands at given places of arguments and results: it is middleware around one
// Handler, and a function for who keeps either, such as an audit log.
package redact
