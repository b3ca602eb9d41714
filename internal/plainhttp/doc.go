// Package plainhttp sends small POST requests over plain HTTP/1.1 on the goroutine of their caller.
//
// An [http.Transport] gives each connection a goroutine that reads and one that writes, and passes
// every request and response between them. A gateway sends a few hundred bytes to a server on the
// same machine or network, and this passing costs more than the rest of the exchange. Everything
// else is left to the http.Transport: https, proxies, large bodies, other methods, and systems
// other than Unix, where an idle connection cannot be tested for being open.
package plainhttp
