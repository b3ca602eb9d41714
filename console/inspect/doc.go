// Package inspect is what the console's inspector does behind its page: connections to servers, made for somebody who wants
// to see how they come about and what is said on them. It is an API over HTTP in JSON, with a stream of events for each
// connection: the steps of connecting, every message, what the server notifies of and asks, and the results of requests.
//
// How a server is reached is decided by whoever makes an [Inspector]: its Open knows the configuration, logins and rules.
package inspect
