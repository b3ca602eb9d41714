// Package httptool converts HTTP requests to tools: a [Template] describes a request, and [New]
// returns a server with such tools. The packages for whole APIs, servers/openapi and
// servers/graphql, send their requests with its [Client].
//
// # Arguments
//
// An argument fills only its place in the template. In a path it stays within its segment, in a
// query within its value, in a header within its line and in JSON within its string. Values that do
// not fit their place are refused.
//
// # Destinations
//
// Requests go to the origin of their URL. Redirects to other origins are refused. A [Credential] is
// attached when a request is sent, and only to the origin of [Options.Base]. Errors and logs have
// no credentials, and a result hides those that a server repeats.
//
// # Results
//
// JSON becomes structured content with its text; text, pictures and sound become content of their
// kind. Long responses and all other types are stored for a while as a resource. The result then
// has a link to it, and its beginning. A status of 400 or more becomes a tool error with the status
// and a part of the body.
package httptool
