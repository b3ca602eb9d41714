// Package httptool turns HTTP requests into tools. A [Template] describes a request, and [New]
// returns a server with a tool for each template. The packages for whole APIs, servers/openapi and
// servers/graphql, send their requests with a [Client].
//
// # Arguments
//
// An argument cannot change more than its place in the template. That is a segment of a path, a
// value in a query, a line of a header, or a string in JSON. Values that do not fit their place are
// refused.
//
// # Destinations
//
// Requests go to the origin of their URL. Redirects to other origins are refused. A [Credential] is
// attached just before a request is sent, and only to the origin of [Options.Base]. Errors and logs
// have no credentials, and results hide those that a server repeats.
//
// # Results
//
// JSON becomes structured content and text. Text, pictures and sound become content of their kind.
// Long responses, and responses of any other type, are stored for a while as a resource. The result
// then has a link to the resource, and its beginning. A status of 400 or more becomes a tool error
// with the status and a part of the body.
package httptool
