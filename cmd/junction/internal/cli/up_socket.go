package cli

import (
	"context"
	"net"
	"net/http"
	"time"
)

// ControlEnd ends the name of the socket at which junction status and this user's console ask a junction up, and consoles control it.
// It is short, as names of sockets have a limit, and caches of people may lie deep.
const ControlEnd = ".up"

// AskProcess sends a request to the junction up that listens at a socket, which may take so long to begin its answer.
func AskProcess(path string, req *http.Request, within time.Duration) (*http.Response, error) {
	return (&http.Transport{DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: within, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return DialMine(ctx, path)
	}}).RoundTrip(req)
}
