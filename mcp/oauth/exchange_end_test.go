package oauth

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A token that was exchanged ends with the original one, even if its user has sent another one
// meanwhile.
func TestExchangedTokensEndThoughTheUserHasANewOne(t *testing.T) {
	d := newDesk(t, ExchangeOptions{})
	first, second := d.caller("ada"), d.caller("ada")
	second.Token, second.Expires = NewSecret("t0ken-of-ada-2"), first.Expires.Add(time.Hour)
	e, status, err := d.asks(t, first)
	if status != http.StatusOK || err != nil {
		t.Fatal(status, err)
	}
	if _, err := d.For(context.WithValue(t.Context(), callerKey{}, second)); err != nil {
		t.Fatal(err)
	}
	d.End(first.Token) // the authorization server revoked it
	if status, err := d.sends(t.Context(), e); err == nil {
		t.Errorf("what was got for the revoked token is sent: status %d; tokens sent %q, got for %v", status, d.sent, d.given)
	}
}

// The same holds if no token has an expiry.
func TestExchangedTokensWithoutAnExpiryEnd(t *testing.T) {
	d := newDesk(t, ExchangeOptions{})
	first, second := d.caller("ada"), d.caller("ada")
	first.Expires, first.Token = time.Time{}, NewSecret("opaque-1")
	second.Expires, second.Token = time.Time{}, NewSecret("opaque-2")
	e, _, err := d.asks(t, first)
	if err != nil {
		t.Fatal(err)
	}
	// Of two tokens without expiry the last counts, whichever was exchanged.
	if _, err := d.For(context.WithValue(t.Context(), callerKey{}, second)); err != nil {
		t.Fatal(err)
	}
	d.End(first.Token)
	if status, err := d.sends(t.Context(), e); err == nil {
		t.Errorf("the token that was got for opaque-1, which is revoked, is sent on: status %d, got for %v", status, d.given)
	}
}

// A user sends two requests: one with a revoked token, one with its replacement. The second waits
// for the first, and must not be refused because of the first one's token.
func TestARevokedTokenDoesNotRefuseTheOneThatReplacedIt(t *testing.T) {
	transport := &http.Transport{}
	d := newDesk(t, ExchangeOptions{Base: transport, Client: Options{HTTP: &http.Client{Transport: transport}}})
	old, renewed := d.caller("ada"), d.caller("ada")
	old.Token = NewSecret("revoked")
	synctest.Test(t, func(t *testing.T) {
		defer transport.CloseIdleConnections()
		e, err := d.of(&old)
		if err != nil {
			t.Fatal(err)
		}
		unlock, err := e.flight.lock(t.Context(), hashOf("revoked"))
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() {
			_, status, err := d.asks(t, renewed)
			if err == nil && status != http.StatusOK {
				t.Errorf("status %d", status)
			}
			second <- err
		}()
		synctest.Wait()
		e.flight.ended(hashOf("revoked"), errors.New("refused"))
		unlock()
		if err := <-second; err != nil || len(d.asked) != 1 || d.asked[0].Get("subject_token") != renewed.Token.Reveal() {
			t.Errorf("the second, whose token holds: %v, asked for %v", err, d.asked)
		}
	})
}
