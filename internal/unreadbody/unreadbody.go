// Package unreadbody closes the connection of a request that is answered before its body was read.
// Otherwise net/http would read the remaining body, for as long as the client takes to send it.
package unreadbody

import (
	"net/http"
	"time"
)

// restTime is the time for which the remaining body is read and discarded. The client can then
// receive the response before the connection is closed.
const restTime = 2 * time.Second

// Close makes net/http close the connection after the response, if the request has a body. It must
// be called before the response is written. The response can then be sent immediately.
func Close(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restTime)) // fails only for recorders in tests, which have no deadlines
}
