// Package retry repeats requests that got no response because the server could not be started or
// reached, or the connection was lost. It is middleware around any Handler. It repeats only
// requests that may be sent twice.
package retry
