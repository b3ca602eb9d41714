package httpsse

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// newSilent opens a stream of a client that reads nothing after its first event. It returns a
// function that sends messages.
func newSilent(t *testing.T, e *Endpoint) (w *silent, send func(message string) (status int)) {
	w = &silent{httptest.NewRecorder(), make(chan struct{}, 1)}
	w.read <- struct{}{}
	go e.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/", nil))
	synctest.Wait()
	var id string
	for id = range e.connections {
	}
	return w, func(message string) int {
		r := httptest.NewRequest("POST", "http://localhost/?sessionId="+id, strings.NewReader(message))
		r.Header.Set("Content-Type", "application/json")
		response := httptest.NewRecorder()
		e.ServeHTTP(response, r)
		synctest.Wait()
		return response.Code
	}
}

func TestAClientThatReadsNothingGetsNoMoreWorkDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 4
		var ran atomic.Int32
		s := mcp.NewServer("test", "1")
		mcp.AddTool(s, "big", func(context.Context, struct{}) (string, error) {
			ran.Add(1)
			return strings.Repeat("x", 1<<20), nil
		})
		e := HandlerWith(s, Options{ServeOptions: mcp.ServeOptions{MaxInFlight: most}, KeepAlive: -1})
		w, send := newSilent(t, e)
		refused := 0
		for id := range 100 {
			message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"big","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id)
			if send(message) == 503 {
				refused++
			}
		}
		if n := ran.Load(); n > 2*most || refused < 100-2*most {
			t.Errorf("%d of 100 calls ran, and %d were refused, while no response could be written", n, refused)
		}
		close(w.read)
		e.Close()
	})
}

func TestShutdownTakesNoMoreRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer("test", "1")
		mcp.AddTool(s, "slow", func(context.Context, struct{}) (string, error) {
			time.Sleep(time.Second)
			return "slept", nil
		})
		var later atomic.Int32
		mcp.AddTool(s, "later", func(ctx context.Context, _ struct{}) (string, error) {
			later.Add(1)
			<-ctx.Done()
			return "", ctx.Err()
		})
		e := Handler(s)
		w, send := newSilent(t, e)
		close(w.read) // it reads everything
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow",` + meta + `}}`)
		done := make(chan error, 1)
		began := time.Now()
		go func() { done <- e.Shutdown(t.Context()) }()
		synctest.Wait()
		send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"later",` + meta + `}}`)
		if err := <-done; err != nil || later.Load() != 0 || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %v; a request that came later ran %d times", err, time.Since(began), later.Load())
		}
		if body := w.Body.String(); !strings.Contains(body, `"id":2,"error"`) || !strings.Contains(body, "slept") {
			t.Errorf("got %s", body)
		}
	})
}

// The URL for messages is on this server for any path of the stream.
func TestThePathOfAStreamNamesNoOtherServer(t *testing.T) {
	for path, want := range map[string]string{
		"//evil.example/sse":   "/.//evil.example/sse?sessionId=x",
		"/sse":                 "/sse?sessionId=x",
		"http://localhost/sse": "/sse?sessionId=x",
	} {
		r := httptest.NewRequest("GET", "http://localhost/sse", nil)
		r.RequestURI = path
		if got := new(Endpoint).messageURL(r, "x"); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
