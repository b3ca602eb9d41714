package authserver

import (
	"testing"
	"time"
)

// A token that one process signed with a new key is accepted by the others at once.
func TestATokenOfANewKeyHoldsAtOtherProcesses(t *testing.T) {
	a := newSite(t)
	b, err := New(a.options)
	if err != nil {
		t.Fatal(err)
	}
	l := a.login("ann")
	if err := lets(a.guard(resource), l.access); err != nil { // a has read the existing keys
		t.Fatal(err)
	}
	if _, err := b.readKeys(t.Context(), time.Now().Add(keyTime+time.Hour)); err != nil { // a month later b makes another
		t.Fatal(err)
	}
	held, err := a.openRefresh(l.refresh)
	if err != nil {
		t.Fatal(err)
	}
	token, err := b.sign(t.Context(), claims{Issuer: issuer, Subject: "ann", Audience: resource, Client: l.client, Scope: "read", Expires: time.Now().Add(time.Hour).Unix(), Grant: held.Grant})
	if err != nil {
		t.Fatal(err)
	}
	if err := lets(a.guard(resource), token); err != nil {
		t.Errorf("for a minute the other process refuses what this one gives: %v", err)
	}
}
