package archive

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
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
		b.WriteString(plaintext.Beginning(text, maxIndexed-b.Len()))
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
