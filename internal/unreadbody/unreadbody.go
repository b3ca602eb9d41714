// Package unreadbody ends the connection of a request that is answered before its body was read: net/http would read the rest of it before
// or after the response, for as long as the client takes to send it.
package unreadbody

import (
	"net/http"
	"time"
)

// restTime is for how long the rest of a body is read that nobody wants, so that the client sees the response and not only that its
// connection was closed.
const restTime = 2 * time.Second

// Close says that the connection closes after the response, where the request has a body; it must be called before the response begins.
// The response leaves at once then.
func Close(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restTime)) // a recorder of a test has none
}
