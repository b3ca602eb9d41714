package host

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/guard"
)

// What a keptResults may hold.
const (
	maxKept      = 200      // results
	maxKeptBytes = 32 << 20 // of all of them; the oldest go first
	maxKeptEach  = 4 << 20  // of one; the rest of it is cut off
	keptScheme   = "junction://result/"
)

// keptResults are results that are too long to be shown to the model whole.
type keptResults struct {
	all   []Kept
	bytes int
	next  int
}

// name is the URI of the next result.
func (s *keptResults) name() string { return fmt.Sprintf("%s%d", keptScheme, s.next+1) }

// put adds a result, and returns the URIs of those that had to go for it. One without
// its text had to go before.
func (s *keptResults) put(k Kept) (gone []string) {
	s.next++
	if k.Text == "" {
		return nil
	}
	s.all = append(s.all, k)
	s.bytes += k.size()
	for len(s.all) > maxKept || s.bytes > maxKeptBytes {
		gone = append(gone, s.all[0].URI)
		s.bytes -= s.all[0].size()
		s.all = s.all[1:]
	}
	return gone
}

func (s *keptResults) get(uri string) (Kept, bool) {
	for _, k := range s.all {
		if k.URI == uri {
			return k, true
		}
	}
	return Kept{}, false
}

// A page is a piece of a long text.
type page struct {
	text     string
	from, to int // bytes
	total    int
	atTheEnd bool
}

// pageOf returns at most so many bytes of text from an offset on, or from shortly
// before the next place where find stands.
func pageOf(text string, from, most int, find string) (page, error) {
	from = min(max(from, 0), len(text))
	if find != "" {
		at := indexFold(text[from:], find)
		if at < 0 {
			return page{}, fmt.Errorf("%q does not stand in it from offset %d on (it has %d characters)", find, from, len(text))
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
	return page{text: text[from:to], from: from, to: to, total: len(text), atTheEnd: to == len(text)}, nil
}

// indexFold is strings.Index without regard to the case of ASCII letters.
func indexFold(text, find string) int {
	lower := func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	return strings.Index(strings.Map(lower, text), strings.Map(lower, find))
}

// note says what the page is of, and how to go on.
func (p page) note(uri string) string {
	if p.from == 0 && p.atTheEnd {
		return ""
	}
	text := fmt.Sprintf("[characters %d to %d of %d of %s", p.from, p.to, p.total, uri)
	if !p.atTheEnd {
		text += fmt.Sprintf("; read_resource with uri %q and offset %d has the next page, with \"find\" a place in it", uri, p.to)
	}
	return text + "]"
}

// readable is text as the model may read it: nothing in it that a person would not see.
func readable(text string) string { return guard.Clean(strings.ToValidUTF8(text, "\uFFFD")) }
