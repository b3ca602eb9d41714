package docs_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// updateZh is not -update, which writes tables: a table that changed is no reason to take a
// Chinese page for a current one.
var updateZh = flag.Bool("update-zh", false, "write into each Chinese page the sum of the English page that it follows")

// A translation is a Chinese page and the English page that it follows, by paths from this folder.
type translation struct {
	zh, en string
}

// chineseIndex has the terms and the list of pages, and follows no English page.
var chineseIndex = filepath.Join("zh", "README.md")

// translations returns the Chinese pages, except the index.
func translations(t *testing.T) []translation {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("zh", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := []translation{{chineseReadme, filepath.Join(root, "README.md")}}
	for _, zh := range found {
		if zh != chineseIndex {
			all = append(all, translation{zh, filepath.Base(zh)})
		}
	}
	return all
}

// followed is the line of a Chinese page that names the text of its English page.
var followed = regexp.MustCompile(`(?m)^<!-- en: ([0-9a-f]*) -->$`)

// sumOf returns the sum that a Chinese page names, of the text of an English page.
func sumOf(english []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(english))[:12]
}

// checkFollowed returns the fault of the line in which a Chinese page names the text of its English page.
func checkFollowed(pair translation, chinese, english []byte) error {
	lines := followed.FindAllSubmatch(chinese, -1)
	sum := sumOf(english)
	switch {
	case len(lines) != 1:
		return fmt.Errorf("%s has %d lines <!-- en: SUM -->: write one, <!-- en: %s -->, if it says the same as %s", pair.zh, len(lines), sum, pair.en)
	case string(lines[0][1]) != sum:
		return fmt.Errorf("%s follows an older %s: bring it up to date, and write <!-- en: %s -->, or run go test ./docs -run Chinese -update-zh", pair.zh, pair.en, sum)
	}
	return nil
}

func TestChinesePagesFollowTheEnglishOnes(t *testing.T) {
	for _, pair := range translations(t) {
		english, err := os.ReadFile(pair.en)
		if err != nil {
			t.Errorf("%s follows no page: %v", pair.zh, err)
			continue
		}
		chinese, err := os.ReadFile(pair.zh)
		if err != nil {
			t.Fatal(err)
		}
		if *updateZh {
			chinese = followed.ReplaceAll(chinese, []byte("<!-- en: "+sumOf(english)+" -->"))
			if err := os.WriteFile(pair.zh, chinese, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := checkFollowed(pair, chinese, english); err != nil {
			t.Error(err)
		}
	}
}

func TestAnOlderChinesePageIsFound(t *testing.T) {
	pair := translation{"zh/hosts.md", "hosts.md"}
	english := []byte("# Hosts\n")
	line := "<!-- en: " + sumOf(english) + " -->\n"
	for _, test := range []struct{ name, chinese, english, want string }{
		{"current", line + "# 宿主\n", "# Hosts\n", ""},
		{"English text changed", line + "# 宿主\n", "# Hosts!\n", "follows an older hosts.md: bring it up to date, and write <!-- en: " + sumOf([]byte("# Hosts!\n"))},
		{"no line", "# 宿主\n", "# Hosts\n", "has 0 lines"},
		{"two lines", line + line, "# Hosts\n", "has 2 lines"},
	} {
		got := fmt.Sprint(checkFollowed(pair, []byte(test.chinese), []byte(test.english)))
		if test.want == "" && got != "<nil>" || test.want != "" && !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %q", test.name, got, test.want)
		}
	}
}

// comments match the comments of an example, which each language has in its own words.
// Output has none.
var comments = map[string]*regexp.Regexp{
	"go":   regexp.MustCompile(`(?m)(^|\s)\s*//.*$`),
	"json": regexp.MustCompile(`(?m)(^|\s)\s*//.*$`),
	"sh":   regexp.MustCompile(`(?m)(^|\s)\s*#.*$`),
	"yaml": regexp.MustCompile(`(?m)(^|\s)\s*#.*$`),
}

// withoutComments returns the text of an example without its comments. If the page names a
// file, its comments belong to the file.
func withoutComments(b block) string {
	pattern := comments[b.kind]
	if pattern == nil || strings.HasPrefix(b.label, "docs/") {
		return b.text
	}
	return pattern.ReplaceAllString(b.text, "")
}

// checkExamples returns the first difference between the examples of two languages.
func checkExamples(chinese, english []block) error {
	for i, c := range chinese {
		if i == len(english) {
			return fmt.Errorf("%s:%d: an example that %s does not have", c.page, c.line, filepath.Base(english[0].page))
		}
		e := english[i]
		if c.kind != e.kind || c.label != e.label || withoutComments(c) != withoutComments(e) {
			return fmt.Errorf("%s:%d: the example differs from that at %s:%d: copy it; only comments are translated", c.page, c.line, e.page, e.line)
		}
	}
	if len(chinese) < len(english) {
		e := english[len(chinese)]
		return fmt.Errorf("the example at %s:%d is missing in Chinese", e.page, e.line)
	}
	return nil
}

// The examples of a Chinese page are those of its English page, which other tests run.
func TestChinesePagesHaveTheExamplesOfTheEnglishOnes(t *testing.T) {
	for _, pair := range translations(t) {
		if err := checkExamples(blocks(t, pair.zh), blocks(t, pair.en)); err != nil {
			t.Error(err)
		}
	}
	if len(blocks(t, chineseIndex)) > 0 {
		t.Errorf("%s has an example, which no test runs", chineseIndex)
	}
}

func TestADifferentExampleIsFound(t *testing.T) {
	sh := func(text string) block { return block{page: "p.md", kind: "sh", text: text} }
	for _, test := range []struct {
		name             string
		chinese, english []block
		same             bool
	}{
		{"equal", []block{sh("junction up\n")}, []block{sh("junction up\n")}, true},
		{"comment translated", []block{sh("junction up # 全部\n")}, []block{sh("junction up   # all\n")}, true},
		{"line of a comment translated", []block{sh("# 全部\njunction up\n")}, []block{sh("# all\njunction up\n")}, true},
		{"comment added", []block{sh("junction up # 全部\n")}, []block{sh("junction up\n")}, true},
		{"command differs", []block{sh("junction status\n")}, []block{sh("junction up\n")}, false},
		{"anchor of a URL differs", []block{sh("junction up a#b\n")}, []block{sh("junction up a#c\n")}, false},
		{"URL in Go differs", []block{{kind: "go", text: "f(\"http://a\")\n"}}, []block{{kind: "go", text: "f(\"http://b\")\n"}}, false},
		{"output differs", []block{{kind: "console", text: "$ a # b\n"}}, []block{{kind: "console", text: "$ a # c\n"}}, false},
		{"kind differs", []block{{kind: "text", text: "a\n"}}, []block{{kind: "console", text: "a\n"}}, false},
		{"label differs", []block{{kind: "json", label: "mcp.json"}}, []block{{kind: "json"}}, false},
		{"one missing", []block{sh("a\n")}, []block{sh("a\n"), sh("b\n")}, false},
		{"one more", []block{sh("a\n"), sh("b\n")}, []block{sh("a\n")}, false},
	} {
		if err := checkExamples(test.chinese, test.english); (err == nil) != test.same {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// outline returns the levels of the headings of a page, and its rows of tables and items of lists under each.
func outline(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{""}
	rows, items := 0, 0
	end := func() { lines[len(lines)-1] += fmt.Sprintf("%d rows and %d items", rows, items) }
	for line := range strings.Lines(string(fenced.ReplaceAll(text, nil))) {
		switch {
		case strings.HasPrefix(line, "#"):
			end()
			level, _, _ := strings.Cut(line, " ")
			lines, rows, items = append(lines, level+" with "), 0, 0
		case strings.HasPrefix(line, "|"):
			rows++
		case listed.MatchString(line):
			items++
		}
	}
	end()
	return lines
}

var listed = regexp.MustCompile(`^(- |\d+\. )`)

func TestChinesePagesHaveTheStructureOfTheEnglishOnes(t *testing.T) {
	for _, pair := range translations(t) {
		chinese, english := outline(t, pair.zh), outline(t, pair.en)
		for i := range min(len(chinese), len(english)) {
			if chinese[i] != english[i] {
				t.Errorf("%s: heading %d is %q, in %s %q", pair.zh, i, chinese[i], pair.en, english[i])
				break
			}
		}
		if len(chinese) != len(english) {
			t.Errorf("%s has %d headings, and %s %d", pair.zh, len(chinese)-1, pair.en, len(english)-1)
		}
	}
}

// markedLink matches a link to a page, and the mark after it. It takes no more of the text, where
// the next link may begin.
var markedLink = regexp.MustCompile(`\]\(([^)\s#]+\.md)(?:#[^)\s]*)?\)(（英文）)?`)

// wrongLinks returns the faults of links to pages in the text of a Chinese page.
func wrongLinks(pair translation, text string) []string {
	var faults []string
	for _, found := range markedLink.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		to, marked := found[1], found[2] != ""
		if strings.Contains(to, "://") {
			continue
		}
		target := strings.TrimPrefix(filepath.Join(filepath.Dir(pair.zh), to), filepath.Join(root, "docs")+string(filepath.Separator))
		inChinese := target == chineseReadme || filepath.Dir(target) == "zh"
		own := filepath.Join("zh", filepath.Base(target))
		if _, err := os.Stat(own); err == nil && filepath.Dir(target) == "." {
			faults = append(faults, fmt.Sprintf("link to %s: there is %s", to, own))
		}
		if marked == inChinese && target != pair.en {
			faults = append(faults, fmt.Sprintf("link to %s: write （英文） after a link to an English page, and only there", to))
		}
	}
	return faults
}

// A link of a Chinese page leads to a Chinese page, if there is one. If not, it is marked.
func TestLinksOfChinesePagesAreMarkedWhereTheyLeadToEnglish(t *testing.T) {
	for _, pair := range append(translations(t), translation{zh: chineseIndex}) {
		text, err := os.ReadFile(pair.zh)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range wrongLinks(pair, string(text)) {
			t.Errorf("%s: %s", pair.zh, fault)
		}
	}
}

func TestAWrongLinkOfAChinesePageIsFound(t *testing.T) {
	const hosts, changes = "[宿主](hosts.md)", "[更新日志](../../CHANGELOG.md)"
	for _, test := range []struct{ text, want string }{
		{hosts + "、" + changes + "（英文）", ""},
		{changes + "（英文）、" + hosts, ""},
		{hosts + "（英文）", "link to hosts.md: write （英文）"},
		{changes, "link to ../../CHANGELOG.md: write （英文）"},
		{hosts + "、" + changes, "link to ../../CHANGELOG.md: write （英文）"},
		{hosts + "、[宿主](../hosts.md#a)（英文）", "link to ../hosts.md: there is zh/hosts.md"},
	} {
		got := strings.Join(wrongLinks(translation{zh: "zh/cli.md", en: "cli.md"}, test.text), "\n")
		if test.want == "" && got != "" || !strings.HasPrefix(got, test.want) {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestTheChineseIndexListsAllPages(t *testing.T) {
	index, err := os.ReadFile(chineseIndex)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range translations(t) {
		if to := "](" + filepath.Base(pair.zh) + ")"; pair.zh != chineseReadme && !strings.Contains(string(index), to) {
			t.Errorf("%s lacks a link to %s", chineseIndex, pair.zh)
		}
	}
}

// code matches a name or a piece of code within prose.
var code = regexp.MustCompile("`` .*? ``|`[^`]+`")

// namesIn returns the names and pieces of code within the prose of a page.
func namesIn(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	prose := strings.Join(strings.Fields(string(fenced.ReplaceAll(text, nil))), " ")
	for _, name := range code.FindAllString(prose, -1) {
		names[name] = true
	}
	return names
}

func TestChinesePagesNameAllThatTheEnglishOnesName(t *testing.T) {
	for _, pair := range translations(t) {
		chinese := namesIn(t, pair.zh)
		for name := range namesIn(t, pair.en) {
			if !chinese[name] {
				t.Errorf("%s lacks %s, which %s has", pair.zh, name, pair.en)
			}
		}
	}
}

// unused is the sentence of the index with the words that Chinese texts do not use, because the terms have others.
var unused = regexp.MustCompile(`(?s)不用：(.+?)。`)

// consoleWords are the Chinese texts of the console.
var consoleWords = filepath.Join(root, "console", "web", "words", "zh.js")

// oddWords returns the words that the index excludes and a text has.
func oddWords(index, text string) []string {
	found := unused.FindStringSubmatch(index)
	if found == nil {
		return []string{"the index names no words that are not used"}
	}
	return slices.DeleteFunc(strings.Split(strings.Join(strings.Fields(found[1]), ""), "、"), func(word string) bool { return !strings.Contains(text, word) })
}

func TestChineseTextsHaveOneTermForOneThing(t *testing.T) {
	index, err := os.ReadFile(chineseIndex)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range append(translations(t), translation{zh: consoleWords}) {
		text, err := os.ReadFile(pair.zh)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range oddWords(string(index), string(text)) {
			t.Errorf("%s has %s: %s names the term to use", pair.zh, word, chineseIndex)
		}
	}
}

func TestAnOddWordIsFound(t *testing.T) {
	const index = "不用：应答、\n词元。\n"
	for text, want := range map[string]string{"响应": "", "没有应答。": "应答", "一个词元的应答": "应答 词元"} {
		if got := strings.Join(oddWords(index, text), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if oddWords("术语", "响应") == nil {
		t.Error("an index without the sentence is not found")
	}
}

func isHan(r rune) bool   { return unicode.Is(unicode.Han, r) }
func isLatin(r rune) bool { return r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// badlySpaced returns the faults of a Chinese text by its lines. Han characters and Latin letters
// or digits have a space between them, and full-width punctuation follows Han characters. Browsers
// show the end of a line as a space, so no line ends between two Han characters.
func badlySpaced(text string) map[int]string {
	faults := map[int]string{}
	text = fenced.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	end := ' ' // of the line before, in the same paragraph
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = link.ReplaceAllString(code.ReplaceAllString(line, "x"), "]")
		shown := []rune(strings.NewReplacer("*", "", "[", "", "]", "").Replace(strings.TrimSpace(line)))
		if len(shown) == 0 || shown[0] == '#' || shown[0] == '|' {
			end = ' '
		} else {
			if isHan(end) && isHan(shown[0]) {
				faults[n] = "the line begins within Chinese words: break at a space, or after punctuation"
			}
			end = shown[len(shown)-1]
		}
		before := ' '
		for _, r := range shown {
			if isHan(before) && isLatin(r) || isLatin(before) && isHan(r) || isHan(before) && strings.ContainsRune(",;:?!()", r) {
				faults[n] = fmt.Sprintf("%c%c: write a space between Chinese and Latin, and full-width punctuation after Chinese", before, r)
				break
			}
			before = r
		}
	}
	return faults
}

func TestChineseTextIsSpaced(t *testing.T) {
	for _, pair := range append(translations(t), translation{zh: chineseIndex}) {
		text, err := os.ReadFile(pair.zh)
		if err != nil {
			t.Fatal(err)
		}
		for n, fault := range badlySpaced(string(text)) {
			t.Errorf("%s:%d: %s", pair.zh, n, fault)
		}
	}
}

func TestBadlySpacedTextIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"用 `up` 启动 2 个服务器。\n":              "",
		"用 [`up`](a.md) 启动，见[名称](b.md)。\n": "",
		"第一行，\n第二行\n`up`\n":                "",
		"第一段\n\n第二段\n":                     "",
		"```sh\n中a\n```\n":                 "",
		"| 一 |\n| 二 |\n":                   "",
		"- 一\n- 二\n":                       "",
		"用`up`启动\n":                        "1 用x",
		"**用**Junction\n":                  "1 用J",
		"[`up`](a.md)启动\n":                 "1 x启",
		"名称:\n":                            "1 称:",
		"第一\n行\n":                          "2 the line begins",
		"```sh\na\n```\n\n第2\n":            "5 第2",
	} {
		got := ""
		for n, fault := range badlySpaced(text) {
			got += fmt.Sprint(n, " ", fault)
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
