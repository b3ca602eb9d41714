package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A token that names its authorization server is not sent to another one, which could use it.
func TestATokenOfOneServerIsNotShownToAnother(t *testing.T) {
	mine, other := newGiver(t), newGiver(t)
	token := mine.token(nil)
	v := Any(
		Introspection(IntrospectionOptions{Issuer: other.URL, URL: other.URL + "/introspect", ClientID: "server", Secret: "its secret", HTTP: other.Client()}),
		JWT(JWTOptions{Issuer: mine.URL, HTTP: mine.Client()}),
	)
	if _, err := v.Verify(context.Background(), token, resource); err != nil && !strings.Contains(err.Error(), "has no key") {
		t.Fatal(err)
	}
	other.mu.Lock()
	defer other.mu.Unlock()
	if other.asked > 0 {
		t.Errorf("the token of %s was sent to %s %d times", mine.URL, other.URL, other.asked)
	}
}

type saysOfEach struct{ err error }

func (s saysOfEach) Verify(context.Context, string, string) (*Token, error) { return nil, s.err }

// One of several Verifiers reports a revoked token. That error counts even if others do not know
// the token or are unavailable.
func TestThatATokenIsInactiveIsHeardAmongSeveral(t *testing.T) {
	unknown, inactive, unavailable := fmt.Errorf("%w: not ours", ErrToken), fmt.Errorf("%w: ours", ErrInactive), fmt.Errorf("%w: busy", ErrUnavailable)
	for name, test := range map[string]struct {
		said []error
		want error
	}{
		"before one that does not know it":      {[]error{inactive, unknown}, inactive},
		"after one that does not know it":       {[]error{unknown, inactive}, inactive},
		"before one that cannot be asked":       {[]error{inactive, unavailable}, unavailable},
		"after one that cannot be asked":        {[]error{unavailable, inactive}, unavailable},
		"nobody knows it":                       {[]error{unknown, unknown}, unknown},
		"nobody knows it, one cannot be asked":  {[]error{unavailable, unknown}, unavailable},
		"it is between two who do not know it":  {[]error{unknown, inactive, unknown}, inactive},
		"nobody but who cannot be asked, twice": {[]error{unavailable, unavailable}, unavailable},
	} {
		var all []Verifier
		for _, err := range test.said {
			all = append(all, saysOfEach{err})
		}
		if _, err := Any(all...).Verify(t.Context(), "t0ken", resource); err.Error() != test.want.Error() || errors.Is(err, ErrInactive) != (test.want == inactive) {
			t.Errorf("%s: %v; expected %v", name, err, test.want)
		}
	}
}
