// Package graphql is a server for a GraphQL API: each field of its query and mutation types is a tool, as the API tells by
// introspection.
//
// The arguments of a tool are those of its field, sent as variables. What of the result is asked for is made of the types:
// scalars, and those of objects within to a depth; the argument "fields" asks for something else, as a selection set such
// as {id owner {login}}. It cannot end the selection that it stands in, so a query stays one.
//
// Package servers/httptool has what holds for all requests: credentials, redirects, limits, and what answers become.
package graphql
