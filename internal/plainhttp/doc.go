// Package plainhttp sends small POST requests over plain HTTP/1.1 on the goroutine of their caller.
//
// An [http.Transport] has two goroutines for each connection, one that reads and one that writes,
// and passes every request and response between them. A gateway often sends a few hundred bytes to
// a server on the same machine or network. For such a request, the communication between the
// goroutines costs more than all other work. The package passes all other requests to the
// http.Transport: https, proxies, large bodies, and other methods. It also does so on systems other
// than Unix, where it cannot check whether an idle connection is still open.
package plainhttp
