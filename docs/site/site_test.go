package main

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"
)

// A document is what a page of the site has and refers to.
type document struct {
	anchors map[string]bool
	refers  []string // addresses in href and src
	words   string   // the text of main
}

func read(t *testing.T, content []byte) document {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	d := document{anchors: map[string]bool{"": true}}
	var text strings.Builder
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				if d.anchors[a.Val] {
					t.Errorf("the anchor %s is there twice", a.Val)
				}
				d.anchors[a.Val] = true
			case "href", "src", "data-index":
				d.refers = append(d.refers, a.Val)
			}
		}
		if n.Type == html.TextNode {
			text.WriteString(n.Data + " ")
		}
	}
	d.words = text.String()
	return d
}

func documents(t *testing.T, files map[string][]byte) map[string]document {
	t.Helper()
	all := map[string]document{}
	for name, content := range files {
		if path.Ext(name) == ".html" {
			all[name] = read(t, content)
		}
	}
	return all
}

// checkLinks reports links, anchors, pictures, styles and scripts that the site does not have.
func checkLinks(t *testing.T, files map[string][]byte) {
	t.Helper()
	all := documents(t, files)
	for name, d := range all {
		for _, to := range d.refers {
			u, err := url.Parse(to)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if u.IsAbs() {
				continue
			}
			target := name
			if u.Path != "" {
				target = path.Join(path.Dir(name), u.Path)
			}
			if _, found := files[target]; !found {
				t.Errorf("%s refers to %s, and the site does not have %s", name, to, target)
			}
			if there, isPage := all[target]; isPage && !there.anchors[u.Fragment] {
				t.Errorf("%s refers to %s, and %s has no such anchor", name, to, target)
			}
		}
	}
}

func sectionsOf(t *testing.T, index []byte) []section {
	t.Helper()
	text, found := bytes.CutPrefix(index, []byte("window.junctionSections = "))
	text, ends := bytes.CutSuffix(text, []byte(";\n"))
	if !found || !ends {
		t.Fatalf("the index begins %.40q", index)
	}
	var all []section
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

var once = sync.OnceValues(func() (map[string][]byte, error) { return build(os.DirFS(filepath.Join("..", ".."))) })

// built returns the site of this repository, which no test changes.
func built(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEveryLinkOfTheSiteResolves(t *testing.T) {
	files := built(t)
	checkLinks(t, files)
	if n := len(documents(t, files)); n < 30 {
		t.Errorf("the site has only %d pages", n)
	}
}

func TestPagesNeedNoNetwork(t *testing.T) {
	for name, content := range built(t) {
		if path.Ext(name) != ".html" {
			continue
		}
		root, err := html.Parse(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			for _, a := range n.Attr {
				if (a.Key == "src" || n.Data == "link" && a.Key == "href") && strings.Contains(a.Val, "//") {
					t.Errorf("%s loads %s", name, a.Val)
				}
			}
		}
	}
}

func TestTheMenuNamesEveryPage(t *testing.T) {
	_, menu, _ := strings.Cut(string(built(t)["index.html"]), "<nav")
	menu, _, _ = strings.Cut(menu, "</nav>")
	if strings.Count(menu, "<h2>") < 5 {
		t.Errorf("the last list of README.md does not make the menu, which is\n%s", menu)
	}
	if _, rest, found := strings.Cut(menu, ">"+languages[0].Words.More+"</h2>"); found {
		t.Errorf("the last list of README.md, which is the menu, lacks the pages\n%s", rest)
	}
}

func TestTheSearchHasAllWordsOfEachPage(t *testing.T) {
	files := built(t)
	all := documents(t, files)
	texts := map[string]string{}
	for index, content := range files {
		if matched, _ := path.Match("site/index.*.js", index); !matched { // one for each language
			continue
		}
		for _, s := range sectionsOf(t, content) {
			name, anchor, _ := strings.Cut(s.Address, "#")
			if !all[name].anchors[anchor] {
				t.Errorf("the search leads to %s, which does not exist", s.Address)
			}
			texts[name] += " " + s.Heading + " " + s.Text
		}
	}
	for name, content := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		_, body, _ := bytes.Cut(content, []byte(`<main id="text" tabindex="-1">`))
		body, _, _ = bytes.Cut(body, []byte("<footer>"))
		for _, word := range strings.Fields(read(t, body).words) {
			if !strings.Contains(texts[name], word) {
				t.Errorf("the search lacks the word %q of %s", word, name)
			}
		}
	}
}

// The search itself is JavaScript, so this test needs Node.
func TestTheSearchFindsEachPage(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	files := built(t)
	dir := t.TempDir()
	for _, name := range []string{"index.en.js", "search.js"} {
		if err := os.WriteFile(filepath.Join(dir, name), files["site/"+name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const script = `
globalThis.window = {};
require("./index.en.js");
const { ranked, excerpt } = require("./search.js"), all = window.junctionSections;
const titles = [...new Set(all.map((s) => s.p))];
const first = titles.filter((t) => !ranked(all, t).slice(0, 5).some((s) => s.p === t));
const check = (what, got, want) => {
  if (JSON.stringify(got) !== JSON.stringify(want)) console.log(what, JSON.stringify(got), "not", JSON.stringify(want));
};
check("pages that their own title does not find:", first, []);
check("no word:", ranked(all, "  "), []);
check("a word of no page:", ranked(all, "xyzzyxyzzy"), []);
check("one of two words:", ranked(all, "gateway xyzzyxyzzy"), []);
check("many:", ranked(all, "a").length, 30);
const small = [{ p: "P", h: "Other", a: "1", t: "the breaker opens" }, { p: "P", h: "Breaker", a: "2", t: "it" }, { p: "证书", h: "服务器", a: "3", t: "服务器的证书" }];
check("the heading first:", ranked(small, "breaker").map((s) => s.a), ["2", "1"]);
check("both words:", ranked(small, "BREAKER opens").map((s) => s.a), ["1"]);
check("Chinese:", ranked(small, "器的").map((s) => s.a), ["3"]);
check("an excerpt:", excerpt("the Breaker opens", "breaker"), [["the ", false], ["Breaker", true], [" opens", false]]);
check("a long excerpt:", excerpt("x ".repeat(100) + "end", "end").map((p) => p[0].length), [1, 60, 3]);
`
	command := exec.Command(node, "-e", script)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	for _, test := range []struct{ headings, want string }{
		{"The configuration", "the-configuration"},
		{"Use it, then stop it", "use-it-then-stop-it"},
		{"`junction up --http`", "junction-up---http"},
		{"snake_case & more", "snake_case--more"},
		{"A [link](x.md) in it", "a-link-in-it"},
		{"Größe 10 %", "größe-10-"},
		{"配置文件", "配置文件"},
		{"安装：`npm`", "安装npm"},
		{"Twice\nTwice\nTwice", "twice twice-1 twice-2"},
		{"Twice\nTwice 1\nTwice", "twice twice-1 twice-2"},
	} {
		var text strings.Builder
		text.WriteString("# x\n")
		for h := range strings.SplitSeq(test.headings, "\n") {
			text.WriteString("\n## " + h + "\n")
		}
		p, err := parse("a.md", []byte(text.String()), &languages[0])
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range p.Headings {
			got = append(got, h.ID)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%q has the anchors %q, want %q", test.headings, got, test.want)
		}
	}
}

func TestEachLanguageHasItsMenuAndSearch(t *testing.T) {
	repo := fstest.MapFS{}
	for name, text := range map[string]string{
		"README.md":       "# Junction\n\n[中文](README.zh-CN.md)\n\n- **Use:** [a](docs/a.md#b), [b](docs/b.md)\n- **Project:** [log](CHANGELOG.md)\n",
		"README.zh-CN.md": "# Junction 中文\n\n- **使用：** [甲](docs/zh/a.md)，[乙](docs/b.md)（英文）\n",
		"CHANGELOG.md":    "# Changelog\n",
		"docs/a.md":       "# Page A\n\n## B\n\n![x](x.svg) [file](../go.mod) [folder](../docs) [web](https://example.com/x.md)\n",
		"docs/b.md":       "# Page B\n\n<!-- a comment -->\n\n[a](a.md#b) [picture](x.svg)\n",
		"docs/x.svg":      "<svg/>",
		"docs/zh/a.md":    "# 甲页\n\n[英文](../b.md) [首页](../../README.zh-CN.md)\n",
		"docs/zh/c.md":    "# 丙页\n",
		"go.mod":          "module x\n",
	} {
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	files, err := build(repo)
	if err != nil {
		t.Fatal(err)
	}
	checkLinks(t, files)
	for name, parts := range map[string][]string{
		"index.html":        {`lang="en"`, "<h2>Use</h2>", `<a href="docs/a.html">Page A</a>`, `<a href="README.zh-CN.html">简体中文</a>`},
		"docs/a.html":       {`<a href="zh/a.html">简体中文</a>`, `<a href="a.html" aria-current="page">`, `src="x.svg"`, repository + "/blob/main/go.mod", repository + "/tree/main/docs", `"https://example.com/x.md"`, `data-index="../site/index.en.js"`},
		"docs/b.html":       {`<a href="a.html#b">`, `<a href="x.svg">`},
		"docs/zh/a.html":    {`lang="zh-CN"`, "<h2>使用</h2>", `<a href="../a.html">English</a>`, `<a href="../b.html">Page B</a>`, "<h2>更多</h2>", `<a href="c.html">丙页</a>`, `data-index="../../site/index.zh-CN.js"`},
		"README.zh-CN.html": {`<a href="index.html">English</a>`, `<a href="docs/zh/a.html">甲页</a>`},
		"CHANGELOG.html":    {`aria-current="page">Changelog`},
	} {
		for _, part := range parts {
			if !bytes.Contains(files[name], []byte(part)) {
				t.Errorf("%s lacks %s:\n%s", name, part, files[name])
			}
		}
	}
	var found []string
	for _, s := range sectionsOf(t, files["site/index.zh-CN.js"]) {
		found = append(found, s.Page)
	}
	if want := []string{"Junction 中文", "甲页", "丙页"}; !slices.Equal(found, want) {
		t.Errorf("the search in Chinese has %q, want %q", found, want)
	}
}

func TestFaultsOfPagesAreNamed(t *testing.T) {
	for _, test := range []struct{ page, want string }{
		{"# A\n\n[x](gone.md)", "docs/a.md: link gone.md:"},
		{"# A\n\n![x](gone.png)", "docs/a.md: picture gone.png:"},
		{"# A\n\n<div>\n\n</div>", "docs/a.md: HTML; only comments"},
		{"# A\n\na <b>c</b>", "docs/a.md: HTML within a paragraph"},
		{"text", "docs/a.md has no heading of level 1"},
		{"# A\n\n[x](../../../etc/passwd)", "docs/a.md: link ../../../etc/passwd:"},
	} {
		_, err := build(fstest.MapFS{"README.md": {Data: []byte("# J\n")}, "docs/a.md": {Data: []byte(test.page)}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.page, err, test.want)
		}
	}
}

func TestPagesAreWrittenToANewFolderOnly(t *testing.T) {
	from, out := filepath.Join("..", ".."), filepath.Join(t.TempDir(), "new")
	if err := write(from, out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, "docs", "gateway.html")); err != nil {
		t.Error(err)
	}
	if err := write(from, out); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("the second time: %v", err)
	}
}
