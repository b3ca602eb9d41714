// Package graphql is a server for a GraphQL API. By introspection, each field of the API's query
// and mutation types becomes a tool.
//
// The arguments of a tool are those of its field, sent as variables. The default selection has the
// scalars of the result and of its nested objects, to a limited depth. The argument "fields" is
// another selection set, such as {id owner {login}}. It cannot end the enclosing selection, so a
// query stays one query.
//
// Package servers/httptool implements credentials, redirects, limits, and the conversion of
// responses.
package graphql
