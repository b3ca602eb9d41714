package mcp

import (
	"fmt"
	"net/http"
)

// A StatusError reports that a server responded over HTTP with a status that does not mean success.
// Errors of a [Client] and of [Dial] wrap it. With [errors.As], a program can find the refused
// request, and in the header WWW-Authenticate how to authenticate.
type StatusError struct {
	// Status is the HTTP status, such as [http.StatusUnauthorized].
	Status int
	// Header is the header of the response; it must not be changed.
	Header http.Header
	// Method is the HTTP method of the request.
	Method string
	// URL is the address of the request, without user information, query and fragment.
	URL string
	// Body is the beginning of the response body, on one line and without control characters.
	Body string
	// Fault is the JSON-RPC error in the body, or nil.
	Fault *Error
}

// Error names the request and the server's response.
func (e *StatusError) Error() string {
	const format = "%s %s: HTTP status %d"
	switch {
	case e.Fault != nil:
		return fmt.Sprintf(format+": %s (%d)", e.Method, e.URL, e.Status, e.Fault.Message, e.Fault.Code)
	case e.Body != "":
		return fmt.Sprintf(format+": %s", e.Method, e.URL, e.Status, e.Body)
	}
	return fmt.Sprintf(format, e.Method, e.URL, e.Status)
}
