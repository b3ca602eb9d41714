package plaintext

import "testing"

func TestURIHidesWhatMayBeSecret(t *testing.T) {
	for in, want := range map[string]string{
		"":                                                 "",
		"file:///a/b.txt":                                  "file:///a/b.txt",
		"https://example.com:8080/a":                       "https://example.com:8080/a",
		"https://[::1]:8080/a":                             "https://[::1]:8080/a",
		"https://u:secret@example.com/a":                   "https://…@example.com/a",
		"https://u:se@cret@example.com/a":                  "https://…@example.com/a",
		"postgres://u:sec/ret@example.com/a":               "postgres://…",
		"https://example.com/a?token=secret":               "https://example.com/a?…",
		"https://example.com/a?token=secret#more":          "https://example.com/a?…",
		"https://example.com/a#secret":                     "https://example.com/a#…",
		"file:///node_modules/@a/b":                        "file:///node_modules/@a/b",
		"urn:isbn:1":                                       "urn:isbn:1",
		"a\x1b[2J":                                         `a\x1b[2J`,
		"file:///0123456789012345678901234567890123456789": "file:///01234567890123456789012345678901…",
	} {
		if got := URI(in, 41); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
