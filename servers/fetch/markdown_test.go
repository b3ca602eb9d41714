package fetch

import (
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"
)

var examplePage = &url.URL{Scheme: "https", Host: "a.example", Path: "/"}

func TestPageBecomesMarkdown(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"table", "<table><tr><th>a<th>b<tr><td>1<td>22</table>", "| a | b |\n|---|---|\n| 1 | 22 |"},
		{"spans", `<table><tr><th colspan=2>a<th>b<tr><td>1<td>2<td>3</table>`, "| a |  | b |\n|---|---|---|\n| 1 | 2 | 3 |"},
		{"span over all columns", `<table><tr><td>1<td>2<tr><td colspan="99999999999999999999">all</table>`, "|  |  |" + strings.Repeat("  |", 998) + "\n|" + strings.Repeat("---|", 1000) + "\n| 1 | 2 |" + strings.Repeat("  |", 998) + "\n| all |" + strings.Repeat("  |", 999)},
		{"table of too many columns", "<table><tr>" + strings.Repeat("<td>x", 1001) + "</table>", strings.TrimSpace(strings.Repeat("x ", 1001))},
		{"formatting", "<p><b>a <i>b</i></b> <a href=/c>d</a></p>", "**a *b*** [d](https://a.example/c)"},
		{"formatting of too many levels", "<p>" + strings.Repeat("<b>", 9) + "<i>a</i>", "**a**"},
		{"formatting after formatting", "<p>" + strings.Repeat("<b>a</b> ", 20), strings.TrimSpace(strings.Repeat("**a** ", 20))},
		{"script, style, comment", "a<script>b<b></script><style>c</style><!-- d -->e<noscript>f</noscript>", "ae"},
		{"title and text area", "<title>a < b</title><textarea><b>c</textarea>d", "d"},
		{"text of a picture", "<svg><style><b>a</b></style><text>b</text></svg>c", "bc"},
	} {
		got, err := newPages().markdown(t.Context(), strings.NewReader(test.page), examplePage)
		if err != nil || got != test.want {
			t.Errorf("%s: got %q, %v; want %q", test.name, got, err, test.want)
		}
	}
}

// TestAPageCannotExpandTooMuch checks that a page costs memory in proportion to its bytes, even if
// its elements multiply.
func TestAPageCannotExpandTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine reads the largest pages, to measure what that takes")
	}
	fill := func(head, body, tail string) string { // with as many bodies as the limits of bytes and tags allow
		tags := (maxTags - 1 - strings.Count(head+tail, "<")) / max(1, strings.Count(body, "<"))
		if !strings.Contains(body, "<") {
			tags = maxPage // only the bytes limit
		}
		return head + strings.Repeat(body, min(tags, (maxPage/4-len(head)-len(tail))/len(body))) + tail
	}
	fonts := func(n int) (all string) {
		for i := range n {
			all += fmt.Sprintf("<font size=%d>", i)
		}
		return all
	}
	for name, page := range map[string]string{
		"paragraphs":                 fill("", "<p>", ""),
		"paragraphs with text":       fill("", "<p>abcdefghijklmnopqrstuvwxyz0123456789", ""),
		"formatting opened again":    fill("<p>"+fonts(8), "<p>a", ""),
		"formatting in formatting":   fill("<p>"+fonts(400), "<p>a", ""),
		"formatting hidden in a tag": fill("<select><xmp>"+fonts(400)+"</xmp></select><svg><style>"+fonts(400)+"</style></svg>", "<p>a", ""),
		"lines in quotations":        fill(strings.Repeat("<blockquote>", 500), "<br>a", ""),
		"lines in lists":             fill(strings.Repeat("<ol start=999999999999999999><li>", 200), "<br>a", ""),
		"lines as they are":          fill(strings.Repeat("<blockquote>", 500)+"<pre>", "\n", ""),
		"nesting":                    fill("", "<div>", ""),
		"one long row":               fill("<table><tr>", "<td>", ""),
		"many short rows":            fill("<table><tr>"+strings.Repeat("<td>", 999), "<tr><td>", ""),
		"spans":                      fill("<table>", "<tr><td colspan=1000 rowspan=1000>a", ""),
		"spans in one row":           fill("<table><tr>", "<td colspan=2>", ""),
		"one long cell":              fill("<table><tr><td>", "a", strings.Repeat("<tr><td>b", 1000)),
		"tables in tables":           fill("", "<table><tr><td>", ""),
		"links":                      fill("", "<a href=/>a</a>", ""),
		"too many tags":              strings.Repeat("<p>", maxTags+1),
		"attributes":                 fill("<p ", "a ", ">"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := newPages().markdown(t.Context(), strings.NewReader(page), examplePage)
		runtime.ReadMemStats(&after)
		allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%-28s %4d MiB allocated, %8d bytes, %v", name, allocated, len(got), err)
		if len(got) > maxMarkdown || allocated > 400 {
			t.Errorf("%s: %d bytes of Markdown, %d MiB allocated", name, len(got), allocated)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, page := range []string{"<p>a<b>c</b>", "<table><tr><td colspan=3>a<td rowspan=2>b<tr><td>c</table>", "<ol start=7><li>a<ul><li>b</ul></ol>", "<svg><title><b>", "<blockquote><pre>\n\n</pre>", "<a href='/x'><img src=y alt=z></a>", "<!doctype html><title>a</title>", "<plaintext><b>"} {
		f.Add(page)
	}
	p := newPages()
	f.Fuzz(func(t *testing.T, page string) {
		got, err := p.markdown(t.Context(), strings.NewReader(page), examplePage)
		if err == nil && len(got) > 100*len(page)+8*maxCells { // spans within one table have their own limit
			t.Fatalf("%d bytes became %d", len(page), len(got))
		}
	})
}
