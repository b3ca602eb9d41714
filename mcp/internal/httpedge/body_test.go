package httpedge

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   bool
	}{
		{nil, true},
		{[]string{"text/event-stream"}, true},
		{[]string{"application/json, text/event-stream"}, true},
		{[]string{"application/json", "Text/Event-Stream"}, true},
		{[]string{"*/*"}, true},
		{[]string{"text/*;q=0.5"}, true},
		{[]string{"text/event-stream; q=0"}, false},
		{[]string{"text/event-stream;q=0.000"}, false},
		{[]string{"text/event-stream;q=0, */*;q=0.1"}, true},
		{[]string{"application/json"}, false},
		{[]string{""}, false},
		{[]string{"text/event-streams"}, false},
	} {
		if got := Accepts(c.values, EventStream); got != c.want {
			t.Errorf("%q: got %v", c.values, got)
		}
	}
}

func TestIsJSON(t *testing.T) {
	for value, want := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "Application/Json": true, "application/json;charset": true,
		"application/jsonp": false, "text/plain": false, "": false, "application/json, text/plain": false,
	} {
		if got := IsJSON([]string{value}); got != want {
			t.Errorf("%q: got %v", value, got)
		}
	}
	if IsJSON(nil) || IsJSON([]string{JSON, JSON}) {
		t.Error("none, or two, are not one")
	}
}

func TestReadBody(t *testing.T) {
	const most = 600 << 10
	for _, length := range []int{0, 1, FirstRead, FirstRead + 1, most - 1, most, most + 1} {
		for _, known := range []bool{true, false} {
			r := httptest.NewRequest("POST", "/", io.NopCloser(strings.NewReader(strings.Repeat("x", length))))
			if r.ContentLength = -1; known {
				r.ContentLength = int64(length)
			}
			body, err := (&Bodies{Max: most, Timeout: time.Second}).Read(httptest.NewRecorder(), r, caller("eve"))
			var large *http.MaxBytesError
			if length > most {
				if !errors.As(err, &large) {
					t.Errorf("%d bytes: got %v", length, err)
				}
			} else if err != nil || len(body) != length {
				t.Errorf("%d bytes: got %d, %v", length, len(body), err)
			}
		}
	}
}

func TestABodyThatEndsEarlyIsAnError(t *testing.T) {
	for _, length := range []int64{10, FirstRead + 10} {
		r := httptest.NewRequest("POST", "/", io.NopCloser(io.MultiReader(strings.NewReader("x"), failing{})))
		r.ContentLength = length
		if body, err := (&Bodies{Max: 1 << 20, Timeout: time.Second}).Read(httptest.NewRecorder(), r, caller("eve")); err == nil {
			t.Errorf("got %q", body)
		}
	}
}

type failing struct{}

// A caller is the key of a share.
type caller string

func (c caller) Caller() string { return string(c) }

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestBodiesThatAreBeingReadHaveABudget(t *testing.T) {
	const clients = 100
	b := &Bodies{Max: 1 << 20, Timeout: time.Second}
	results := make(chan error, clients)
	var opened []*io.PipeWriter
	for range clients {
		in, out := io.Pipe()
		opened = append(opened, out)
		r := httptest.NewRequest("POST", "/", in)
		r.ContentLength = 1 << 20
		go func() {
			_, err := b.Read(httptest.NewRecorder(), r, caller("eve"))
			in.Close()
			results <- err
		}()
		out.Write(make([]byte, 900<<10)) // half open from now on, if it was taken
		if held := b.budget().Used(); held > maxAllBodyBytes+2<<20 {
			t.Fatalf("%d bytes are held", held)
		}
	}
	for _, out := range opened {
		out.CloseWithError(io.ErrUnexpectedEOF)
	}
	refused := 0
	for range clients {
		switch err := <-results; err {
		case ErrBusy:
			refused++
		case io.ErrUnexpectedEOF:
		default:
			t.Errorf("got %v", err)
		}
	}
	if held := b.budget().Used(); held != 0 || refused < clients/2 || refused > clients-10 {
		t.Errorf("%d of %d were refused, %d bytes are held in the end", refused, clients, held)
	}
}
