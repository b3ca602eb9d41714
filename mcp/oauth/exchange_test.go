package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A desk is a site at which callers' tokens are exchanged.
type desk struct {
	*site
	*Exchange
	now   time.Time
	given map[string]string // by subject token, the tokens of the site that were issued
	asked []url.Values
}

type callerKey struct{}

func newDesk(t *testing.T, o ExchangeOptions) *desk {
	s := newSite(t)
	d := &desk{site: s, now: time.Now(), given: map[string]string{}}
	s.answer = func(form url.Values) map[string]any { // the site holds its lock
		d.asked = append(d.asked, form)
		token := "for " + form.Get("subject_token") + fmt.Sprint(len(d.asked))
		s.tokens[token] = form.Get("scope")
		d.given[token] = form.Get("subject_token")
		return map[string]any{"access_token": token}
	}
	o.Client.Registered = func(string) (Registration, bool) { return Registration{ID: "machine", Secret: "its secret"}, true }
	o.Caller = func(ctx context.Context) (Caller, bool) {
		c, found := ctx.Value(callerKey{}).(Caller)
		return c, found
	}
	x, err := NewExchange(s.URL+"/mcp", o)
	if err != nil {
		t.Fatal(err)
	}
	x.now = func() time.Time { return d.now }
	d.Exchange = x
	return d
}

func (d *desk) caller(name string) Caller {
	return Caller{Issuer: d.URL, Subject: name, ClientID: "client", Scopes: []string{"use"}, Expires: d.now.Add(24 * time.Hour), Token: NewSecret("t0ken-of-" + name)}
}

// asks sends a request of a caller with the exchanged token.
func (d *desk) asks(t *testing.T, c Caller) (*Exchanged, int, error) {
	t.Helper()
	ctx := context.WithValue(t.Context(), callerKey{}, c)
	e, err := d.For(ctx)
	if err != nil {
		return nil, 0, err
	}
	status, err := d.sends(ctx, e)
	return e, status, err
}

func (d *desk) sends(ctx context.Context, e *Exchanged) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL+"/mcp", strings.NewReader("{}"))
	if err != nil {
		return 0, err
	}
	response, err := e.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func TestNoCallersTokenServesAnother(t *testing.T) {
	d := newDesk(t, ExchangeOptions{Audience: "the files"})
	ada, ben := d.caller("ada"), d.caller("ben")
	other, less := d.caller("ada"), d.caller("ada")
	other.ClientID, less.Scopes = "another client", nil
	var mu sync.Mutex
	got := map[string]map[*Exchanged]bool{}
	var all sync.WaitGroup
	for range 20 {
		for name, c := range map[string]Caller{"ada": ada, "ben": ben, "ada's other client": other, "ada with less": less} {
			all.Go(func() {
				e, status, err := d.asks(t, c)
				if status != http.StatusOK || err != nil {
					t.Errorf("%s: %d, %v", name, status, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if got[name] == nil {
					got[name] = map[*Exchanged]bool{}
				}
				got[name][e] = true
			})
		}
	}
	all.Wait()
	if len(d.asked) != 4 {
		t.Errorf("%d exchanges for 80 requests of four", len(d.asked))
	}
	seen := map[*Exchanged]bool{}
	for name, of := range got {
		if len(of) != 1 {
			t.Errorf("%s has %d", name, len(of))
		}
		for e := range of {
			if seen[e] {
				t.Errorf("%s has that of another", name)
			}
			seen[e] = true
		}
	}
	for _, form := range d.asked {
		if form.Get("audience") != "the files" || form.Get("resource") != d.URL+"/mcp" {
			t.Errorf("asked for %v", form)
		}
	}
	for _, sent := range d.sent {
		if strings.HasPrefix(sent, "t0ken") {
			t.Errorf("the server got a caller's own token: %s", sent)
		}
	}
	e, _, _ := d.asks(t, ada)
	if _, err := d.sends(context.WithValue(t.Context(), callerKey{}, ben), e); err == nil || !strings.Contains(err.Error(), "different callers") {
		t.Errorf("ben with what ada got: %v", err)
	}
}

func TestAnExchangedTokenIsRenewedWhileItsCallerAsks(t *testing.T) {
	d := newDesk(t, ExchangeOptions{})
	ada := d.caller("ada")
	var first *Exchanged
	for i := range 3 {
		e, status, err := d.asks(t, ada)
		if status != http.StatusOK || err != nil || i > 0 && e != first {
			t.Fatalf("%d, %v, the same: %t", status, err, e == first)
		}
		first = e
		if status, err := d.sends(t.Context(), e); status != http.StatusOK || err != nil {
			t.Errorf("between requests, as long as the token holds: %d, %v", status, err)
		}
		d.now = d.now.Add(time.Hour)
	}
	if _, err := d.sends(t.Context(), first); !errors.Is(err, errBetween) {
		t.Errorf("between requests, with a token that holds no more: %v", err)
	}
	if len(d.asked) != 3 {
		t.Errorf("%d exchanges", len(d.asked))
	}
	// A revoked token is exchanged again.
	if _, _, err := d.asks(t, ada); err != nil {
		t.Fatal(err)
	}
	d.tokens = map[string]string{}
	if _, err := d.sends(t.Context(), first); !errors.Is(err, errBetween) {
		t.Errorf("between requests, with a token that was revoked: %v", err)
	}
	if _, status, err := d.asks(t, ada); status != http.StatusOK || err != nil || len(d.asked) != 5 {
		t.Errorf("%d, %v, %d exchanges", status, err, len(d.asked))
	}
}

// A caller does not receive the error of an attempt that was made between their requests.
func TestWaitersMakeTheirOwnAttempt(t *testing.T) {
	transport := &http.Transport{}
	d := newDesk(t, ExchangeOptions{Base: transport, Client: Options{HTTP: &http.Client{Transport: transport}}})
	ada := d.caller("ada")
	synctest.Test(t, func(t *testing.T) {
		defer transport.CloseIdleConnections()
		e, _, err := d.asks(t, ada)
		if err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(2 * time.Hour)
		a := e.client.accessTo(d.server)
		unlock, err := a.lock(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan error, 1)
		go func() {
			_, _, err := d.asks(t, ada)
			asked <- err
		}()
		synctest.Wait()
		a.ended("", errBetween)
		unlock()
		if err := <-asked; err != nil || len(d.asked) != 2 {
			t.Errorf("%v, %d exchanges", err, len(d.asked))
		}
	})
}

func TestExchangedTokensEndWithTheCallersToken(t *testing.T) {
	d := newDesk(t, ExchangeOptions{})
	ada := d.caller("ada")
	ada.Expires = d.now.Add(10 * time.Minute)
	e, _, err := d.asks(t, ada)
	if err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(11 * time.Minute) // the token of the site would be valid for an hour
	if _, err := d.sends(t.Context(), e); !errors.Is(err, ErrCallerEnded) {
		t.Errorf("after the caller's token expired: %v", err)
	}
	if _, _, err := d.asks(t, ada); !errors.Is(err, ErrCallerEnded) {
		t.Errorf("a caller whose token expired: %v", err)
	}
	renewed := d.caller("ada")
	renewed.Token = NewSecret("t0ken-of-ada-2")
	after, _, err := d.asks(t, renewed)
	if err != nil || after == e || d.asked[len(d.asked)-1].Get("subject_token") != "t0ken-of-ada-2" {
		t.Errorf("a caller who logged in again: the same %t, %v", after == e, err)
	}

	ben, _, err := d.asks(t, d.caller("ben"))
	if err != nil {
		t.Fatal(err)
	}
	d.End(ada.Token) // an old one
	if _, err := d.sends(t.Context(), after); err != nil {
		t.Errorf("after the end of the token before: %v", err)
	}
	d.End(renewed.Token)
	if _, err := d.sends(t.Context(), after); !errors.Is(err, ErrCallerEnded) {
		t.Errorf("after the token was revoked: %v", err)
	}
	if _, err := d.sends(t.Context(), ben); err != nil {
		t.Errorf("another caller: %v", err)
	}
	d.End(Secret{})
}

func TestACallersTokenGoesToNoOtherAuthorizationServer(t *testing.T) {
	d := newDesk(t, ExchangeOptions{})
	ada := d.caller("ada")
	ada.Issuer = "https://login.example.com"
	if _, _, err := d.asks(t, ada); !errors.Is(err, ErrIssuer) || !strings.Contains(err.Error(), "https://login.example.com") || len(d.asked) > 0 {
		t.Errorf("the server names its own authorization server: %v, %v", err, d.asked)
	}
	d = newDesk(t, ExchangeOptions{})
	d.options.Issuer = d.URL
	if _, status, err := d.asks(t, ada); status != http.StatusOK || err != nil {
		t.Errorf("one that is named: %d, %v", status, err)
	}
	if _, err := d.For(t.Context()); !errors.Is(err, ErrNoCaller) {
		t.Errorf("nobody: %v", err)
	}
}

func TestRefusedExchangesFailAllWaiters(t *testing.T) {
	d := newDesk(t, ExchangeOptions{})
	d.answer = func(url.Values) map[string]any { return map[string]any{"access_token": nil} }
	if _, _, err := d.asks(t, d.caller("ada")); err == nil || !strings.Contains(err.Error(), "no access_token") {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ben, refused := d.caller("ben"), errors.New("refused")
		e, err := d.of(&ben)
		if err != nil {
			t.Fatal(err)
		}
		unlock, err := e.flight.lock(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, _, err := d.asks(t, ben); !errors.Is(err, refused) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		e.flight.ended(hashOf(ben.Token.Reveal()), refused)
		unlock()
		all.Wait()
	})
	gone, cancel := context.WithCancel(context.WithValue(t.Context(), callerKey{}, d.caller("eve")))
	cancel()
	if _, err := d.For(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has gone: %v", err)
	}
}

func TestAServerThatWantsNoTokenGetsNone(t *testing.T) {
	d := newDesk(t, ExchangeOptions{})
	d.resource = map[string]any{"authorization_servers": nil}
	x, err := NewExchange(d.URL+"/open", d.options)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithValue(t.Context(), callerKey{}, d.caller("ada"))
	if _, err := x.For(ctx); err != nil || len(d.asked) > 0 {
		t.Errorf("%v, %v", err, d.asked)
	}
}

func TestLeastRecentCallersAreForgotten(t *testing.T) {
	d := newDesk(t, ExchangeOptions{})
	e, _, err := d.asks(t, d.caller("ada"))
	if err != nil {
		t.Fatal(err)
	}
	ben, _, err := d.asks(t, d.caller("ben"))
	if err != nil {
		t.Fatal(err)
	}
	for i := len(d.all); i < maxExchanged; i++ {
		c := d.caller(fmt.Sprint("user", i))
		if _, err := d.of(&c); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := d.asks(t, d.caller("ada")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.asks(t, d.caller("eve")); err != nil || len(d.all) != maxExchanged {
		t.Errorf("%v, %d are kept", err, len(d.all))
	}
	if _, err := d.sends(t.Context(), e); err != nil {
		t.Errorf("ada, who came again: %v", err)
	}
	if _, err := d.sends(t.Context(), ben); !errors.Is(err, ErrCallerEnded) {
		t.Errorf("ben, who came least recently: %v", err)
	}
}

func TestACallersTokenIsNotPrinted(t *testing.T) {
	c := Caller{Subject: "ada", Token: NewSecret("t0ken")}
	text, err := json.Marshal(map[string]any{"caller": c})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("came", "caller", c, "token", c.Token)
	slog.New(slog.NewTextHandler(&log, nil)).Info("came", "caller", c, "token", c.Token)
	ctx := context.WithValue(t.Context(), callerKey{}, c)
	for _, shown := range slices.Sorted(maps.Keys(map[string]bool{
		string(text): true, log.String(): true, fmt.Sprint(c, &c, c.Token, ctx): true, fmt.Sprintf("%v %+v %#v %s %q %x", c, c, c, c.Token, c.Token, c.Token): true,
	})) {
		if strings.Contains(shown, "t0ken") || strings.Contains(shown, fmt.Sprintf("%x", "t0ken")) {
			t.Errorf("it is in %s", shown)
		}
	}
	if c.Token.Reveal() != "t0ken" || (Secret{}).Reveal() != "" {
		t.Error("the token cannot be had")
	}
}
