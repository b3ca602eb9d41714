// Package event observes the messages between clients and a Handler as steps: a request, the
// server's notifications and questions during the request, the client's answers, and the outcome.
//
// [Tap] is middleware that wraps the Handler and the Peer of each request. It encodes each result
// once. It distinguishes results, errors, cancelled requests and requests that continue with
// another round. A [Sink] gets the steps. It may pass them on as messages to observers (package
// traffic), write them to a file (package recording), or collect a trace (package host/trace).
package event
