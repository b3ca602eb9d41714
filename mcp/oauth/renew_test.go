package oauth

import (
	"context"
	"net/http"
	"testing"
)

// If a token is refused before it expires, as by a server whose clock is ahead, the other process
// replaces it. This process might be killed during the renewal.
func TestARefusedTokenIsReplacedByTheOtherProcess(t *testing.T) {
	s := newSite(t)
	s.lasts = 3600
	first := s.client(nil)
	if _, err := first.Login(t.Context(), s.URL+"/mcp", nil); err != nil {
		t.Fatal(err)
	}
	other := New(Options{Store: first.store})
	var marks []string
	own := New(Options{Store: first.store, Renew: func(ctx context.Context, server, mark string) error {
		marks = append(marks, mark)
		before := s.refreshes
		err := other.Renew(ctx, server, mark)
		if err != nil || s.refreshes != before+1 {
			t.Errorf("the other process asked %d times, %v", s.refreshes-before, err)
		}
		return err
	}})
	s.mu.Lock()
	s.tokens = map[string]string{} // refused regardless of their expiry
	s.mu.Unlock()
	if status, err := s.get(own, "/mcp"); err != nil || status != http.StatusOK || s.refreshes != 1 || len(marks) != 1 || s.visits != 1 {
		t.Fatalf("%d, %v, %d refreshes, asked with %q", status, err, s.refreshes, marks)
	}
	for _, mark := range []string{marks[0], "another"} { // it was already replaced
		if err := other.Renew(t.Context(), s.URL+"/mcp", mark); err != nil || s.refreshes != 1 {
			t.Errorf("%v, %d refreshes", err, s.refreshes)
		}
	}
}
