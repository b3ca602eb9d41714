package redact

import (
	"net/url"
	"strings"
	"testing"
)

// A secret in its place in a command line is hidden whatever surrounds it.
func FuzzArguments(f *testing.F) {
	f.Add("-y", "--url=", "pass")
	f.Add("--token", "see ", "a/b?c#d@e")
	f.Add("-e", "https://example.com/?a=", "%zz")
	f.Add("x://[", "\"", "\x00${X}")
	f.Fuzz(func(t *testing.T, before, around, rest string) {
		const mark = "s3cretvalue"
		if strings.Contains(before, mark) || strings.Contains(around, mark) {
			return
		}
		value := mark + rest
		link := url.URL{Scheme: "https", User: url.UserPassword("me", value), Host: "example.com", RawQuery: url.Values{value: {value}}.Encode(), Fragment: value}
		args := []string{before, around + link.String(), around, "--api-key", value, "GITHUB_TOKEN=" + value, "X-Api-Key: " + value, "-H", value, "-e", "X=" + value, "sk-" + value}
		shown := Arguments(args)
		if len(shown) != len(args) {
			t.Fatalf("%d arguments become %d", len(args), len(shown))
		}
		for i, arg := range shown {
			if strings.Contains(arg, mark) {
				t.Errorf("%q becomes %q", args[i], arg)
			}
		}
		if got := URL(link.String()); got != "https://***@example.com?***#***" {
			t.Errorf("%q becomes %q", link.String(), got)
		}
		if got := URI(link.String()); got != "https://***@example.com?***" {
			t.Errorf("the URI %q becomes %q", link.String(), got)
		}
	})
}
