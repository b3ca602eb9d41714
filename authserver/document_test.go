package authserver

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A slow site occupies the readers of its own host only.
func TestSlowDocumentsDoNotKeepOthersOut(t *testing.T) {
	s := newSite(t)
	const id, to = "https://good.example/c.json", "https://good.example/callback"
	s.web[id] = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"client_id":"` + id + `","client_name":"c","redirect_uris":["` + to + `"]}`))
	}
	release, begun := make(chan struct{}), make(chan struct{}, 2*maxReadingHost)
	defer close(release)
	for i := range 2 * maxReadingHost {
		slow := "https://evil.example/" + strings.Repeat("x", i+1)
		s.web[slow] = func(w http.ResponseWriter, _ *http.Request) {
			begun <- struct{}{}
			<-release
			w.WriteHeader(http.StatusNotFound)
		}
	}
	for i := range 2 * maxReadingHost { // one address, without a login
		go func() {
			req, _ := http.NewRequest(http.MethodGet, ask("https://evil.example/"+strings.Repeat("x", i+1), to), nil)
			if response, err := s.RoundTrip(req); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
			}
		}()
	}
	for range maxReadingHost {
		<-begun
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, ask(id, to), nil)
	response, err := s.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode/100 != 3 {
		body, _ := io.ReadAll(response.Body)
		t.Errorf("another client is refused while one address has slow documents read: %d %s", response.StatusCode, body)
	}
}

// For a day an old document is used in place of one that cannot be read.
func TestADocumentIsUsedWhileItsHostFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		fails := false
		s.web[documentAt] = func(w http.ResponseWriter, _ *http.Request) {
			if fails {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_, _ = w.Write([]byte(`{"client_id":"` + documentAt + `","redirect_uris":["` + siteCallback + `"]}`))
		}
		get := func(want error) {
			t.Helper()
			if _, err := s.client(t.Context(), documentAt); !errors.Is(err, want) {
				t.Errorf("got %v, expected %v", err, want)
			}
		}
		get(nil)
		fails = true
		for range 3 {
			time.Sleep(documentTime)
			get(nil)
		}
		time.Sleep(oldDocumentTime)
		get(errUnread)
		fails = false
		time.Sleep(badDocumentTime)
		get(nil)
	})
}
