package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// fetched returns a page as a browser receives it.
func fetched(t *testing.T, at string) (int, string) {
	t.Helper()
	response, err := http.Get(at)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

func TestTheUserComesBackToThisMachine(t *testing.T) {
	s := newSite(t)
	tried := 0
	c := New(Options{Visit: Loopback(func(_ context.Context, page string) error {
		u, err := url.Parse(page)
		if err != nil {
			return err
		}
		q := u.Query()
		back := q.Get("redirect_uri")
		for _, forged := range []string{"/callback?error=x", "/callback?code=x&state=guessed", "/other"} {
			if code, text := fetched(t, strings.TrimSuffix(back, callbackPath)+forged); code < 400 || strings.Contains(text, "<script") {
				t.Errorf("%s: %d %s", forged, code, text)
			}
			tried++
		}
		s.mu.Lock()
		s.codes["c"] = q
		s.mu.Unlock()
		if code, text := fetched(t, back+"?code=c&state="+q.Get("state")); code != http.StatusOK || !strings.Contains(text, "You can close this window") {
			t.Errorf("%d %s", code, text)
		}
		return nil
	})})
	if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil || tried != 3 {
		t.Errorf("%d, %v", status, err)
	}
}

func TestAStateHoldsOnce(t *testing.T) {
	s := newSite(t)
	var first url.Values
	var replayed []string
	c := New(Options{Visit: Loopback(func(_ context.Context, page string) error {
		u, err := url.Parse(page)
		if err != nil {
			return err
		}
		q := u.Query()
		back := q.Get("redirect_uri")
		s.mu.Lock()
		code := s.name("code")
		s.codes[code] = q
		s.mu.Unlock()
		if first != nil { // a later login
			_, text := fetched(t, back+"?code=injected&state="+first.Get("state"))
			replayed = append(replayed, text)
		}
		first = q
		fetched(t, back+"?code="+code+"&state="+q.Get("state"))
		status, text := fetched(t, back+"?code=injected&state="+q.Get("state"))
		if replayed = append(replayed, text); status != http.StatusConflict {
			t.Errorf("a state that was used: status %d", status)
		}
		return nil
	})})
	for range 2 {
		if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil {
			t.Errorf("%d, %v", status, err)
		}
		s.mu.Lock()
		s.tokens, s.refresh = map[string]string{}, "" // so that another login is needed
		s.mu.Unlock()
	}
	for i, want := range []string{"This login was already completed", "This page belongs to another login", "This login was already completed"} {
		if i >= len(replayed) || !strings.Contains(replayed[i], want) {
			t.Errorf("%d: %q, want %q", i, replayed, want)
		}
	}
}

func TestErrorsOfTheAuthorizationServerAreTextOnThePage(t *testing.T) {
	s := newSite(t)
	c := New(Options{Visit: Loopback(func(_ context.Context, page string) error {
		u, err := url.Parse(page)
		if err != nil {
			return err
		}
		code, text := fetched(t, u.Query().Get("redirect_uri")+"?error=access_denied&error_description=%3Cscript%3Ealert(1)%3C/script%3E&state="+u.Query().Get("state"))
		if code != http.StatusOK || !strings.Contains(text, "access_denied &lt;script&gt;") || strings.Contains(text, "<script") {
			t.Errorf("%d %s", code, text)
		}
		return nil
	})})
	if _, err := s.get(c, "/mcp"); err == nil || !strings.Contains(err.Error(), "access_denied: <script>alert(1)</script>") {
		t.Error(err)
	}
}

func TestAVisitEndsWithItsContext(t *testing.T) {
	gone := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	visit, err := Loopback(func(context.Context, string) error { cancel(gone); return nil })(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := visit.Go(ctx, "https://login.example/authorize?state=s"); !errors.Is(err, gone) {
		t.Error(err)
	}
	visit.Close()
	if took := time.Since(began); took > callbackTime {
		t.Errorf("it took %v", took)
	}
	if _, err := http.Get(visit.Redirect); err == nil {
		t.Error("it still listens")
	}
}
