package auth

import (
	"errors"
	"testing"
	"time"
)

// Keys that could not be read again for a day are not used, however soon the next request comes.
func TestStaleKeysAreNotUsedByTheNextRequestEither(t *testing.T) {
	g := newGiver(t)
	now := time.Now()
	v := JWT(JWTOptions{Issuer: g.URL, HTTP: g.Client()}).(*jwt)
	v.now = func() time.Time { return now }
	token := g.token(nil)
	if _, err := v.Verify(t.Context(), token, resource); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	g.broken = true
	g.mu.Unlock()
	now = now.Add(maxStale + time.Minute)
	for i := range 3 {
		if _, err := v.Verify(t.Context(), token, resource); !errors.Is(err, ErrUnavailable) {
			t.Errorf("request %d, with keys that are older than %v: %v", i+1, maxStale, err)
		}
	}
}
