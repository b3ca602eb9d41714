package toolsearch

import (
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// term is a term of a query.
type term struct {
	stem   string
	weight float64
	of     int     // index of the term that this one is a synonym of, or -1
	idf    float64 // set while scoring
}

// parse reads the terms of a query and their synonyms into s.query. What is
// in quotes, and numbers, are mostly values for arguments: they say less of the tool
// than the words around them.
func (s *scratch) parse(x *Index, text string) {
	clear(s.query)
	s.query = s.query[:0]
	text = plaintext.Beginning(text, maxQueryBytes)
	s.quoted = appendQuoted(s.quoted[:0], text)
	start := 0
	for _, q := range s.quoted {
		s.read(x, text[start:q.start], 1)
		start = q.end
	}
	s.read(x, text[start:], 1)
	weight := x.weights.value
	if len(s.query) == 0 { // all of it is in quotes
		weight = 1
	}
	for _, q := range s.quoted {
		s.read(x, text[q.start:q.end], weight)
	}
	s.addSynonyms(x)
}

// read adds the terms of text that are not there yet.
func (s *scratch) read(x *Index, text string, weight float64) {
	s.split.split(text, func(word []byte, _ bool) bool {
		if len(s.query) >= maxQueryTerms {
			return false
		}
		if stem := x.stems.of(word); stem != "" && !s.asks(stem) {
			w := weight
			if isNumber(word) {
				w = min(w, x.weights.value)
			}
			s.query = append(s.query, term{stem: stem, weight: w, of: -1})
		}
		return true
	})
}

func (s *scratch) addSynonyms(x *Index) {
	for i := range len(s.query) {
		for _, other := range x.synonyms[s.query[i].stem] {
			if len(s.query) < 2*maxQueryTerms && !s.asks(other) {
				s.query = append(s.query, term{stem: other, weight: x.weights.synonym * s.query[i].weight, of: i})
			}
		}
	}
}

func (s *scratch) asks(stem string) bool {
	for i := range s.query {
		if s.query[i].stem == stem {
			return true
		}
	}
	return false
}

func isNumber(word []byte) bool {
	for _, c := range word {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// span is a part of a text.
type span struct{ start, end int }

// appendQuoted appends what is in quotes, from the first to the last of each pair.
func appendQuoted(dst []span, text string) []span {
	unpaired := "" // what does not end before the text does is not looked for again
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		mark := closing(r)
		if mark == "" || mark == "'" && !outside(text[:i]) || strings.Contains(unpaired, mark) {
			i += size
			continue
		}
		end := quoteEnd(text, i+size, mark)
		if end < 0 {
			unpaired += mark
			i += size
			continue
		}
		dst = append(dst, span{i, end})
		i = end
	}
	return dst
}

// The marks that begin quotations, and those that end them.
const opening, ending = "\"'`“‘„«「", "\"'`”’“»」"

// closing is the mark that ends what r begins, "" if r begins no quotation.
func closing(r rune) string {
	i := strings.IndexRune(opening, r)
	if i < 0 {
		return ""
	}
	return string([]rune(ending)[utf8.RuneCountInString(opening[:i])])
}

// outside reports whether an apostrophe behind text may begin a quotation: it does not follow a word.
func outside(text string) bool {
	before, _ := utf8.DecodeLastRuneInString(text)
	return classOf(before) == other
}

// quoteEnd is where the quotation that has begun before text[i] ends, or -1.
// An apostrophe in front of a letter does not end one.
func quoteEnd(text string, i int, mark string) int {
	for {
		n := strings.Index(text[i:], mark)
		if n < 0 {
			return -1
		}
		i += n + len(mark)
		after, _ := utf8.DecodeRuneInString(text[i:])
		if mark != "'" && mark != "’" || classOf(after) == other {
			return i
		}
	}
}
