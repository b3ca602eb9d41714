// Package eras finds the era of the protocol in which a server can send requests to its client.
//
// Some servers support both eras but can send requests only in one of them. This shows only when a
// call fails. [Other] recognizes that failure. A [Server] is a connection to one server, which is
// made again in the other era after that failure. Package gateway does the same for its members.
package eras
