package streamable_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func ExampleUnauthorized() {
	s := mcp.NewServer("private", "1")
	endpoint := streamable.HandlerWith(s, streamable.Options{
		Principal: func(r *http.Request) (*mcp.Principal, error) {
			if r.Header.Get("Authorization") != "Bearer open sesame" {
				return nil, streamable.Unauthorized("example", errors.New("wrong token"))
			}
			return &mcp.Principal{Subject: "ali"}, nil
		},
	})

	r := httptest.NewRequest("POST", "http://localhost/mcp", nil)
	w := httptest.NewRecorder()
	endpoint.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("WWW-Authenticate"))
	// Output: 401 Bearer realm="example"
}

func TestTheErrorOfAPrincipalIsLoggedAndNotSent(t *testing.T) {
	for _, wrap := range []func(error) error{func(err error) error { return err }, func(err error) error { return streamable.Unauthorized(`a "b"`, err) }} {
		var log bytes.Buffer
		o := streamable.Options{Principal: func(*http.Request) (*mcp.Principal, error) { return nil, wrap(errors.New("the key is of yesterday")) }}
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w := httptest.NewRecorder()
		streamable.HandlerWith(mcp.NewServer("x", "1"), o).ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/mcp", nil))
		if w.Code != 401 || strings.Contains(w.Body.String(), "yesterday") || !strings.Contains(log.String(), "the key is of yesterday") {
			t.Errorf("status %d, body %s, log %s", w.Code, w.Body, &log)
		}
		if got := w.Header().Get("WWW-Authenticate"); got != "" && got != `Bearer realm="a \"b\""` {
			t.Errorf("got %s", got)
		}
	}
}
