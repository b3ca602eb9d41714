package command

import (
	"strings"
	"testing"
)

func TestString(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-y", "@scope/server", "/home/me"}, "npx -y @scope/server /home/me"},
		{[]string{"a b", "", "it's"}, `npx "a b" "" "it's"`},
		{[]string{"--token=s3cret", "--api-key", "s3cret", "rest"}, "npx --token=*** --api-key *** rest"},
		{[]string{"--API_KEY", "s3cret"}, "npx --API_KEY ***"},
		{[]string{"-e", "GITHUB_TOKEN=s3cret", "-e", "LEVEL=debug"}, "npx -e GITHUB_TOKEN=*** -e LEVEL=debug"},
		{[]string{"--header", "Authorization: Bearer s3cret"}, `npx --header "Authorization: ***"`},
		{[]string{"--header=X-Api-Key: s3cret"}, `npx "--header=X-Api-Key: ***"`},
		{[]string{"https://me:s3cret@example.com/mcp?key=s3cret&x=1#s3cret"}, "npx https://***@example.com/mcp?***"},
		{[]string{"--url=postgres://me:s3cret@db/x"}, "npx --url=postgres://***@db/x"},
		{[]string{"postgres://me:s3cret%zz@db/x"}, "npx ***"},
		{[]string{"ghp_0123456789s3cret", "sk-0123456789s3cret", "eyJhbGciOi.s3cret"}, "npx *** *** ***"},
		{[]string{"--config=sk-0123456789s3cret"}, "npx --config=***"},
		{[]string{"--port=8080", "--password"}, "npx --port=8080 --password"},
		{[]string{"\x1b[31mred\u202e"}, `npx \x1b[31mred\u202e`},
	} {
		got := New("npx", test.args...).String()
		if got != test.want {
			t.Errorf("%q becomes\n%s, want\n%s", test.args, got, test.want)
		}
		if strings.Contains(got, "s3cret") {
			t.Errorf("%q shows a secret", got)
		}
	}
	if got := New("x", strings.Repeat("y ", 1000), strings.Repeat("z", 1000)).String(); len([]rune(got)) > maxShown {
		t.Errorf("%d runes", len([]rune(got)))
	}
}
