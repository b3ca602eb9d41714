package oauth

import (
	"fmt"
	"net/http"
	"testing"
)

func TestAChallengeIsReadAmongOthers(t *testing.T) {
	for _, test := range []struct{ header, want string }{
		{`Bearer resource_metadata="https://a/b", scope="x y"`, "{https://a/b [x y]  false}"},
		{`bearer error=insufficient_scope,scope=x`, "{ [x] insufficient_scope false}"},
		{`Basic realm="a, Bearer scope=\"no\"", Bearer scope="yes"`, "{ [yes]  false}"},
		{`Negotiate abc==, Bearer error="invalid_token"`, "{ []  false}"}, // it stops at malformed text
		{`DPoP error="use_dpop_nonce"`, "{ [] use_dpop_nonce true}"},
		{`Bearer`, "{ []  false}"},
		{`Basic realm="x"`, "{ []  false}"},
		{`Bearer realm="a\"b" , resource_metadata = "u"`, "{u []  false}"},
		{`Bearer scope="open`, "{ []  false}"},
		{``, "{ []  false}"},
	} {
		if got := fmt.Sprint(challengeOf(http.Header{"Www-Authenticate": {test.header}})); got != test.want {
			t.Errorf("%s: %s, want %s", test.header, got, test.want)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{`Bearer a="b", c=d, Basic realm="x\"y"`, `A b=`, `,,A,`, "A \x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		for scheme, parameters := range challenges(text) {
			if n++; scheme == "" || n+len(parameters) > len(text)+1 {
				t.Errorf("%q: %q %v", text, scheme, parameters)
			}
		}
	})
}
