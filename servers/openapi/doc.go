// Package openapi is a server for an HTTP API: each operation of an OpenAPI document, 3.0 or 3.1, is a tool.
//
// # Tools
//
// A tool has the name of its operationId, or else of its method and path, made to fit ^[a-zA-Z0-9_-]{1,64}$. Its arguments
// are the operation's parameters by their names, and "body". A parameter whose name another one has already, in the order
// path, query, header, cookie, is called query_NAME, header_NAME or cookie_NAME. Annotations follow from the method. An
// operation that answers one type of JSON object has an output schema.
//
// # Schemas
//
// Input schemas are those of the document as JSON Schema 2020-12, with what is referred to under $defs; what is read-only is
// left out, and oneOf is anyOf, as documents use it for forms that overlap. Where a schema is larger than a tool's may be,
// what lies deep within accepts anything: the API has the last word. Output schemas say the types of an answer only, and any
// member may be missing or null; an answer that does not fit even so is a tool error that has the whole answer.
//
// # Requests
//
// They go to the first server of the document, or to the base URL of [Options]. Credentials come from [Options] and are never
// arguments. Package servers/httptool has what holds for all requests: redirects, limits, and what answers become.
package openapi
