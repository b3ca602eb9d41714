// Package plainhttp sends small POST requests over plain HTTP/1.1 on the goroutine of their caller.
//
// An [http.Transport] gives each connection a goroutine that reads and one that writes, and hands every request and response
// from one to the other. What a gateway sends to a server on the same machine or in the same network is a few hundred bytes,
// and the hand-overs cost more than the rest of the exchange. Everything else (https, proxies, bodies that are large, other
// methods, and systems other than Unix, where an idle connection cannot be asked whether it is open) is left to the
// http.Transport.
package plainhttp
