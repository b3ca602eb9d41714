package docs_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/fields/fieldstest"
	"github.com/junction-mcp/junction/lint"
)

// A language writes the generated parts of pages: tables, and sections of settings and lint rules.
type language struct {
	folder string // of its pages, from this folder
	*texts        // nil in English
}

var english = language{}

// texts are the Chinese texts of the generated parts.
type texts struct {
	known   map[string]string // by the English text
	used    map[string]bool
	missing []string
}

// text returns a text in the language, with values at its verbs.
func (l language) text(english string, values ...any) string {
	text := english
	if l.texts != nil {
		text = l.known[english]
		if text == "" && !slices.Contains(l.missing, english) {
			l.missing = append(l.missing, english)
		}
		l.used[english] = true
	}
	if len(values) == 0 {
		return text
	}
	return fmt.Sprintf(text, values...)
}

// asWritten are the parts of a text that a user writes so: flags, references and patterns.
var asWritten = regexp.MustCompile(`--[a-z][a-z-]*|\$\{[^}]+\}|[^\s,;()]*\*[^\s,;()]*`)

// doc returns the text of a tag as Markdown. In English flags, references and patterns become code;
// Chinese texts are Markdown.
func (l language) doc(tag string) string {
	if l.texts != nil {
		return l.text(tag)
	}
	return asWritten.ReplaceAllString(tag, "`$0`")
}

// sentence makes a sentence of a text.
func (l language) sentence(text string) string {
	if l.texts != nil {
		return text + "。"
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// joined makes a paragraph of sentences.
func (l language) joined(sentences []string) string {
	if l.texts != nil {
		return strings.Join(sentences, "")
	}
	return strings.Join(sentences, " ")
}

// link returns a link from a page to a place of an English page. In Chinese it leads to the same
// place of the Chinese page, if there is one.
func (l language) link(page, text, place string) string {
	mark := ""
	if l.texts != nil {
		place, mark = chinesePlace(page, place)
	}
	return "[" + l.text(text) + "](" + place + ")" + mark
}

// chinesePlace returns a place, which an English page links to, as a link of the Chinese page, and the mark behind it.
func chinesePlace(from, place string) (link, mark string) {
	name, anchor, _ := strings.Cut(place, "#")
	page := cmp.Or(name, from)
	there, err := os.ReadFile(filepath.Join("zh", page))
	if err != nil {
		return "../" + place, "（英文）"
	}
	here, err := os.ReadFile(page)
	if err != nil || anchor == "" {
		return page, ""
	}
	inChinese := headings(there)
	if i := slices.Index(headings(here), anchor); i >= 0 && i < len(inChinese) {
		return name + "#" + inChinese[i], ""
	}
	return place, ""
}

// wrapped breaks a text into lines of at most 100 columns.
func (l language) wrapped(text string) string {
	var b strings.Builder
	width := 0
	for _, piece := range l.pieces(text) {
		word := strings.TrimSuffix(piece, " ")
		if width > 0 && width+columns(word) > 100 {
			line := strings.TrimSuffix(b.String(), " ")
			b.Reset()
			b.WriteString(line + "\n")
			width = 0
		}
		b.WriteString(piece)
		width += columns(piece)
	}
	return strings.TrimSuffix(b.String(), " ")
}

// pieces divides a text where a line can end: after spaces. In Chinese these are the spaces outside
// of code, and a line can also end after punctuation that ends neither emphasis nor a link.
func (l language) pieces(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	if l.texts == nil {
		return strings.SplitAfter(text, " ")
	}
	var all []string
	runes := []rune(text)
	begin, inCode := 0, false
	for i, r := range runes {
		last := i+1 == len(runes)
		inCode = inCode != (r == '`')
		afterStop := !last && strings.ContainsRune("，。；：、）”", r) && (runes[i+1] == '[' || !unicode.IsPunct(runes[i+1]))
		if last || !inCode && (r == ' ' || afterStop) {
			all = append(all, string(runes[begin:i+1]))
			begin = i + 1
		}
	}
	return all
}

// columns returns the width of a text, in which a Chinese character has two columns.
func columns(text string) int {
	width := utf8.RuneCountInString(text)
	for _, r := range text {
		if r >= 0x2e80 {
			width++
		}
	}
	return width
}

// parseTexts parses an object of Chinese texts by the English ones.
func parseTexts(file []byte) (*texts, error) {
	parsed := &texts{known: map[string]string{}, used: map[string]bool{}}
	if err := json.Unmarshal(file, &parsed.known); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(file))
	seen := map[string]bool{}
	for isName := false; ; isName = !isName {
		token, err := d.Token()
		if err == io.EOF {
			return parsed, nil
		}
		name, _ := token.(string)
		if isName && seen[name] {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		seen[name] = seen[name] || isName
	}
}

// faults returns the texts that are missing, and those that no table uses.
func (x *texts) faults() []string {
	var all []string
	for _, english := range x.missing {
		all = append(all, fmt.Sprintf("has no Chinese text of %q", english))
	}
	for _, english := range slices.Sorted(maps.Keys(x.known)) {
		if !x.used[english] {
			all = append(all, fmt.Sprintf("has a text that no table uses: %q", english))
		}
	}
	return all
}

// The generated parts of Chinese pages come from the same tables as the English ones, with the texts in zh/texts.json.
func TestChineseTablesAreThoseOfTheEnglishPages(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("zh", "texts.json"))
	if err != nil {
		t.Fatal(err)
	}
	known, err := parseTexts(file)
	if err != nil {
		t.Fatalf("zh/texts.json: %v", err)
	}
	zh := language{"zh", known}
	t.Run("settings", zh.checkReference)
	t.Run("limits", zh.checkLimits)
	t.Run("rules", zh.checkRules)
	t.Run("gateway", func(t *testing.T) { zh.checkTable(t, "gateway.md", "| setting | is |", zh.settingsIndex()) })
	for _, table := range settingTables {
		t.Run(table.header, func(t *testing.T) {
			zh.checkTable(t, table.page, table.header, settingRowsOf(zh, table.page, table.of))
		})
	}
	for _, fault := range known.faults() {
		t.Errorf("zh/texts.json %s", fault)
	}
}

func TestMissingAndUnusedTextsAreFound(t *testing.T) {
	known, err := parseTexts([]byte(`{"a file": "文件", "up to %s": "最多 %s 项", "a text": "文本"}`))
	if err != nil {
		t.Fatal(err)
	}
	zh := language{"zh", known}
	if got := zh.doc("a file") + zh.text("up to %s", "9") + zh.doc("a folder") + zh.doc("a folder"); got != "文件最多 9 项" {
		t.Errorf("the texts are %q", got)
	}
	want := []string{`has no Chinese text of "a folder"`, `has a text that no table uses: "a text"`}
	if got := known.faults(); !slices.Equal(got, want) {
		t.Errorf("faults: %q, want %q", got, want)
	}
	if _, err := parseTexts([]byte(`{"a file": "文件", "a file": "档案"}`)); err == nil {
		t.Error("a text that is there twice is not found")
	}
}

func TestLinesOfChineseTextEndAtSpacesAndPunctuation(t *testing.T) {
	zh := language{"zh", &texts{}}
	long := strings.Repeat("长", 45)
	for text, want := range map[string]string{
		"短。":                              "短。",
		long + "，后面的文字。":                  long + "，\n后面的文字。",
		long + " `up` 之后。":                long + " `up`\n之后。",
		long + "长 `junction up` 之后。":      long + "长\n`junction up` 之后。",
		"**" + long + "。** 之后的文字。":        "**" + long + "。**\n之后的文字。",
		long + "，[后面的文字](a.md)。":          long + "，\n[后面的文字](a.md)。",
		strings.Repeat("长", 49) + "）。后面。": strings.Repeat("长", 49) + "）。\n后面。",
	} {
		if got := zh.wrapped(text); got != want {
			t.Errorf("%q is wrapped as %q, want %q", text, got, want)
		}
	}
}

// checkTable fails the test unless a table has the given rows; header is its English header.
func (l language) checkTable(t *testing.T, page, header, rows string) {
	t.Helper()
	header, page = l.row(header), filepath.Join(l.folder, page)
	if _, err := os.Stat(page); err != nil {
		t.Skipf("%s is not there yet", page)
	}
	fieldstest.Page(t, page, header, rows, *update)
}

// row returns a row of a table in the language.
func (l language) row(english string) string {
	cells := strings.Split(strings.Trim(english, "|"), "|")
	for i, cell := range cells {
		cells[i] = " " + l.cell(strings.TrimSpace(cell)) + " "
	}
	return "|" + strings.Join(cells, "|") + "|"
}

// inCode matches the last cell of a limit.
var inCode = regexp.MustCompile("^(`[^`]+`) in (`[^`]+`)$")

// cell returns a cell of a table in the language. A cell that has only code has no text of its own.
func (l language) cell(english string) string {
	if names := inCode.FindStringSubmatch(english); names != nil {
		return l.text("%s in %s", names[1], names[2])
	}
	if !strings.ContainsFunc(code.ReplaceAllString(english, ""), unicode.IsLetter) {
		return strings.NewReplacer("`; `", "`；`", "`, `", "`、`").Replace(english)
	}
	return l.text(english)
}

// checkLimits fails the test unless the tables of limits.md have the rows of the English page.
func (l language) checkLimits(t *testing.T) {
	t.Helper()
	page, err := os.ReadFile("limits.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(page), "\n## ")
	var want strings.Builder
	for line := range strings.Lines("## " + tables) {
		title, isHeading := strings.CutPrefix(line, "## ")
		switch {
		case isHeading:
			line = "## " + l.text(strings.TrimSpace(title)) + "\n"
		case strings.HasPrefix(line, "|-"):
		case strings.HasPrefix(line, "|"):
			line = l.row(strings.TrimSpace(line)) + "\n"
		}
		want.WriteString(line)
	}
	body := strings.TrimPrefix(want.String(), "## ")
	l.checkPart(t, "limits.md", "\n## ", "", body)
}

// checkRules fails the test unless lint.md has the rules.
func (l language) checkRules(t *testing.T) {
	t.Helper()
	var want strings.Builder
	for _, rule := range lint.Rules() {
		doc := l.text(strings.Join(strings.Fields(rule.Doc), " "))
		severity := rule.Severity.String()
		want.WriteString("### " + rule.Name + "\n\n" + l.wrapped(l.sentence(l.text(severity))+doc) + "\n\n")
		if rule.Bad != "" {
			want.WriteString("```json bad\n" + rule.Bad + "\n```\n\n```json good\n" + rule.Good + "\n```\n\n")
		}
	}
	l.checkPart(t, "lint.md", l.text("Each example is the definition of one or two tools, first with the mistake, then without.")+"\n\n", "## "+l.text("Findings in real servers")+"\n", want.String())
}
