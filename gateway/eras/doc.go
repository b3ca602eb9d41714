// Package eras finds the era of the protocol in which a server can ask its client.
//
// Some servers know both eras, can ask in one of them only, and do not say so before a call fails. [Other] recognizes
// that failure. A [Server] is the connection to one server, made in the other era after such a failure; a gateway does
// the same for its members.
package eras
