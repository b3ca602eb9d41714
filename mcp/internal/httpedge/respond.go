package httpedge

import (
	"net/http"
	"strconv"
	"time"
)

var jsonType = []string{JSON} // never changed

// Respond sends body, which is JSON, as the whole response; nil for none. The
// client has the timeout to read it, and a second more for each 64 KiB. The
// deadline holds for this response only: the connection may be used for others.
func Respond(w http.ResponseWriter, status int, body []byte, timeout time.Duration) {
	h := w.Header()
	if body != nil {
		h["Content-Type"] = jsonType
	}
	if status != http.StatusNoContent {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	control := http.NewResponseController(w)
	control.SetWriteDeadline(time.Now().Add(timeout + time.Duration(len(body)/slowest)*time.Second))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil && body != nil {
		return // the deadline stays, so that the server ends the connection
	}
	if control.Flush() == nil {
		control.SetWriteDeadline(time.Time{})
	}
}
