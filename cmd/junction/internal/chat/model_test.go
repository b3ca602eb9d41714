package chat_test

import (
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/model/providers"
)

// A key is not sent to an address that is not its service's: the message names the variable that is set.
func TestAKeyThatWasWithheldIsNamed(t *testing.T) {
	for _, test := range []struct{ provider, want string }{
		{"openai", "OPENAI_API_KEY is set, but its key is sent only to api.openai.com; --key-env OPENAI_API_KEY sends it here"},
		{"", "OPENAI_API_KEY is set, but its key is sent only to api.openai.com; --key-env OPENAI_API_KEY sends it here"},
		{"anthropic", "name its variable with --key-env"},
	} {
		f := chat.ModelFlags{BaseURL: "http://127.0.0.1:1/v1"}
		getenv := func(name string) string { return map[string]string{"OPENAI_API_KEY": "sk-0123"}[name] }
		p, _ := providers.ByName(test.provider)
		if got := f.KeyHint(p, getenv); got != test.want {
			t.Errorf("%q: %q", test.provider, got)
		}
	}
}
