package offline

import (
	"regexp"
	"strings"
	"unicode"
)

// kind says what a piece of a step is.
type kind int

const (
	word   kind = iota
	pair        // key=value or key:=JSON
	quoted      // "some text"
	number
)

// piece is a word of a step, or what belongs together like one.
type piece struct {
	kind      kind
	key, text string // text is without quotes and the punctuation around it
	start     int    // where it is in the step
}

var (
	// stepEnd has a group for what ends a step, outside of quoted texts.
	stepEnd = regexp.MustCompile(`(?i)"(?:[^"\\]|\\.)*"|([;\n]|(?:^|\s)then(?:[\s,]|$))`)
	before  = regexp.MustCompile(`(?i)^\s*(?:(?:and|first|finally|please|then)(?:[\s,]+|$))*`)
	behind  = regexp.MustCompile(`(?i)(?:[\s,]+and|[\s,])*$`)
	// piecePattern has a key, the text in quotes, and the text without.
	piecePattern  = regexp.MustCompile(`(?:([A-Za-z_][\w.-]*):?=)?(?:"((?:[^"\\]|\\.)*)"|(\S+))`)
	numberPattern = regexp.MustCompile(`^(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\.*$`)
	escapes       = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n")
)

// steps takes a question apart, at "then", semicolons and line ends.
func steps(question string) []string {
	var all []string
	from := 0
	add := func(to int) {
		step := question[from:to]
		step = step[len(before.FindString(step)):]
		if step = step[:behind.FindStringIndex(step)[0]]; step != "" {
			all = append(all, step)
		}
	}
	for _, m := range stepEnd.FindAllStringSubmatchIndex(question, -1) {
		if m[2] >= 0 {
			add(m[2])
			from = m[3]
		}
	}
	add(len(question))
	return all
}

// piecesOf takes a step apart.
func piecesOf(step string) []piece {
	var all []piece
	for _, m := range piecePattern.FindAllStringSubmatchIndex(step, -1) {
		p := piece{start: m[0]}
		if m[4] >= 0 {
			p.kind, p.text = quoted, escapes.Replace(step[m[4]:m[5]])
		} else if p.text = strings.Trim(step[m[6]:m[7]], ",:!?()"); numberPattern.MatchString(p.text) {
			p.kind, p.text = number, strings.TrimRight(p.text, ".")
		}
		if m[2] >= 0 {
			p.kind, p.key = pair, step[m[2]:m[3]]
		}
		all = append(all, p)
	}
	return all
}

var (
	humps  = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)
	ending = regexp.MustCompile(`^(.{3,}?)(?:ing|ed|es|s|e)$`)
)

// alike are words of tools' names, and those that questions have for them, as [split] has them.
var alike = map[string]string{"sum": "add", "add": "sum"}

// split takes a text or an identifier apart into words in lower case, without their
// endings: adds and adding are add.
func split(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(humps.ReplaceAllString(s, "$1 $2")), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		words[i] = ending.ReplaceAllString(w, "$1")
	}
	return words
}
