// Package eras finds the era of the protocol in which a server can send requests to its client.
//
// Some servers support both eras but can send requests in one of them only, which shows only when a
// call fails. [Other] recognizes that failure. A [Server] is the connection to one server, which is
// made in the other era after such a failure. A gateway does the same for its members.
package eras
