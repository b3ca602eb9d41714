// Package resent counts how often a request was sent to its server again: a connection, a gateway and middleware each
// may do so where the response was lost, and an audit log, which stands around all of them, says how often.
package resent
