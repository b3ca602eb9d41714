package layer

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config/settings"
)

// The URL of a webhook may be a secret, which no error repeats.
func TestTheWebhookMayBeAReference(t *testing.T) {
	stored := map[string]string{"${secret:slack}": "https://hooks.example.com/T/hidden", "${HOOK}": "hooks.example.com/T/hidden", "${file:key}": "the key", "the key itself": "the key itself"}
	s := &Stack{Options: Options{Secret: func(_ context.Context, text string) (string, error) {
		if found, is := stored[text]; is {
			return found, nil
		}
		return "", errors.New("it is not stored")
	}}}
	for _, tt := range []struct{ url, secret, wantURL, wantSecret, fails string }{
		{"https://hooks.example.com/a", "", "https://hooks.example.com/a", "", ""},
		{"https://hooks.example.com/a", "the key itself", "https://hooks.example.com/a", "the key itself", ""},
		{"${secret:slack}", "${file:key}", "https://hooks.example.com/T/hidden", "the key", ""},
		{"${HOOK}", "", "", "", "approvals.webhook.url: expected the URL of a webhook, such as"},
		{"${file:none}", "", "", "", "approvals.webhook.url: it is not stored"},
		{"${secret:slack}", "${file:none}", "", "", "approvals.webhook.secret: it is not stored"},
	} {
		p := &Plan{Settings: &settings.Settings{Approvals: &settings.Approvals{Webhook: &settings.Webhook{URL: tt.url, Secret: tt.secret}}}}
		err := readApprovals(s, p)
		if got := p.webhook; got.URL != tt.wantURL || got.Secret != tt.wantSecret {
			t.Errorf("%s, %s: %q, %q", tt.url, tt.secret, got.URL, got.Secret)
		}
		if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "hidden")) {
			t.Errorf("%s, %s: %v", tt.url, tt.secret, err)
		}
	}
}
