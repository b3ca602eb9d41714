package streamable

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// The server opens the stream of a call at once, and the call is given up a second later. The
// cancellation overtakes nothing and need not be repeated.
func TestCallsWithAnOpenStreamHaveArrived(t *testing.T) {
	late := 0
	for range 40 {
		synctest.Test(t, func(t *testing.T) {
			l, err := ClientWith("http://quick.example/mcp", ClientOptions{HTTP: &http.Client{Transport: &slowServer{takes: time.Millisecond}}}).(link.Linker).Link(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("given up"))
			defer cancel()
			out := link.Out{ID: "1", Method: "tools/call", Arrives: true, Message: jsonrpc.AppendRequest(nil, "1", "tools/call", nil)}
			if _, err := l.Call(ctx, out, nil); errors.Is(err, link.ErrMayArrive) {
				late++
			}
			l.Close()
		})
	}
	if late > 0 {
		t.Errorf("%d of 40 calls that the server had are cancelled four times, and count for 7 s", late)
	}
}
