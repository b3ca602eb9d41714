// Package httplink contains the parts that both HTTP client transports share: requests to one
// server that leak no secrets, redirects within that server, and limited responses.
package httplink
