package redact_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/redact/planted"
)

// Each token of the table, generated from its pattern, is hidden wherever texts are hidden, and
// matches the pattern.
func TestTokensAreHidden(t *testing.T) {
	for _, token := range redact.Tokens() {
		example := planted.Token(token)
		if !regexp.MustCompile(token.Pattern).MatchString(example) || !strings.Contains(example, token.Sign) {
			t.Fatalf("%s: the example %q does not fit its pattern and sign", token.Kind, example)
		}
		if len(token.Starts)+len(token.Sure) == 0 {
			continue // identified only as a whole
		}
		if all := append(token.Starts, token.Sure...); !slices.ContainsFunc(all, func(start string) bool { return strings.HasPrefix(example, start) }) {
			example = all[0] + strings.Repeat("a1", 40) // the pattern allows more than is hidden
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

// A browser's Slack token is replaced as a whole, also in its encoded form in a cookie.
func TestAllOfABrowsersSlackTokenIsReplaced(t *testing.T) {
	got := redact.Replace("tokens xoxc-1234567890-abcdef and xoxd-AbCd0123%2FeFgH4567%3D are there", func(_, kind string) string { return "<" + kind + ">" })
	if want := "tokens <Slack token> and <Slack token> are there"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
