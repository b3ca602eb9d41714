// Package retry repeats requests that got no response: the server could not be started or reached,
// or its connection was lost. It is middleware around any Handler, and only for requests that may
// be made twice.
package retry
