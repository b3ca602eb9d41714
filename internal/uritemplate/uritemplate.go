package uritemplate

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	syntax "github.com/yosida95/uritemplate/v3"
)

// Limits of templates and URIs.
const (
	MaxTemplate = 2 << 10 // bytes of a template
	MaxURI      = 8 << 10 // bytes of a URI; a longer URI matches no template

	maxVariables = 32  // variables of a template; the cost of a match grows with the square of their number
	maxPrefix    = 256 // characters in all prefix modifiers of a template together
)

// A Template is a template that URIs are matched against. It never changes, so it is safe for
// concurrent use.
type Template struct {
	begins      string // prefix of every URI that the template describes
	parts       int    // approximate size of the pattern
	pattern     *regexp.Regexp
	expressions []expression
}

// An expression is one {…} of a template, with the data that is needed to interpret a match.
type expression struct {
	operator
	variables []variable
	group     int // number of the pattern's group for the first variable
}

type variable struct {
	name    string
	explode bool
	prefix  int // maximum number of characters; 0 means no maximum
}

// An operator describes the notation of an expression's values (RFC 6570, appendix A).
type operator struct {
	first, separator string
	named            bool
	characters       string // characters that are not encoded, for a character class in a pattern
}

const (
	unreserved = `\w.~\-`
	reserved   = unreserved + `:/?#\[\]@!$&'()*+;=` // without the comma, which separates values
)

func operatorOf(c byte) (operator, bool) {
	switch c {
	case '+':
		return operator{"", ",", false, reserved}, true
	case '#':
		return operator{"#", ",", false, reserved}, true
	case '.':
		return operator{".", ".", false, unreserved}, true
	case '/':
		return operator{"/", "/", false, unreserved}, true
	case ';':
		return operator{";", ";", true, unreserved}, true
	case '?':
		return operator{"?", "&", true, unreserved}, true
	case '&':
		return operator{"&", "&", true, unreserved}, true
	}
	return operator{"", ",", false, unreserved}, false
}

// Parse parses a template. The error describes the fault in it, or reports that it is too large.
func Parse(template string) (*Template, error) {
	if len(template) > MaxTemplate {
		return nil, fmt.Errorf("expected at most %d bytes, got %d", MaxTemplate, len(template))
	}
	if _, err := syntax.New(template); err != nil {
		return nil, err
	}
	t := &Template{}
	pattern := []byte(`\A`)
	t.begins, _, _ = strings.Cut(template, "{")
	group, prefixes := 1, 0
	for template != "" {
		literal, rest, found := strings.Cut(template, "{")
		pattern = append(pattern, regexp.QuoteMeta(literal)...)
		if !found {
			break
		}
		body, after, _ := strings.Cut(rest, "}")
		e := parseExpression(body)
		e.group = group
		group += 2 * len(e.variables)
		for _, v := range e.variables {
			prefixes += v.prefix
		}
		t.expressions = append(t.expressions, e)
		pattern = e.appendPattern(pattern)
		template = after
	}
	switch {
	case group > 2*maxVariables+1:
		return nil, fmt.Errorf("expected at most %d variables, got %d", maxVariables, group/2)
	case prefixes > maxPrefix:
		return nil, fmt.Errorf("expected prefixes of at most %d characters in all, got %d", maxPrefix, prefixes)
	}
	t.parts = 1 + group/2 + prefixes
	var err error
	if t.pattern, err = regexp.Compile(string(append(pattern, `\z`...))); err != nil {
		return nil, fmt.Errorf("too complex to be matched: %w", err)
	}
	return t, nil
}

// parseExpression parses the text between two braces, which must be valid.
func parseExpression(body string) expression {
	var e expression
	var explicit bool
	if e.operator, explicit = operatorOf(body[0]); explicit {
		body = body[1:]
	}
	for spec := range strings.SplitSeq(body, ",") {
		var v variable
		v.name, v.explode = strings.CutSuffix(spec, "*")
		if name, length, found := strings.Cut(v.name, ":"); found {
			v.name = name
			v.prefix, _ = strconv.Atoi(length)
		}
		e.variables = append(e.variables, v)
	}
	return e
}

// appendPattern appends a pattern for the expression. The pattern has two groups for each variable:
// its prefix and its values. If the URI does not contain the variables' names, a variable can be
// present only if all variables before it are. If it contains the names, any variable can be
// absent.
func (e *expression) appendPattern(p []byte) []byte {
	if e.named {
		for _, v := range e.variables {
			p = append(p, `(?:([`+regexp.QuoteMeta(e.first+e.separator)+`])`...)
			p = append(e.appendNamed(p, v), `)?`...)
		}
		return p
	}
	before := e.first
	for i, v := range e.variables {
		p = append(p, `(?:(`+regexp.QuoteMeta(before)+`)(`...)
		p = append(e.appendValues(p, v, i == len(e.variables)-1), ')')
		before = e.separator
	}
	for range e.variables {
		p = append(p, `)?`...)
	}
	return p
}

func (e *expression) appendNamed(p []byte, v variable) []byte {
	name := regexp.QuoteMeta(v.name)
	if !v.explode {
		p = append(p, name+`(=`...)
		return append(e.appendValues(p, v, true), '|', ')')
	}
	pair := func(p []byte) []byte {
		p = append(p, name+`(?:=`...)
		return append(e.appendValue(p, v), `)?`...)
	}
	p = append(pair(append(p, '(')), `(?:`+regexp.QuoteMeta(e.separator)...)
	return append(pair(p), `)*)`...)
}

// appendValues appends a pattern for one value, or for a list of values if its separators are
// unambiguous.
func (e *expression) appendValues(p []byte, v variable, last bool) []byte {
	p = e.appendValue(p, v)
	separator := ","
	if v.explode {
		separator = e.separator
	}
	if v.prefix > 0 || separator == e.separator && !v.explode && !last {
		return p
	}
	p = append(p, `(?:`+regexp.QuoteMeta(separator)...)
	return append(e.appendValue(p, v), `)*`...)
}

func (e *expression) appendValue(p []byte, v variable) []byte {
	p = append(p, `(?:[`+e.characters+`]|%[[:xdigit:]]{2})`...)
	if v.prefix > 0 {
		return append(p, `{0,`+strconv.Itoa(v.prefix)+`}`...)
	}
	return append(p, '*')
}

// Cost returns the maximum work of [Template.Match] for a URI, in units of about 200 ns: the number
// of bytes of the URI, multiplied by the number of parts of the template. It returns 0 if the
// template cannot match the URI.
func (t *Template) Cost(uri string) int {
	if len(uri) > MaxURI || !strings.HasPrefix(uri, t.begins) {
		return 0
	}
	return (len(uri) + 1) * t.parts
}

// Match returns the percent-decoded values of the variables in the URI, and whether the template
// describes it. The values of a list are joined with commas. If the URI contains only a prefix of a
// variable, the variable is called name:length in the result.
func (t *Template) Match(uri string) (variables map[string]string, ok bool) {
	if t.Cost(uri) == 0 {
		return nil, false
	}
	groups := t.pattern.FindStringSubmatchIndex(uri)
	if groups == nil {
		return nil, false
	}
	variables = make(map[string]string)
	for i := range t.expressions {
		if !t.expressions[i].read(variables, uri, groups) {
			return nil, false
		}
	}
	return variables, true
}

// read adds the expression's variables to variables. It reports false if their values contradict
// previous ones or have the wrong separators.
func (e *expression) read(variables map[string]string, uri string, groups []int) bool {
	before := e.first
	for i, v := range e.variables {
		at := 2 * (e.group + 2*i)
		if groups[at] < 0 {
			continue
		}
		if uri[groups[at]:groups[at+1]] != before {
			return false
		}
		before = e.separator
		value, ok := e.value(v, uri[groups[at+2]:groups[at+3]])
		if !ok {
			return false
		}
		name := v.name
		if v.prefix > 0 {
			name += ":" + strconv.Itoa(v.prefix)
		}
		if other, twice := variables[name]; twice && other != value {
			return false
		}
		variables[name] = value
	}
	return true
}

// value returns the value of one variable. raw is its text in the URI.
func (e *expression) value(v variable, raw string) (string, bool) {
	if e.named && !v.explode {
		raw = strings.TrimPrefix(raw, "=")
	}
	if v.explode {
		values := strings.Split(raw, e.separator)
		for i := range values {
			if e.named {
				values[i] = strings.TrimPrefix(strings.TrimPrefix(values[i], v.name), "=")
			}
		}
		raw = strings.Join(values, ",")
	}
	value, err := url.PathUnescape(raw)
	return value, err == nil
}
