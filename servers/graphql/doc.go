// Package graphql is a server for a GraphQL API: each field of its query and mutation types becomes
// a tool, by introspection.
//
// The arguments of a tool are those of its field, sent as variables. The default selection follows
// from the types: scalars, and the scalars of nested objects to a depth. The argument "fields"
// selects others, as a selection set such as {id owner {login}}. It cannot end the enclosing
// selection, so a query stays one query.
//
// Package servers/httptool has the common parts of all requests: credentials, redirects, limits,
// and the conversion of responses.
package graphql
