// Package openapi is a server for an HTTP API. Each operation of an OpenAPI document, 3.0 or 3.1,
// becomes a tool.
//
// # Tools
//
// The name of a tool is its operationId, or else its method and path, adapted to
// ^[a-zA-Z0-9_-]{1,64}$. Its arguments are the operation's parameters by their names, and "body".
// If two parameters have the same name, the later one in the order path, query, header, cookie
// becomes query_NAME, header_NAME or cookie_NAME. Annotations follow from the method. An operation
// whose only type of response is a JSON object has an output schema.
//
// # Schemas
//
// Input schemas are those of the document as JSON Schema 2020-12, with the targets of references
// under $defs. Read-only properties are omitted. oneOf becomes anyOf, because documents use it for
// overlapping forms. If a schema is too large for a tool, its deep parts accept anything, and the
// API checks them. Output schemas describe only the types in a response, and every member may be
// missing or null. A response that does not match becomes a tool error with the whole response.
//
// # Requests
//
// Requests go to the first server of the document, or to the base URL of [Options]. Credentials
// come from [Options] and are never arguments. Package servers/httptool implements redirects,
// limits, and the conversion of responses.
package openapi
