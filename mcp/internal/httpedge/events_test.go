package httpedge

import (
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
)

// watched is a response that sends each write on a channel.
type watched struct {
	*httptest.ResponseRecorder
	wrote chan string
}

func (w *watched) Write(b []byte) (int, error) {
	select {
	case w.wrote <- string(b):
	default:
	}
	return w.ResponseRecorder.Write(b)
}

// Comments may be due before OpenEvents returns.
func TestCommentsMayBeginAtOnce(t *testing.T) {
	for range 200 {
		w := &watched{httptest.NewRecorder(), make(chan string, 1)}
		e := OpenEvents(w, httptest.NewRequest("GET", "/", nil), EventOptions{WriteTimeout: time.Minute, KeepAlive: time.Nanosecond, Buffers: &Buffers{}}, func() {})
		if got := <-w.wrote; got != ":\n\n" {
			t.Errorf("got %q", got)
		}
		e.Close()
	}
}

func TestEventsAndCommentsDoNotMix(t *testing.T) {
	w := &watched{httptest.NewRecorder(), make(chan string)}
	e := OpenEvents(w, httptest.NewRequest("GET", "/", nil), EventOptions{WriteTimeout: time.Minute, KeepAlive: time.Nanosecond, Buffers: &Buffers{}}, func() {})
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 100 {
				if err := e.Write(t.Context(), eventstream.Event{Data: []byte("word")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	e.Close()
	if err := e.Write(t.Context(), eventstream.Event{Data: []byte("late")}); err != ErrClosed {
		t.Errorf("got %v", err)
	}
	text := w.Body.String()
	if n := strings.Count(text, "data: word\n\n"); n != 400 {
		t.Errorf("%d events", n)
	}
	if rest := strings.NewReplacer("data: word\n\n", "", ":\n\n", "").Replace(text); rest != "" {
		t.Errorf("between them is %q", rest)
	}
}
