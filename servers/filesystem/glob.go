package filesystem

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// compileGlob converts a pattern for names to a function that tests slash-separated paths. * and ?
// match within a folder, and ** matches across folders. [a-z] and [!a-z] are classes, {a,b} are
// alternatives. A pattern without a slash is matched against the base name.
func compileGlob(pattern string) (func(rel string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	expression, err := globExpression(pattern)
	if err != nil {
		return nil, fmt.Errorf("name %q: %w", pattern, err)
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("name %q: is not a pattern such as *.go or docs/**/*.md", pattern)
	}
	if strings.Contains(pattern, "/") {
		return re.MatchString, nil
	}
	return func(rel string) bool { return re.MatchString(path.Base(rel)) }, nil
}

// globExpression converts the pattern to a regular expression.
func globExpression(pattern string) (string, error) {
	var b strings.Builder
	b.WriteString(`^(?s:`)
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			i += globStar(&b, pattern[i:])
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			n, err := globClass(&b, pattern[i:])
			if err != nil {
				return "", err
			}
			i += n
		case '{':
			depth++
			b.WriteString(`(?:`)
		case '}', ',':
			switch {
			case depth == 0:
				b.WriteString(regexp.QuoteMeta(string(c)))
			case c == ',':
				b.WriteByte('|')
			default:
				depth--
				b.WriteByte(')')
			}
		default:
			b.WriteString(quoteByte(c))
		}
	}
	if depth > 0 {
		return "", fmt.Errorf("a { has no }")
	}
	b.WriteString(`)$`)
	return b.String(), nil
}

func quoteByte(c byte) string {
	if c < 0x80 {
		return regexp.QuoteMeta(string(rune(c)))
	}
	return string([]byte{c}) // one byte of a multi-byte character
}

// globStar writes the expression for * or **, and returns the number of further bytes that it
// consumed.
func globStar(b *strings.Builder, pattern string) int {
	switch {
	case strings.HasPrefix(pattern, "**/"):
		b.WriteString(`(?:[^/]*/)*`)
		return 2
	case strings.HasPrefix(pattern, "**"):
		b.WriteString(`.*`)
		return 1
	}
	b.WriteString(`[^/]*`)
	return 0
}

// globClass writes the expression for a class, and returns the number of further bytes that it
// consumed.
func globClass(b *strings.Builder, pattern string) (int, error) {
	end := strings.IndexByte(pattern[1:], ']')
	if end < 1 {
		return 0, fmt.Errorf("a [ has no ]")
	}
	members := pattern[1 : 1+end]
	b.WriteByte('[')
	if members[0] == '!' || members[0] == '^' {
		b.WriteByte('^')
		members = members[1:]
	}
	if members == "" {
		return 0, fmt.Errorf("a class in [ ] is empty")
	}
	b.WriteString(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(members))
	b.WriteByte(']')
	return end + 1, nil
}
