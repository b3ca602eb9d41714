package httpedge

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
			body, err := ReadBody(httptest.NewRecorder(), r, most)
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
		if body, err := ReadBody(httptest.NewRecorder(), r, 1<<20); err == nil {
			t.Errorf("got %q", body)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
