package follow

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A source is data that changes.
type source struct {
	changed chan struct{}
	parts   []string
	more    bool // is set if there is another part at once
	over    bool
	asked   int
}

func (s *source) next(text []byte) ([]byte, <-chan struct{}, bool) {
	if s.asked++; len(s.parts) == 0 {
		return text, s.changed, s.over
	}
	text, s.parts = append(text, s.parts[0]...), s.parts[1:]
	if s.more && len(s.parts) > 0 {
		return text, nil, false
	}
	return text, s.changed, s.over
}

func TestStreamSendsUpdatesUntilTheEnd(t *testing.T) {
	for _, test := range []struct {
		name  string
		pause time.Duration
		more  bool
		want  string
		took  time.Duration
	}{
		{"one part for each change", 0, false, "begin;a;b;c;", 2 * time.Second},
		{"parts that are there at once", 0, true, "begin;a;b;c;", 0},
		{"with a pause", 3 * time.Second, true, "begin;a;b;c;", 6 * time.Second},
		{"comments where nothing happens", 20 * time.Second, false, "begin;a;: alive\n\nb;: alive\n\nc;", 42 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &source{changed: make(chan struct{}), parts: []string{"a;", "b;", "c;"}, more: test.more}
				next := func(text []byte) ([]byte, <-chan struct{}, bool) {
					s.over = len(s.parts) == 1
					all, changed, over := s.next(text)
					if changed != nil && !over {
						later := make(chan struct{})
						changed = later
						time.AfterFunc(time.Second+test.pause, func() { close(later) })
					}
					return all, changed, over
				}
				began, w := time.Now(), httptest.NewRecorder()
				serve(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), Stream{Begin: "begin;", Pause: test.pause, Next: next})
				if got, took := w.Body.String(), time.Since(began); got != test.want || took != test.took || s.asked != 3 {
					t.Errorf("got %q after %v and %d parts, want %q after %v", got, took, s.asked, test.want, test.took)
				}
				for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
					if got := w.Header().Get(name); got != want {
						t.Errorf("%s: got %q, want %q", name, got, want)
					}
				}
			})
		})
	}
}

// broken is a reader that disconnects after some parts.
type broken struct {
	*httptest.ResponseRecorder
	left int
}

func (b *broken) Write(part []byte) (int, error) {
	if b.left--; b.left < 0 {
		return 0, errors.New("gone")
	}
	return b.ResponseRecorder.Write(part)
}

func TestStreamEndsWithItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute+time.Second, leave)
		s, w := &source{changed: make(chan struct{}), parts: []string{"a;"}}, httptest.NewRecorder()
		serve(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil), Stream{Next: s.next})
		if got := w.Body.String(); got != "a;"+strings.Repeat(": alive\n\n", 4) {
			t.Errorf("got %q", got)
		}
		for left, asked := range []int{0, 1} { // the beginning, a part, a comment
			s := &source{changed: make(chan struct{}), parts: []string{"a;"}}
			serve(&broken{httptest.NewRecorder(), left}, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), Stream{Begin: "begin;", Next: s.next})
			if s.asked != asked {
				t.Errorf("a reader that took %d parts: %d were made", left, s.asked)
			}
		}
	})
}

func TestReadersAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all Readers
		ctx, leave := context.WithCancel(t.Context())
		served := make(chan bool)
		read := func() {
			s := &source{changed: make(chan struct{})}
			served <- all.Serve(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil), 2, Stream{Next: s.next})
		}
		go read()
		go read()
		synctest.Wait()
		w := httptest.NewRecorder()
		if all.Serve(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil), 2, Stream{}) || len(w.Header()) > 0 {
			t.Errorf("a third is served, with %v", w.Header())
		}
		leave()
		if first, second := <-served, <-served; !first || !second || all.now.Load() != 0 {
			t.Errorf("%d readers are left", all.now.Load())
		}
	})
}
