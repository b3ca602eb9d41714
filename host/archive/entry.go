package archive

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

// dialect is the JSON of entries: what encoding/json writes, so that other
// programs can read an export, but case-sensitive. What a model or a server
// wrote is kept even where it is odd: a run must not end because of it.
var dialect = json.JoinOptions(
	json.DefaultOptionsV2(),
	jsonv1.OmitEmptyWithLegacySemantics(true),
	jsonv1.FormatDurationAsNano(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
)

// maxTitle is how many characters of a question make a title, and maxIndexed how
// many bytes of one message can be searched.
const (
	maxTitle   = 80
	maxIndexed = 64 << 10
)

// counts is what an entry adds to the conversation it belongs to.
type counts struct {
	bytes, questions, calls, tokens int
	cost                            float64
	title                           string // which the entry gives
	question                        string // whose first line names an untitled conversation
	text                            string // to be searched
}

// count looks at an entry, whose JSON has so many bytes.
func count(e *host.Entry, bytes int) counts {
	c := counts{bytes: bytes, title: titleOf(e.Title)}
	if e.Totals != nil {
		c.cost, c.tokens = e.Totals.Cost, e.Totals.Usage.Input+e.Totals.Usage.Output
	}
	if e.Message != nil {
		c.text = searchable(e.Message)
		c.calls = len(e.Message.Calls())
		if e.Message.Role == model.RoleUser {
			c.questions = 1
			c.question = titleOf(firstText(e.Message))
		}
	}
	return c
}

// firstText is what a person wrote, without what they attached behind it.
func firstText(m *model.Message) string {
	for _, p := range m.Parts {
		if strings.TrimSpace(p.Text) != "" {
			return p.Text
		}
	}
	return ""
}

// titleOf makes a title of the first line of a text.
func titleOf(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(plaintext.Line(first, maxTitle))
}

// searchable is what of a message can be searched: what people and models said,
// what was called, and the beginning of what came back.
func searchable(m *model.Message) string {
	var b strings.Builder
	add := func(text string) {
		if text = strings.TrimSpace(text); text == "" || b.Len() >= maxIndexed {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(cut(text, maxIndexed-b.Len()))
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Call != nil:
			add(p.Call.Name + " " + string(p.Call.Arguments))
		case p.Result != nil:
			add(p.Result.Text())
		default:
			add(p.Text)
		}
	}
	return b.String()
}

// cut is the longest beginning of s of at most n bytes that ends with a whole character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
