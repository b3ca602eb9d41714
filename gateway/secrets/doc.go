// Package secrets refuses calls whose arguments hold a secret, and withholds results that do: keys and tokens, as
// far as their looks tell. It is middleware around one server.
package secrets
