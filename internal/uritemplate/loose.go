package uritemplate

import (
	"net/url"
	"strings"
)

// A Loose is a template as any server may understand it: what stands in place of an expression can have every character,
// slashes above all, though RFC 6570 has {path} without them, and servers have forms of expressions that it does not know.
// It says whom to ask for a URI that no [Template] matches. It is never changed.
type Loose struct {
	literals  []string // around the expressions, as Canonical has them
	operators []byte   // of the expressions; 0 for none
	begins    string   // the first literal as it was written
	length    int      // of all literals
}

// ParseLoose reads a template. ok is false for one that is too large, has no expression or no scheme before the first.
func ParseLoose(template string) (t *Loose, ok bool) {
	if len(template) > MaxTemplate {
		return nil, false
	}
	begins, rest, found := strings.Cut(template, "{")
	if scheme, _, hasScheme := strings.Cut(begins, ":"); !found || !hasScheme || scheme == "" {
		return nil, false
	}
	t = &Loose{literals: []string{Canonical(begins)}, begins: begins, length: len(begins)}
	for found {
		body, after, closed := strings.Cut(rest, "}")
		if !closed || body == "" || len(t.operators) == maxVariables {
			return nil, false
		}
		var operator byte
		if strings.IndexByte("?&#./;", body[0]) >= 0 {
			operator = body[0]
		}
		t.operators = append(t.operators, operator)
		var literal string
		literal, rest, found = strings.Cut(after, "{")
		t.literals = append(t.literals, canonical(literal))
		t.length += len(literal)
	}
	return t, true
}

// Specific is how much of a URI the template names: of two that match, the one with more of it means it rather.
func (t *Loose) Specific() int { return t.length }

// Match reports whether the template could mean a URI, and returns it with the scheme and the host as the template writes them.
func (t *Loose) Match(uri string) (as string, ok bool) {
	if len(uri) > MaxURI {
		return "", false
	}
	rest, ok := strings.CutPrefix(Canonical(uri), t.literals[0])
	if !ok {
		return "", false
	}
	for i, operator := range t.operators {
		literal, last := t.literals[i+1], i == len(t.operators)-1
		at := strings.Index(rest, literal)
		if last {
			if at = len(rest) - len(literal); !strings.HasSuffix(rest, literal) {
				at = -1
			}
		}
		if at < 0 || at > 0 && operator != 0 && rest[0] != operator {
			return "", false
		}
		rest = rest[at+len(literal):]
	}
	if n := len(t.begins); len(uri) >= n && uri[:n] != t.begins && strings.EqualFold(uri[:n], t.begins) {
		uri = t.begins + uri[n:]
	}
	return uri, true
}

// Canonical returns a URI in the one form of several that mean the same (RFC 3986, section 6.2.2): the scheme and the host in
// lower case, and percent-encoded what has to be, and nothing that need not.
func Canonical(uri string) string {
	scheme, rest, found := strings.Cut(uri, ":")
	if !found || strings.ContainsAny(scheme, "/?#") {
		return canonical(uri)
	}
	host := ""
	if after, hasHost := strings.CutPrefix(rest, "//"); hasHost {
		end := strings.IndexAny(after, "/?#")
		if end < 0 {
			end = len(after)
		}
		authority := after[:end]
		at := strings.LastIndexByte(authority, '@') + 1
		host, rest = "//"+canonical(authority[:at])+strings.ToLower(canonical(authority[at:])), after[end:]
	}
	return strings.ToLower(scheme) + ":" + host + canonical(rest)
}

// Resolved returns a URI in the form that [Canonical] has, without . and .. in its path: what servers read that resolve it. The
// braces of a template stay.
func Resolved(uri string) string {
	resolved := Canonical(uri)
	if u, err := url.Parse(resolved); err == nil && u.Opaque == "" && strings.Contains(u.EscapedPath(), "/.") {
		resolved = u.JoinPath().String()
	}
	return braces.Replace(resolved)
}

var braces = strings.NewReplacer("%7B", "{", "%7D", "}", "%7b", "{", "%7d", "}")

const hex = "0123456789ABCDEF"

// canonical is a part of a URI with what has to be percent-encoded, and nothing that need not.
func canonical(part string) string {
	plain := true
	for i := 0; i < len(part) && plain; i++ {
		plain = part[i] != '%' && mayStand(part[i])
	}
	if plain {
		return part
	}
	b := make([]byte, 0, len(part)+16)
	for i := 0; i < len(part); i++ {
		c := part[i]
		if c == '%' && i+2 < len(part) {
			high, low := digit(part[i+1]), digit(part[i+2])
			if high >= 0 && low >= 0 {
				i += 2
				if c = byte(high<<4 | low); isUnreserved(c) {
					b = append(b, c)
				} else {
					b = append(b, '%', hex[high], hex[low])
				}
				continue
			}
		}
		if c != '%' && mayStand(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

func digit(c byte) int {
	if 'a' <= c && c <= 'f' {
		c -= 'a' - 'A'
	}
	return strings.IndexByte(hex, c)
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// mayStand reports whether a character stands for itself in a URI.
func mayStand(c byte) bool {
	return isUnreserved(c) || strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0
}
