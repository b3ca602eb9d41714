// Package httplink holds the parts that both HTTP client transports share: requests to one server
// that leak nothing, redirects within that server, and bounded responses.
package httplink
