// Package event observes what clients and a Handler send each other, as steps: a request, what the server notifies and asks
// meanwhile, what the client answers, and how it ends.
//
// [Tap] is the one middleware that does so. It wraps the Handler and the Peer of each request, encodes the result once, and tells
// apart results, errors, requests that are cancelled and those that go on with another round. What becomes of the steps is a
// [Sink]'s: messages for watchers (package traffic), the lines of a file (package recording), a trace (package host/trace).
package event
