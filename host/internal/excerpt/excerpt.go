// Package excerpt prepares text for a model: it removes invisible characters, shortens texts, and
// splits them into pages.
package excerpt

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/junction-mcp/junction/guard"
)

// MaxError is the number of bytes of a server's error that the model reads.
const MaxError = 8 << 10

// Clean returns text without invisible characters.
func Clean(text string) string { return guard.Clean(strings.ToValidUTF8(text, "\uFFFD")) }

// CleanJSON removes invisible characters from the texts in JSON, including escaped ones. It returns
// raw unchanged if there are none.
func CleanJSON(raw json.RawMessage) json.RawMessage {
	text, err := jsontext.AppendFormat(nil, raw, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return raw
	}
	if clean := guard.Clean(string(text)); clean != string(text) {
		return json.RawMessage(clean)
	}
	return raw
}

// Clip returns at most most bytes of text, with a mark at the end if text was longer.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " […]"
}

// OfError returns the clean text of an error, clipped to [MaxError] bytes.
func OfError(err error) string { return Clip(Clean(err.Error()), MaxError) }

// Level returns the length to which each piece must be clipped so that all pieces together have
// about the given number of bytes.
func Level(pieces []string, bytes int) int {
	lengths := make([]int, len(pieces))
	for i, p := range pieces {
		lengths[i] = len(p)
	}
	slices.Sort(lengths)
	for i, n := range lengths {
		if share := bytes / (len(lengths) - i); n > share {
			return max(share, 80)
		}
		bytes -= n
	}
	return math.MaxInt
}

// A Page is a piece of a long text.
type Page struct {
	Text     string
	From, To int // offsets in bytes
	Last     bool
	total    int
}

// PageOf returns at most most bytes of text from an offset. If find is not empty, the page begins
// shortly before the next occurrence of find.
func PageOf(text string, from, most int, find string) (Page, error) {
	from = min(max(from, 0), len(text))
	if find != "" {
		at := indexFold(text[from:], find)
		if at < 0 {
			return Page{}, fmt.Errorf("the text %q does not occur from offset %d on (there are %d characters)", find, from, len(text))
		}
		from = max(from, from+at-most/4)
	}
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	to := min(from+most, len(text))
	for to < len(text) && to > from && !utf8.RuneStart(text[to]) {
		to--
	}
	if to < len(text) {
		if line := strings.LastIndexByte(text[from:to], '\n'); line > most/2 {
			to = from + line + 1
		}
	}
	return Page{Text: text[from:to], From: from, To: to, total: len(text), Last: to == len(text)}, nil
}

// indexFold is like strings.Index, but ignores the case of ASCII letters.
func indexFold(text, find string) int {
	lower := func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	return strings.Index(strings.Map(lower, text), strings.Map(lower, find))
}

// Note describes the position of the page in the text at uri, and how to read on. It returns "" if
// the page is the whole text.
func (p Page) Note(uri string) string {
	if p.From == 0 && p.Last {
		return ""
	}
	text := fmt.Sprintf("[characters %d to %d of %d of %s", p.From, p.To, p.total, uri)
	if !p.Last {
		text += fmt.Sprintf("; read_resource with uri %q and offset %d returns the next page; \"find\" finds a text in it", uri, p.To)
	}
	return text + "]"
}
