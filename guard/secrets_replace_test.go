package guard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/threadtime"
)

// The secrets are assembled here, so that scanners of repositories do not report them.
var (
	aToken = "ghp_" + strings.Repeat("a1B2", 9)
	aKey   = "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEow\nabc=\n-----END RSA PRIVATE" + " KEY-----"
)

func TestSecretsAreReplacedWithoutTheirContext(t *testing.T) {
	long := strings.Repeat("9f8e7d6c5b4a3f2e1d0c", 40)
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"nothing to hide: a token is a word", "nothing to hide: a token is a word"},
		{"use " + aToken + " and " + aToken + ".", "use <GitHub token> and <GitHub token>."},
		{"before\n" + aKey + "\nafter", "before\n<private key>\nafter"},
		{"cut: -----BEGIN PRIVATE" + " KEY-----\nMIIEow", "cut: <private key>"},
		{`api_key = "9f8e7d6c5b4a3f2e", ok`, `api_key = "<value of a password, token or key>", ok`},
		{"token=" + long + " ok", "token=<value of a password, token or key> ok"},
		{"Authorization: Bearer 9f8e7d6c5b4a3f2e1d0c" + long + long + " ok", "Authorization: Bearer <authorization header> ok"},
		{"postgres://ada:n0t-shown@db/x and http://b:s3cret@c", "postgres://ada:<password in a URL>@db/x and http://b:<password in a URL>@c"},
		{"token: " + aToken, "token: <GitHub token>"}, // two rules find it; it is replaced once
		{"api_key=YOUR_API_KEY_1234", "api_key=YOUR_API_KEY_1234"},
	} {
		if got := guard.ReplaceSecrets(test.text, func(_, kind string) string { return "<" + kind + ">" }); got != test.want {
			t.Errorf("%.80q becomes\n%q, want\n%q", test.text, got, test.want)
		}
	}
}

func TestReplacementsNameTheSecret(t *testing.T) {
	var learned []string
	guard.ReplaceSecrets("a "+aToken+" b https://ada:hunter2@example.org/", func(secret, kind string) string {
		learned = append(learned, kind+": "+secret)
		return "x"
	})
	if got, want := fmt.Sprint(learned), "[GitHub token: "+aToken+" password in a URL: hunter2]"; got != want {
		t.Errorf("learned were %s, want %s", got, want)
	}
}

// A text full of beginnings takes no longer than one without any.
func TestReplacingTakesLinearTime(t *testing.T) {
	for _, part := range []string{"token=a1b2c3d4e5f6", "Bearer a1b2c3d4e5f6a1b2c3d4", "://a:b@", "-----BEGIN PRIVATE" + " KEY-----"} {
		text := strings.Repeat(part, 2<<20/len(part))
		if took := threadtime.Of(func() { guard.ReplaceSecrets(text, func(string, string) string { return "x" }) }); took > 20*time.Second {
			t.Errorf("2 MiB of %q took %v", part, took)
		}
	}
}
