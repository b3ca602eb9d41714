package redact

import (
	"slices"
	"strings"
	"testing"
)

func TestNamed(t *testing.T) {
	for _, name := range []string{
		"--token", "GITHUB_TOKEN", "client-secret", "password", "passwd", "PASSWORD", "passphrase", "DB_PWD", "--api-key", "API_KEY", "apikey", "X-Api-Key", "--key",
		"--key-file", "auth", "Authorization", "credentials", "Cookie", "Set-Cookie", "bearer", "private.key", "signature", "Connection-String", "SENTRY_DSN", "--header",
	} {
		if !Named(name) {
			t.Errorf("%s is said to hold no secret", name)
		}
	}
	for _, name := range []string{"", "-y", "--port", "LEVEL", "NODE_ENV", "-e", "path", "user", "Accept", "--verbose"} {
		if Named(name) {
			t.Errorf("%s is said to hold a secret", name)
		}
	}
}

func TestLooks(t *testing.T) {
	for _, value := range []string{
		"sk-1", "SK-1", "ghp_s3cret", "github_pat_1", "glpat-1", "xoxb-1", "xoxp-1", "bearer x", "Bearer x", "authorization: x", "Authorization:x",
		"Basic 0123456789", "pk-0123456789", "sk_live_0123456789", "gho_0123456789", "ghs_0123456789", "ghu_0123456789", "xapp-0123456789", "AKIA0123456789",
		"ASIA0123456789", "AIza0123456789", "ya29.0123456789", "eyJhbGciOi.s3cret", "hf_0123456789", "npm_0123456789", "AGE-SECRET-KEY-10123456789",
		"-----BEGIN RSA PRIVATE KEY-----\nabc",
	} {
		if !Looks(value) {
			t.Errorf("%s is not said to look like a secret", value)
		}
	}
	for _, value := range []string{"", "npx", "hf_home", "NPM_CONFIG_CACHE", "basic", "ASIA", "asia-northeast1", "eyJ", "server-sk-1", "pypi-query-server", "0123456789"} {
		if Looks(value) {
			t.Errorf("%s is said to look like a secret", value)
		}
	}
}

// Every row was shown in this form, or with less hidden, at one of the places that had rules of
// their own before this package.
var arguments = []struct{ args, want []string }{
	{[]string{"-y", "@scope/server@2025.1.1", "/home/me", "--port=8080", "a=b", ""}, []string{"-y", "@scope/server@2025.1.1", "/home/me", "--port=8080", "a=b", ""}},
	{[]string{"a b", "it's", "C:\\Users\\me"}, []string{"a b", "it's", "C:\\Users\\me"}},
	{[]string{"--token=s3cret", "--api-key", "s3cret", "rest"}, []string{"--token=***", "--api-key", "***", "rest"}},
	{[]string{"--API_KEY", "s3cret", "--password"}, []string{"--API_KEY", "***", "--password"}},
	{[]string{"--dsn-env", "DB_1", "--token-env=TOKEN", "--auth-env", "header:s3cret", "--key-env", "s3cret", "--token-env", "AKIA0123456789ABCDEF", "token-env", "TOKEN", "token-env=TOKEN"},
		[]string{"--dsn-env", "DB_1", "--token-env=TOKEN", "--auth-env", "***", "--key-env", "***", "--token-env", "***", "token-env", "TOKEN", "token-env=***"}},
	{[]string{"--auth", "--token", "s3cret"}, []string{"--auth", "***", "***"}},
	{[]string{"-e", "GITHUB_TOKEN=s3cret", "-e", "PAT=s3cret", "--env=PAT=s3cret", "-e", "HOME"}, []string{"-e", "GITHUB_TOKEN=***", "-e", "PAT=***", "--env=***", "-e", "HOME"}},
	{[]string{"--header", "Authorization: Bearer s3cret", "-H", "X-A: s3cret"}, []string{"--header", "***", "-H", "***"}},
	{[]string{"--header=X-Api-Key: s3cret", "X-Api-Key: s3cret", "X-A: sk-s3cret"}, []string{"--header=***", "X-Api-Key: ***", "X-A: ***"}},
	{[]string{"authorization: s3cret", "Authorization: Basic czNjcmV0cw==", "Proxy-Authorization: Basic s3cretw=="}, []string{"***", "***", "Proxy-Authorization: ***"}},
	{[]string{`{"token":"s3cret"}`, `{"token":"s3cret","url":"https://example.com"}`}, []string{`{"token": ***`, "***"}},
	{[]string{"ghp_0123456789s3cret", "sk-0123456789s3cret", "eyJhbGciOi.s3cret", "--config=AKIA0123456789s3cret"}, []string{"***", "***", "***", "--config=***"}},
	{[]string{"https://me:s3cret@example.com/mcp?key=s3cret&x=1#s3cret"}, []string{"https://***@example.com/mcp?key=***&x=***#***"}},
	{[]string{"https://me:s3cret@example.com/mcp?token=s3cret", "https://s3crettoken=s3cret@example.com/"}, []string{"https://***@example.com/mcp?token=***", "https://***"}},
	{[]string{"--url=postgres://me:s3cret@db/x", "--define=url=postgres://me:s3cret@db/x"}, []string{"--url=postgres://***@db/x", "--define=url=postgres://***@db/x"}},
	{[]string{"postgres://me:s3cret%zz@db/x", "--url=postgres://me:s3/cret@db"}, []string{"***", "--url=***"}},
	{[]string{"https://example.com/token=s3cret", "https://example.com/a=b"}, []string{"https://example.com/token=***", "https://example.com/a=b"}},
	{[]string{"get https://me:s3cret@a/b and ftp://me:s3cret@c/d?s3cret", "see https://a/b=https://s3cret%zz"}, []string{"get https://***@a/b and ftp://***@c/d?***", "see https://a/b=***"}},
	{[]string{"${NAME}", "${X:-***}", "${workspaceFolder}/0123456789-notes-of-ada?.txt"}, []string{"${NAME}", "${X:-***}", "${workspaceFolder}/0123456789-notes-of-ada?.txt"}},
}

func TestArguments(t *testing.T) {
	for _, row := range arguments {
		given := slices.Clone(row.args)
		got := Arguments(given)
		if !slices.Equal(got, row.want) {
			t.Errorf("%q becomes\n%q, want\n%q", row.args, got, row.want)
		}
		if text := strings.Join(got, " "); strings.Contains(text, "s3cret") || strings.Contains(text, "czNjcmV0") {
			t.Errorf("%q shows a secret", got)
		}
		if !slices.Equal(given, row.args) {
			t.Errorf("%q was changed", row.args)
		}
	}
	if got := Arguments(nil); len(got) != 0 {
		t.Errorf("nothing becomes %q", got)
	}
}

func TestURL(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"https://mcp.example.com/sse": "https://mcp.example.com/sse",
		"https://me:s3cret@db.example:80/a?b=s3cret&s3cret#s3cret":             "https://***@db.example:80/a?b=***&***#***",
		"https://s3cret@[::1]:80/":                                             "https://***@[::1]:80/",
		"https://hooks.example/s/s3cret0123456789abcdefgh/mcp":                 "https://hooks.example/s/***/mcp",
		"https://me:s3cret@${HOST:-***}:${PORT}/${PATH}/mcp?s3cret":            "https://***@${HOST:-***}:${PORT}/${PATH}/mcp?***",
		"${SCHEME}://me:s3cret@host/":                                          "${SCHEME}://***@host/",
		"${BASE}/mcp?key=s3cret#s3cret":                                        "${BASE}/mcp?key=***#***",
		"me:s3cret@example.com/mcp":                                            "***@example.com/mcp",
		"postgres://me:s3/cret?s3cret@db":                                      "***",
		"https://me:s3#cret@db":                                                "***",
		"https://exa mple.com/s3cret":                                          "***",
		"1https://s3cret":                                                      "***",
		"at postgres://me:s3$/cret@db":                                         "at postgres://***",
		"at https://me:s3/cret@db":                                             "at https://***",
		"https://example.com/?s3cret=1&a%20b=s3cret&read_only=s3cret&=s3cret&": "https://example.com/?***&***&read_only=***&***&***",
		"mailto:me?subject=s3cret":                                             "***",
		"https://example.com/" + strings.Repeat("é", 20) + "/s3cret1":          "https://example.com/" + strings.Repeat("é", 20) + "/s3cret1",
	} {
		if got := URL(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestURI(t *testing.T) {
	for uri, want := range map[string]string{
		"":                                             "",
		"file:///a/b.txt":                              "file:///a/b.txt",
		"https://example.com:8080/a":                   "https://example.com:8080/a",
		"https://[::1]:8080/a":                         "https://[::1]:8080/a",
		"https://u:s3cret@example.com/a":               "https://***@example.com/a",
		"https://u:s3@cret@example.com/a":              "https://***@example.com/a",
		"postgres://u:s3c/ret@example.com/a":           "postgres://***",
		"postgres://u:s3c[/ret@example.com/a":          "postgres://***",
		"postgres://u:s3$c/ret@example.com/a":          "postgres://***",
		"https://example.com/a?token=s3cret":           "https://example.com/a?***",
		"https://example.com/a?token=s3cret#more":      "https://example.com/a?***",
		"https://example.com/a#s3cret":                 "https://example.com/a#***",
		"a?b://s3cret":                                 "a?***",
		"file:///node_modules/@a/b":                    "file:///node_modules/@a/b",
		"urn:isbn:1":                                   "urn:isbn:1",
		"note://0123456789abcdefghij/0123456789abcdef": "note://0123456789abcdefghij/0123456789abcdef",
	} {
		if got := URI(uri); got != want {
			t.Errorf("%q becomes %q, want %q", uri, got, want)
		}
	}
}

func BenchmarkNamed(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Named("text")
	}
}

// Text around a URL is shown: only the URL can hold a secret by its form.
func TestTextAroundAURLIsShown(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"x","url":"https://example.com/a/b","n":12,"list":["one","two"]}`: `{"name":"x","url":"https://example.com/a/b","n":12,"list":["one","two"]}`,
		`{"url":"https://example.com/a?key=abc","n":12}`:                           `{"url":"https://example.com/a?key=***","n":12}`,
		`{\"url\":\"https://example.com/a?key=abc\",\"n\":12}`:                     `{\"url\":\"https://example.com/a?key=***\",\"n\":12}`,
		`<a href="https://example.com/a?b=c">x</a>`:                                `<a href="https://example.com/a?b=***">x</a>`,
		"see `https://example.com/a` or <https://example.com/b>":                   "see `https://example.com/a` or <https://example.com/b>",
		`curl "https://example.com/?token="abc"&b="d`:                              `curl "https://example.com/?token=***"***"***"***`,
		`https://me:pa<ss@example.com/`:                                            `***`,
		`https://me:pa"ss@example.com/`:                                            `***`,
		`{"a":"https://me:pw@example.com/","b":1}`:                                 `***`,
	} {
		if got := Text(text, 1_000); got != want {
			t.Errorf("%s\nbecomes  %s\nexpected %s", text, got, want)
		}
	}
}
