// Package redact hides values at given places of arguments and results. It is middleware around one
// Handler, and a function for code that stores arguments or results, such as an audit log.
package redact
