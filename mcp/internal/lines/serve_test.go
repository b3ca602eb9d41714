package lines

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A slowWriter delays each Write.
type slowWriter struct {
	bytes.Buffer
	takes time.Duration
}

func (w *slowWriter) Write(data []byte) (int, error) {
	time.Sleep(w.takes)
	return w.Buffer.Write(data)
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"

func servePing(t *testing.T, w *slowWriter) {
	t.Helper()
	e, err := edge.Serving(mcp.NewServer("s", "1"), mcp.ServeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), e, strings.NewReader(ping), w, nil, mcp.ServeOptions{DrainTimeout: 5 * time.Second}); err != nil {
		t.Error(err)
	}
}

// A process exits when Serve returns: output of other goroutines would be lost.
func TestServeReturnsWhenTheLastResponseIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{takes: time.Second}
		servePing(t, w)
		defer time.Sleep(time.Minute) // for goroutines that Serve leaves behind
		if got := w.String(); got != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
			t.Errorf("written when Serve returned: %q", got)
		}
	})
}

func TestAClientThatDoesNotReadDoesNotHoldServeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		servePing(t, &slowWriter{takes: time.Hour})
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("Serve took %v", took)
		}
		time.Sleep(time.Hour) // for goroutines that Serve leaves behind
	})
}
