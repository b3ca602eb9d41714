package httpedge

import (
	"net/http"
	"strconv"
	"time"
)

var jsonType = []string{JSON} // never changed

// Respond sends body, which is JSON, as the whole response; nil means no body. The client may take
// the timeout to read it, plus a second for each 64 KiB. After that, the server ends the
// connection.
func (d *Deadlines) Respond(w http.ResponseWriter, status int, body []byte, timeout time.Duration) {
	h := w.Header()
	if body != nil {
		h["Content-Type"] = jsonType
	}
	if status != http.StatusNoContent {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	x := d.begin(w, timeout+time.Duration(len(body)/slowest)*time.Second, (*http.ResponseController).SetWriteDeadline)
	defer d.end(x)
	w.WriteHeader(status)
	w.Write(body)
	http.NewResponseController(w).Flush() // ends the write before its deadline
}
