// Package unreadbody ends the connection of a request that is answered before its body was read.
// Otherwise net/http would read the rest before or after the response, for as long as the client
// takes to send it.
package unreadbody

import (
	"net/http"
	"time"
)

// restTime is the time for which the rest of an unused body is read, so that the client gets the
// response and not only a closed connection.
const restTime = 2 * time.Second

// Close closes the connection after the response if the request has a body. Call it before the
// response begins, which is then sent at once.
func Close(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restTime)) // a recorder of a test has no deadline
}
