package main

import (
	"strings"
	"testing"
)

// A secret that is kept under the name of another one would be given to a server that it is not for.
func TestSecretsOfServersWithOddNamesAreKeptApart(t *testing.T) {
	long := "a-server-whose-name-leaves-no-room-for-that-of-a-variable-behind-it-in-what-it-is-kept-under"
	owner := map[string][2]string{}
	odd := (&addition{name: "日本"}).secretName("KEY") // as whoever writes a server can find out
	_, guessed, _ := strings.Cut(odd, ".")
	for _, pair := range [][2]string{
		{"tracker", "API_KEY"},
		{"日本", "KEY"}, {"中国", "KEY"}, {"wétter", "KEY"}, {"w_tter", "KEY"},
		{"a/b", "KEY"}, {"a_b", "KEY"}, {"a", "b/KEY"}, {"a", "b_KEY"},
		{"a.b", "KEY"}, {"a", "b.KEY"},
		{long, "API_KEY"}, {long, "API_SECRET"},
		{"__", guessed},
	} {
		name := (&addition{name: pair[0]}).secretName(pair[1])
		if err := checkSecretName(name); err != nil {
			t.Errorf("%q: %v", pair, err)
		}
		if other, taken := owner[name]; taken {
			t.Errorf("%q and %q are both kept as %s", pair, other, name)
		}
		owner[name] = pair
	}
	if owner["tracker.API_KEY"] != [2]string{"tracker", "API_KEY"} || owner["a.b.KEY"] != [2]string{"a.b", "KEY"} {
		t.Errorf("names that can be had are not as they are read: %q", owner)
	}
}
