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
		{[]string{"X-Api-Key: s3cret"}, `npx "X-Api-Key: ***"`},
		{[]string{"https://me:s3cret@example.com/mcp?key=s3cret&x=1#s3cret"}, "npx https://***@example.com/mcp?key=***&x=***#***"},
		{[]string{strings.Repeat("x", 2*maxArgument) + "?https://me:s3cret@example.com"}, "npx " + strings.Repeat("x", maxArgument-1) + "…"},
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
