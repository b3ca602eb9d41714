package toolsearch

import (
	"bytes"
	"regexp"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// term is a term of a query.
type term struct {
	stem   string
	weight float64
	of     int     // index of the term that this one is a synonym of, or -1
	idf    float64 // set while scoring
}

// quotations are what is in quotes; apostrophes begin and end a quotation only where no letter is on their other side.
var quotations = regexp.MustCompile("\"[^\"]*\"|`[^`]*`|“[^”]*”|„[^“]*“|«[^»]*»|「[^」]*」|\\B'[^']*(?:'\\w[^']*)*'\\B|‘[^’]*(?:’\\pL[^’]*)*’")

// parse reads the terms of a query and their synonyms into s.query. What is
// in quotes, and numbers, are mostly values for arguments: they say less of the tool
// than the words around them.
func (s *scratch) parse(x *Index, text string) {
	clear(s.query)
	s.query = s.query[:0]
	text = plaintext.Beginning(text, maxQueryBytes)
	quoted := quotations.FindAllStringIndex(text, -1)
	start := 0
	for _, q := range quoted {
		s.read(x, text[start:q[0]], 1)
		start = q[1]
	}
	s.read(x, text[start:], 1)
	weight := x.weights.value
	if len(s.query) == 0 { // all of it is in quotes
		weight = 1
	}
	for _, q := range quoted {
		s.read(x, text[q[0]:q[1]], weight)
	}
	for i := range len(s.query) {
		for _, other := range x.synonyms[s.query[i].stem] {
			if len(s.query) < 2*maxQueryTerms && !s.asks(other) {
				s.query = append(s.query, term{stem: other, weight: x.weights.synonym * s.query[i].weight, of: i})
			}
		}
	}
}

// read adds the terms of text that are not there yet.
func (s *scratch) read(x *Index, text string, weight float64) {
	s.split.split(text, func(word []byte, _ bool) bool {
		if len(s.query) >= maxQueryTerms {
			return false
		}
		if stem := x.stems.of(word); stem != "" && !s.asks(stem) {
			w := weight
			if len(bytes.Trim(word, "0123456789")) == 0 {
				w = min(w, x.weights.value)
			}
			s.query = append(s.query, term{stem: stem, weight: w, of: -1})
		}
		return true
	})
}

func (s *scratch) asks(stem string) bool {
	for i := range s.query {
		if s.query[i].stem == stem {
			return true
		}
	}
	return false
}
