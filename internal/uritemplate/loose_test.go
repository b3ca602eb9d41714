package uritemplate

import (
	"strings"
	"testing"
)

func TestLooseMatches(t *testing.T) {
	for _, c := range []struct{ template, uri, want string }{
		{"note://{path*}", "note://a/b/c", "note://a/b/c"},
		{"file:///{path}", "file:///a/b", "file:///a/b"},
		{"file:///{path}", "file:///a b", "file:///a b"},
		{"file:///{path}/end", "file:///a/b/end", "file:///a/b/end"},
		{"file:///{path}/end", "file:///a/b/other", ""},
		{"file:///my docs/{path}", "file:///my%20docs/a", "file:///my%20docs/a"},
		{"file:///{path:path}", "file:///a/b", "file:///a/b"},
		{"docs://{proxy+}", "docs://a/b", "docs://a/b"},
		{"UPPER://Host/{id}", "upper://host/A/b", "UPPER://Host/A/b"},
		{"http://host/{id}", "http://HOST/a/b", "http://host/a/b"},
		{"note://list{?page}", "note://list?other=1", "note://list?other=1"},
		{"note://list{?page}", "note://listing", ""},
		{"note://{a}/{b}", "note://x", ""},
		{"note://{a}/{b}", "note://x/y/z", "note://x/y/z"},
		{"note://{a}{b}", "note://x/y", "note://x/y"},
		{"note://{a", "note://x", ""},
		{"note://a", "note://a", ""},
		{"{uri}", "secret://a", ""},
		{"{scheme}://a", "secret://a", ""},
		{"note://{a}", "other://a", ""},
		{"note://{a}", "NOTE://a/" + strings.Repeat("x", MaxURI), ""},
	} {
		got := ""
		if l, ok := ParseLoose(c.template); ok {
			got, _ = l.Match(c.uri)
		}
		if got != c.want {
			t.Errorf("%s and %s: got %q, want %q", c.template, c.uri, got, c.want)
		}
	}
}

func TestCanonical(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///a b":                   "file:///a%20b",
		"file:///a%20b":                 "file:///a%20b",
		"file:///%61%2fb%2Fc":           "file:///a%2Fb%2Fc",
		"UPPER://User@Host:80/Path?Q#F": "upper://User@host:80/Path?Q#F",
		"note:A":                        "note:A",
		"a/b:c":                         "a/b:c",
		"file:///100%":                  "file:///100%25",
		"file:///ü":                     "file:///%C3%BC",
		"":                              "",
	} {
		if got := Canonical(uri); got != want || Canonical(got) != want {
			t.Errorf("%s: got %s, and of that %s", uri, got, Canonical(got))
		}
	}
}

func TestResolved(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///a/b":              "file:///a/b",
		"FILE:///%61/%2e%2E/b":     "file:///b",
		"file:///a/./b/../c/":      "file:///a/c/",
		"file:///../../etc":        "file:///etc",
		"https://EXAMPLE.com/a/..": "https://example.com/",
		"file:///a b":              "file:///a%20b",
		"file:///a/.hidden":        "file:///a/.hidden",
		"notes://{id}":             "notes://{id}",
		"file:///{+path}/../x":     "file:///x",
		"mailto:a@b":               "mailto:a@b",
		"%zz":                      "%25zz",
		"":                         "",
	} {
		if got := Resolved(uri); got != want {
			t.Errorf("%q becomes %q, want %q", uri, got, want)
		}
		if got := Resolved(want); got != want {
			t.Errorf("%q becomes %q the second time", want, got)
		}
	}
}
