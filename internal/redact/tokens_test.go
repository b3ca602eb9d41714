package redact_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/redact/planted"
)

// Each token of the table, made from its own pattern, is hidden wherever texts are, and is one to the pattern.
func TestTokensAreHidden(t *testing.T) {
	for _, token := range redact.Tokens() {
		example := planted.Token(token)
		if !regexp.MustCompile(token.Pattern).MatchString(example) || !strings.Contains(example, token.Sign) {
			t.Fatalf("%s: the example %q does not fit its pattern and sign", token.Kind, example)
		}
		if len(token.Starts)+len(token.Sure) == 0 {
			continue // it is known only by all of it
		}
		if all := append(token.Starts, token.Sure...); !slices.ContainsFunc(all, func(start string) bool { return strings.HasPrefix(example, start) }) {
			example = all[0] + strings.Repeat("a1", 40) // its pattern allows more than what is hidden
		}
		for _, text := range []string{example, "the key " + example, `token="` + example + `"`, "--key=" + example} {
			if shown := redact.Text(text, 1_000); strings.Contains(shown, example) {
				t.Errorf("%s: %q is shown as %q", token.Kind, text, shown)
			}
		}
		shown, _ := redact.JSON([]byte(`{"note":"see `+example+`","list":["`+example+`"]}`), redact.Limits{Text: 1_000, Bytes: 1 << 20, Depth: 8})
		if strings.Contains(string(shown), example) {
			t.Errorf("%s: in JSON it is shown: %s", token.Kind, shown)
		}
	}
}

// A browser's token of Slack is replaced as a whole, also where it is encoded as in a cookie.
func TestAllOfABrowsersSlackTokenIsReplaced(t *testing.T) {
	got := redact.Replace("tokens xoxc-1234567890-abcdef and xoxd-AbCd0123%2FeFgH4567%3D are there", func(_, kind string) string { return "<" + kind + ">" })
	if want := "tokens <Slack token> and <Slack token> are there"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
