package auth

import (
	"context"
	"strings"
	"testing"
)

// A token that names the authorization server which gave it is not shown to another one, who could use it.
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
