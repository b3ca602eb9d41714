// Package httplink is what the client ends of both HTTP transports have in
// common: requests to one server that leak nothing, redirects that stay with it,
// and responses that are bounded.
package httplink
