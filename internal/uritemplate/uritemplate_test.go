package uritemplate

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/threadtime"
	syntax "github.com/yosida95/uritemplate/v3"
)

func TestVariablesAreFoundInTheURI(t *testing.T) {
	type vars = map[string]string
	for _, test := range []struct {
		template, uri string
		want          vars // nil: no match
	}{
		{"test://static", "test://static", vars{}},
		{"test://static", "test://statics", nil},
		{"test://{id}", "test://42", vars{"id": "42"}},
		{"test://{id}", "test://", vars{"id": ""}},
		{"test://{id}", "test://a/b", nil},
		{"test://{id}", "test://a%2Fb%20c", vars{"id": "a/b c"}},
		{"test://{id}", "test://a%2", nil},
		{"test://{id}", "test://\xff", nil},
		{"test://{id}", "test://a\n", nil},
		{"test://{id}", "x-test://42", nil},
		{"test://{id}", "test://a,b", vars{"id": "a,b"}},
		{"test://{id}/data", "test://42/data", vars{"id": "42"}},
		{"test://{a}/{b}", "test://1/2", vars{"a": "1", "b": "2"}},
		{"test://{a,b}", "test://1,2", vars{"a": "1", "b": "2"}},
		{"test://{a,b}", "test://1", vars{"a": "1"}},
		{"test://{a,b}", "test://1,2,3", vars{"a": "1", "b": "2,3"}},
		{"test://{a}{b}", "test://12", vars{"a": "12", "b": ""}},
		{"{a}/{a}", "x/x", vars{"a": "x"}},
		{"{a}/{a}", "x/y", nil},
		{"{a:1}/{a}", "x/xy", vars{"a:1": "x", "a": "xy"}},
		{"{a:1}/{a}", "xy/xy", nil},
		{"{a:1}", "%C3", vars{"a:1": "\xc3"}},
		{"file:///{+path}", "file:///a/b,c?d#e", vars{"path": "a/b,c?d#e"}},
		{"file:///{+path}", "file:///a b", nil},
		{"page{#part}", "page#a,b", vars{"part": "a,b"}},
		{"page{#part}", "page", vars{}},
		{"name{.ext}", "name.txt", vars{"ext": "txt"}},
		{"name{.ext*}", "name.tar.gz", vars{"ext": "tar,gz"}},
		{"{/a,b}", "/1/2", vars{"a": "1", "b": "2"}},
		{"{/a,b}", "/1/2/3", nil},
		{"{/a*}", "/1/2/3", vars{"a": "1,2,3"}},
		{"{/a*}/end", "/1/2/end", vars{"a": "1,2"}},
		{"{;x,y}", ";x=1;y", vars{"x": "1", "y": ""}},
		{"{;x,y}", ";y=2", vars{"y": "2"}},
		{"find{?q,lang}", "find?q=a%26b&lang=en", vars{"q": "a&b", "lang": "en"}},
		{"find{?q,lang}", "find?lang=en", vars{"lang": "en"}},
		{"find{?q,lang}", "find", vars{}},
		{"find{?q,lang}", "find&lang=en", nil},
		{"find{?q,lang}", "find?q=a?lang=en", nil},
		{"find{?q,lang}", "find?lang=en&q=a", nil},
		{"find{?q*}", "find?q=a&q=b&q", vars{"q": "a,b,"}},
		{"find?fixed=1{&x}", "find?fixed=1&x=2", vars{"x": "2"}},
		{"a.b+c", "a.b+c", vars{}},
		{"a.b+c", "aXbbc", nil},
		{"{h%C3%A9}", "1", vars{"h%C3%A9": "1"}},
	} {
		parsed, err := Parse(test.template)
		if err != nil {
			t.Errorf("%s: %v", test.template, err)
			continue
		}
		got, ok := parsed.Match(test.uri)
		if ok != (test.want != nil) || !maps.Equal(got, test.want) {
			t.Errorf("%s in %s: got %q, %v; want %q", test.template, test.uri, got, ok, test.want)
		}
	}
}

func TestTemplateThatCannotBeMatchedIsAnError(t *testing.T) {
	for template, want := range map[string]string{
		"{":                        "incomplete expression",
		"{}":                       "unacceptable variable name",
		"{=a}":                     "unimplemented operator",
		"{a:0}":                    "max-length",
		"a b":                      "unacceptable character",
		strings.Repeat("a", 2_049): "expected at most 2048 bytes, got 2049",
		strings.Repeat("{a}", 33):  "expected at most 32 variables, got 33",
		"{a:200}{b:57}":            "expected prefixes of at most 256 characters in all, got 257",
		"{a:9999}":                 "expected prefixes of at most 256 characters in all, got 9999",
	} {
		if _, err := Parse(template); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: error %v, want %s", template, err, want)
		}
	}
	for _, template := range []string{strings.Repeat("a", 2_048), strings.Repeat("{a}", 32), "{a:200}{b:56}"} {
		if _, err := Parse(template); err != nil {
			t.Errorf("%.40s: %v", template, err)
		}
	}
}

// The worst combination of template and URI takes only a moment.
func TestMatchingTakesBoundedTime(t *testing.T) {
	for _, test := range []struct{ template, uri string }{
		{"{/a*}", strings.Repeat("/", MaxURI)},
		{"x{a,b,c,d}", "x" + strings.Repeat("a,", MaxURI/2-1)},
		{"{a*}", strings.Repeat(",", MaxURI)},
		{"{?a*,b*,c*}", "?a=" + strings.Repeat("&a=", MaxURI/3-1)},
		{strings.Repeat("{a*}", 32), strings.Repeat("a", MaxURI)},
		{strings.Repeat("{+a*}", 32), strings.Repeat("a,", MaxURI/2-1) + "\x00"},
		{strings.Repeat("{/a*}", 32), strings.Repeat("/", MaxURI)},
		{strings.Repeat("{a:8}", 31) + "{b}", strings.Repeat("a", MaxURI)},
	} {
		parsed, err := Parse(test.template)
		if err != nil {
			t.Fatal(err)
		}
		var ok bool
		took := threadtime.Of(func() { _, ok = parsed.Match(test.uri) })
		if took > 10*time.Second { // milliseconds without the race detector
			t.Errorf("%s: %v after %v", test.template, ok, took)
		} else {
			t.Logf("%.20s: %v after %v", test.template, ok, took)
		}
	}
	parsed, _ := Parse("{a}")
	if _, ok := parsed.Match(strings.Repeat("a", MaxURI+1)); ok {
		t.Error("a URI above the limit is matched")
	}
}

// FuzzMatch checks that every expansion of a template matches it, and that a match has values only
// for its own variables.
func FuzzMatch(f *testing.F) {
	for _, template := range []string{"test://{id}/data", "file:///{+path}", "{/a*,b}{?q,lang*}{#x:3}", "{a,b}{.c*}{;d,e*}{&f}", "{a}{a}", "é{h%C3%A9}"} {
		f.Add(template, "test://1/data", "a,b", "ü%")
	}
	f.Fuzz(func(t *testing.T, template, uri, one, two string) {
		parsed, err := Parse(template)
		if err != nil {
			if len(err.Error()) > len(template)+200 {
				t.Fatalf("error %q", err)
			}
			return
		}
		reference, err := syntax.New(template)
		if err != nil {
			t.Fatal(err)
		}
		if variables, ok := parsed.Match(uri); ok {
			checkNames(t, reference, variables)
		}
		if !utf8.ValidString(one) || !utf8.ValidString(two) || one == "" || two == "" {
			return // the library cannot expand it
		}
		values := make(syntax.Values)
		for i, name := range reference.Varnames() {
			values[name] = []syntax.Value{syntax.String(one), syntax.List(one, two), syntax.String(two), {}}[i%4]
		}
		expanded, err := reference.Expand(values)
		if err != nil || len(expanded) > MaxURI || strings.Contains(template, ":") {
			return // prefixes are cut anywhere, which changes their text
		}
		variables, ok := parsed.Match(expanded)
		if !ok && !repeats(template) {
			t.Fatalf("%q expands to %q and does not match it", template, expanded)
		}
		checkNames(t, reference, variables)
	})
}

// repeats reports whether a variable occurs twice in the template. Its values can then be separated
// in several ways, of which only one is tried.
func repeats(template string) bool {
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(template, "{") {
		body, _, found := strings.Cut(part, "}")
		if !found {
			continue
		}
		for _, v := range parseExpression(body).variables {
			if seen[v.name] {
				return true
			}
			seen[v.name] = true
		}
	}
	return false
}

func checkNames(t *testing.T, reference *syntax.Template, variables map[string]string) {
	names := fmt.Sprintf("%q", reference.Varnames())
	for name := range variables {
		name, _, _ = strings.Cut(name, ":")
		if !strings.Contains(names, fmt.Sprintf("%q", name)) {
			t.Fatalf("variable %q of %q", name, reference.Raw())
		}
	}
}
