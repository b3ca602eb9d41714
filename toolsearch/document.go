package toolsearch

import (
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/kljensen/snowball/english"
)

// field is a part of a tool's text that has its own weight.
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
	maxFieldBytes  = 16 << 10 // indexed bytes of one text of a tool
	maxFieldWords  = 1_000    // indexed words of one field of a tool
	maxSchemaBytes = 1 << 20  // bytes of a schema; a longer one is not indexed
	maxSchemaDepth = 8        // indexed depth of nested schemas
)

// lengths holds the number of words in each field.
type lengths [fields]uint32

// read returns the number of words in the tool's own texts, without remembered queries.
func (l *lengths) read() (words int) {
	for f, n := range l {
		if field(f) != usageField {
			words += int(n)
		}
	}
	return words
}

// counts holds the occurrences of a term in each field.
type counts [fields]uint8

// document holds the terms of one tool.
type document struct {
	terms   []termCounts // words in the name, without repetitions
	lengths lengths
	named   int // number of different words in the name
}

// termCounts is a term of a document.
type termCounts struct {
	stem string
	counts
}

// reader splits the texts of tools into terms. Only one goroutine may use it.
type reader struct {
	stems *stems
	split splitter
	at    map[string]int // index in doc.terms, by stem
	doc   document
}

func newReader(s *stems) *reader { return &reader{stems: s, at: make(map[string]int)} }

// read returns the document of t, without remembered queries.
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

// remember returns a copy of d with queries as its remembered queries.
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

// copied returns a copy of the current document; r reuses its memory for the next one.
func (r *reader) copied() document {
	d := r.doc
	d.terms = append(make([]termCounts, 0, len(d.terms)), d.terms...)
	return d
}

// text adds the words of text to field f.
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

// counts returns the counts of a term, which it adds to the document if needed. The pointer is
// valid until the next call.
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

// schema adds the arguments of a valid schema, or of a list of schemas, including nested schemas.
func (r *reader) schema(s []byte, depth int) {
	if depth >= maxSchemaDepth || r.full(paramField) {
		return
	}
	jsonrpc.EachElement(s, func(value []byte) bool {
		if isObject(value) { // nested lists are ignored
			r.schema(value, depth)
		}
		return !r.full(paramField)
	})
	jsonrpc.EachMember(s, func(name, value []byte) bool {
		switch keyword := string(name[1 : len(name)-1]); {
		case keyword == "not": // does not describe arguments
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

// maxWord is the maximum number of bytes of an indexed word; a longer one is a key or a hash.
const maxWord = 64

// splitter splits a text into words. Words are in lower case and not stemmed. The zero value is
// ready to use. It reuses its buffers and is not safe for concurrent use.
type splitter struct {
	word []byte // the current run of letters and digits, in lower case
	cuts []int  // ends of parts, as offsets in word
}

// class is the class of a rune for the splitter.
type class uint8

const (
	other class = iota // ends a word
	lower
	upper
	digit
	ideograph // a separate word
	joining   // part of the word, without a class: a combining mark
)

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		switch {
		case 'a' <= r && r <= 'z':
			return lower
		case 'A' <= r && r <= 'Z':
			return upper
		case '0' <= r && r <= '9':
			return digit
		}
		return other
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return ideograph
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r):
		return lower
	case unicode.IsDigit(r):
		return digit
	case unicode.IsMark(r):
		return joining
	}
	return other
}

// split calls f with each word of text until f returns false. For an identifier in camelCase or
// with digits, it calls f with each part and then with the whole identifier, and with whole set.
// Both are needed, as GitHub is one word and readFile is two. The slice word is valid only during
// the call.
func (s *splitter) split(text string, f func(word []byte, whole bool) bool) {
	s.reset()
	last := other
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
			r = narrow(r)
		}
		c := classOf(r)
		switch c {
		case other, ideograph:
			if !s.flush(f) {
				return
			}
			if c == ideograph && !f([]byte(text[i:i+size]), false) {
				return
			}
		case joining:
			s.add(r)
		default:
			s.boundary(last, c, text[i+size:])
			s.add(r)
		}
		if c != joining {
			last = c
		}
		i += size
	}
	s.flush(f)
}

// boundary adds a cut if a new part begins between a rune of class last and one of class c. The
// text after the second rune is rest.
func (s *splitter) boundary(last, c class, rest string) {
	if len(s.word) == 0 {
		return
	}
	cut := false
	switch {
	case (last == digit) != (c == digit):
		cut = true
	case last == lower && c == upper:
		cut = true
	case last == upper && c == upper:
		// The last capital letter of HTTPServer begins a part; the last one of APIs does not.
		next, size := utf8.DecodeRuneInString(rest)
		cut = classOf(next) == lower && (next != 's' || startsWithLetter(rest[size:]))
	}
	if cut {
		s.cuts = append(s.cuts, len(s.word))
	}
}

// narrow returns the ASCII character for its full-width form, which input methods for Chinese,
// Japanese and Korean produce. It returns any other character unchanged.
func narrow(r rune) rune {
	if '！' <= r && r <= '～' {
		return r - '！' + '!'
	}
	return r
}

func startsWithLetter(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return classOf(r) == lower
}

func (s *splitter) add(r rune) {
	if len(s.word) >= maxWord {
		return
	}
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	} else if r >= utf8.RuneSelf {
		r = unicode.ToLower(r)
	}
	s.word = utf8.AppendRune(s.word, r)
}

// flush calls f with the parts of the current word, and then with the word.
func (s *splitter) flush(f func(word []byte, whole bool) bool) bool {
	defer s.reset()
	if len(s.word) == 0 {
		return true
	}
	if len(s.cuts) == 0 {
		return f(s.word, false)
	}
	start := 0
	for _, end := range append(s.cuts, len(s.word)) {
		if end > start && !f(s.word[start:end], false) {
			return false
		}
		start = end
	}
	return f(s.word, true)
}

func (s *splitter) reset() { s.word, s.cuts = s.word[:0], s.cuts[:0] }

// maxStems is the maximum number of cached stems. At the limit the cache is emptied.
const maxStems = 32_768

// stems is a cache of stems. Stemming takes a microsecond, and a catalogue of tools repeats the
// same few thousand words. The cache is safe for concurrent use.
type stems struct {
	mu    sync.RWMutex
	known map[string]string
}

// of returns the stem of word, or "" for a stop word.
func (s *stems) of(word []byte) string {
	s.mu.RLock()
	stem, ok := s.known[string(word)]
	s.mu.RUnlock()
	if ok {
		return stem
	}
	w := string(word)
	if !isStopWord(w) {
		stem = stemOf(w)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxStems {
		s.known = make(map[string]string)
	}
	s.known[w] = stem
	return stem
}

// stemOf returns the stem of a lower-case word. A word with letters other than a to z is its own
// stem.
func stemOf(word string) string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	return english.Stem(word, true)
}

// isStopWord reports whether a word is too common in English to be useful. Words for the purpose of
// a tool, such as "get", are not stop words.
func isStopWord(word string) bool {
	switch word {
	case "a", "an", "the", "this", "that", "these", "those", "such", "some", "any",
		"and", "or", "but", "if", "then", "than", "so", "as", "also", "too", "just", "very",
		"of", "in", "on", "at", "by", "for", "with", "from", "to", "into", "onto", "about", "via",
		"is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "done",
		"has", "have", "had", "having", "can", "could", "will", "would", "should", "may", "might", "must", "shall",
		"i", "me", "my", "mine", "we", "us", "our", "you", "your", "yours", "it", "its",
		"he", "him", "his", "she", "her", "they", "them", "their",
		"what", "which", "who", "whom", "whose", "when", "where", "why", "how",
		"there", "here", "please", "s", "t", "m", "d", "re", "ve", "ll":
		return true
	}
	return false
}

// synonymGroups lists words that users and tools use for the same thing, one group in each line.
// The groups contain general English and general computing words, but no names of products.
const synonymGroups = `
get fetch retrieve read obtain
show view display
list enumerate
search find query lookup locate discover
create add make new generate
write save store
delete remove erase clear drop
update edit modify change alter
rename move relocate
copy duplicate clone
send post publish submit
run execute launch start invoke
stop cancel terminate halt kill
open load
close shut
convert transform translate
compare diff difference
merge combine join
download pull
upload push
calculate compute math
analyze inspect examine analysis
check verify validate
schedule plan arrange
buy purchase shop order
sell sale
cheap discount deal bargain
price cost
explain describe
summarize summary condense
recommend suggest recommendation suggestion
learn study education teach
draw sketch paint
image picture photo photograph
video movie film clip
music song audio sound
file document
folder directory
page website site webpage
web internet online
link url address
text content
message chat conversation
mail email
note memo
task todo
issue bug ticket problem
repository repo
branch fork
user account person member people
team group
company business firm organization
job career employment
money finance currency
stock share equity
trip travel journey vacation
hotel accommodation lodging
flight airline plane
restaurant dining eat
food meal recipe cook
health medical medicine doctor
house home property estate
car vehicle automobile
place location spot
map geography
weather forecast climate temperature
date day calendar
event appointment meeting
news headline article
book novel
paper research academic scholarly
game play
law legal lawyer
number count amount
size length
statistics metric stats
chart graph plot diagram
table row record
database db sql
error exception failure
log history
setting configuration config preference option
password secret credential key
metadata info information detail
tag label
comment reply remark
`

// synonyms maps each stem to the other stems in its groups.
type synonyms map[string][]string

func newSynonyms() synonyms {
	out := make(synonyms)
	for line := range strings.Lines(synonymGroups) {
		words := strings.Fields(line)
		for i := range words {
			words[i] = stemOf(words[i])
		}
		for _, w := range words {
			for _, o := range words {
				if o != w {
					out[w] = append(out[w], o)
				}
			}
		}
	}
	return out
}
