package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Limits of the number of instructions of a compiled pattern, and of all patterns of a schema
// together. The time for a match is proportional to the number of instructions and to the length of
// the text.
const (
	maxPatternSize  = 2000
	maxPatternsSize = 1 << 17
)

// pattern is a regular expression of a schema.
type pattern struct {
	text   string
	regexp *regexp.Regexp
	size   int // number of instructions
}

// unicodeEscape matches an escaped code point of ECMA-262, for which RE2 has the form \x{...}.
var unicodeEscape = regexp.MustCompile(`\\u(?:([0-9a-fA-F]{4})|\{([0-9a-fA-F]+)\})`)

func compilePattern(text string) (*pattern, error) {
	translated := text
	if strings.Contains(text, `\u`) {
		translated = unicodeEscape.ReplaceAllString(text, `\x{$1$2}`)
	}
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxPatternSize {
		return nil, fmt.Errorf("pattern is larger than %d instructions", maxPatternSize)
	}
	re, err := regexp.Compile(translated)
	if err != nil {
		return nil, err
	}
	return &pattern{text, re, len(program.Inst)}, nil
}

// workFor returns the cost of matching a text of n bytes, in steps of a validation.
func (p *pattern) workFor(n int) int { return n * p.size >> 8 }
