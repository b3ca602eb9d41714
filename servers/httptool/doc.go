// Package httptool makes tools of HTTP requests: a [Template] says which request, and [New] returns a server with such
// tools. The packages for whole APIs, servers/openapi and servers/graphql, send their requests with its [Client].
//
// # What an argument can do
//
// It fills the place that the template gives it, and nothing else: in a path it stays within its segment, in a query
// within its value, in a header within its line and in JSON within its string. What cannot stand in a place is refused.
//
// # Where a request can go
//
// To the origin of its URL. Redirects to other origins are refused, and a [Credential] is attached while a request goes
// out, to the origin of [Options.Base] only. No credential is in an error or a log, and what a server repeats of one is
// hidden from the result.
//
// # What an answer becomes
//
// JSON is structured content, and its text; text, pictures and sound are content of their kind. What is long, or none of
// these, is kept for a while as a resource, and the result has a link to it and how it begins. A status of 400 or more is
// a tool error with the status and a part of the body.
package httptool
