package redact

import "testing"

// Results of tools contain JSON, lines of settings and commands more often than words.
func TestTokensAreHiddenInAnyText(t *testing.T) {
	for text, want := range map[string]string{
		`{"key": "ghp_0123456789abcdef", "n": 1}`:                  `{"key": "***", "n": 1}`,
		`{"a":["sk-0123456789abcdef","b"]}`:                        `{"a":["***","b"]}`,
		"TOKEN=ghp_0123456789abcdef\nA=b":                          "TOKEN=***\nA=b",
		"token:xoxb-0123456789abcdef; and (AKIA0123456789abcdef).": "token:***; and (***).",
		`curl -H "Authorization: Bearer 0123456789abcdef" x`:       `curl -H "***" x`,
		`{"Authorization":"Basic bWU6czNjcmV0czNjcmV0"}`:           `{"Authorization":"***"}`,
		"'eyJhbGciOi.0123456789abcdef'":                            "'***'",
		`"{\\"a\\":\\"ghp_0123456789abcdef\\"}"`:                   `"{\\"a\\":\\"***\\"}"`,
		"the parts are (sk-learn), \"ghp_x\" and [bearer of it]":   "the parts are (sk-learn), \"ghp_x\" and [bearer of it]",
		"risk-0123456789abcdef, x_ghp_0123456789abcdef":            "risk-0123456789abcdef, x_ghp_0123456789abcdef",
		"see https://example.com/a, or =sk-0123456789abcdef":       "see https://example.com/a, or =***",
	} {
		if got := Text(text, 1000); got != want {
			t.Errorf("%s becomes\n%s, want\n%s", text, got, want)
		}
	}
	const long = `{"text":"{\"a\":\"ghp_0123456789abcdef\"}","b":"{\"a\":\"b\"}"}`
	if got, whole := JSON([]byte(long), Limits{Text: 1000, Bytes: 1000, Depth: 10}); string(got) != `{"text":"{\"a\":\"***\"}","b":"{\"a\":\"b\"}"}` || !whole {
		t.Errorf("%s, %v", got, whole)
	}
}
