package toolsearch

import (
	"math"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
)

// field is a part of a tool's text that has a weight of its own.
type field uint8

const (
	nameField   field = iota // name and title
	serverField              // name of the server
	describeField
	paramField // names and descriptions of the arguments
	usageField // remembered queries
	fields
)

const (
	maxFieldBytes  = 16 << 10 // bytes of one text of a tool that are indexed
	maxFieldWords  = 1_000    // words of one field of a tool that are indexed
	maxSchemaBytes = 1 << 20  // bytes of a schema; a longer one is not indexed
	maxSchemaDepth = 8        // schemas inside each other that are indexed
)

// lengths is how many words each field has.
type lengths [fields]uint32

// read is how many words the tool itself has, without what is remembered for it.
func (l *lengths) read() (words int) {
	for f, n := range l {
		if field(f) != usageField {
			words += int(n)
		}
	}
	return words
}

// counts is how often a term is in each field.
type counts [fields]uint8

// document is what the texts of one tool come to.
type document struct {
	terms   []termCounts // in no order, each term once
	lengths lengths
	named   int // different words in the name
}

// termCounts is a term of a document.
type termCounts struct {
	stem string
	counts
}

// reader takes the texts of tools apart. It is used by one goroutine.
type reader struct {
	stems *stems
	split splitter
	at    map[string]int // index in doc.terms, by stem
	doc   document
}

func newReader(s *stems) *reader { return &reader{stems: s, at: make(map[string]int)} }

// read returns the document of t, for which nothing is remembered yet.
func (r *reader) read(t Tool) document {
	clear(r.at)
	r.doc = document{terms: r.doc.terms[:0]}
	r.text(nameField, t.Name)
	if t.Title != t.Name {
		r.text(nameField, t.Title)
	}
	r.text(serverField, t.Server)
	r.text(describeField, t.Description)
	if len(t.Schema) <= maxSchemaBytes && jsonrpc.Valid(t.Schema, jsonrpc.Limits{}) == nil {
		r.schema(t.Schema, 0)
	}
	return r.copied()
}

// remember returns d with these queries in place of those that were remembered before.
func (r *reader) remember(d *document, queries []string) document {
	clear(r.at)
	r.doc = document{terms: r.doc.terms[:0], lengths: d.lengths, named: d.named}
	r.doc.lengths[usageField] = 0
	for _, t := range d.terms {
		if t.counts[usageField] = 0; t.counts != (counts{}) {
			*r.counts(t.stem) = t.counts
		}
	}
	for _, q := range queries {
		r.text(usageField, q)
	}
	return r.copied()
}

// copied returns the document at hand; r uses its memory again for the next one.
func (r *reader) copied() document {
	d := r.doc
	d.terms = append(make([]termCounts, 0, len(d.terms)), d.terms...)
	return d
}

// text adds the words of a text to field f.
func (r *reader) text(f field, text string) {
	if r.full(f) {
		return
	}
	r.split.split(plaintext.Beginning(text, maxFieldBytes), func(word []byte, whole bool) bool {
		stem := r.stems.of(word)
		if stem == "" {
			return true
		}
		c := r.counts(stem)
		if !whole {
			r.doc.lengths[f]++
			if f == nameField && c[f] == 0 {
				r.doc.named++
			}
		}
		if c[f] < math.MaxUint8 {
			c[f]++
		}
		return !r.full(f)
	})
}

// counts returns the counts of a term, to be changed before the next call.
func (r *reader) counts(stem string) *counts {
	i, ok := r.at[stem]
	if !ok {
		i = len(r.doc.terms)
		r.at[stem] = i
		r.doc.terms = append(r.doc.terms, termCounts{stem: stem})
	}
	return &r.doc.terms[i].counts
}

func (r *reader) full(f field) bool { return r.doc.lengths[f] >= maxFieldWords }

// schema adds the arguments that a valid schema describes, or a list of schemas, and those inside them.
func (r *reader) schema(s []byte, depth int) {
	if depth >= maxSchemaDepth || r.full(paramField) {
		return
	}
	jsonrpc.EachElement(s, func(value []byte) bool {
		if isObject(value) { // no lists in lists
			r.schema(value, depth)
		}
		return !r.full(paramField)
	})
	jsonrpc.EachMember(s, func(name, value []byte) bool {
		switch keyword := string(name[1 : len(name)-1]); {
		case keyword == "not": // it describes no argument
		case schema.PlaceOf(keyword) == schema.Named:
			jsonrpc.EachMember(value, func(name, property []byte) bool {
				for _, quoted := range [][]byte{name, jsonrpc.Get(property, "description")} {
					if text, ok := jsonrpc.Unquote(quoted); ok {
						r.text(paramField, text)
					}
				}
				r.schema(property, depth+1)
				return !r.full(paramField)
			})
		case schema.PlaceOf(keyword) != schema.Nowhere:
			r.schema(value, depth+1)
		}
		return !r.full(paramField)
	})
}

func isObject(s []byte) bool {
	i := jsonrpc.SkipSpace(s, 0)
	return i < len(s) && s[i] == '{'
}
