// Package secrets refuses calls whose arguments contain a secret, and withholds results that
// contain one. It recognizes keys and tokens by their form. It is middleware around one server.
package secrets
