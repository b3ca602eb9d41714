package uritemplate

import (
	"net/url"
	"strings"
)

// A Loose is a template that is interpreted as loosely as any server may do. The value of an
// expression may contain any character, even slashes, which RFC 6570 does not allow for {path}.
// Forms of expressions that RFC 6570 does not define are accepted. A Loose finds the server for a
// URI that no [Template] matches. It never changes.
type Loose struct {
	literals  []string // texts around the expressions, in the form of Canonical
	operators []byte   // operators of the expressions; 0 means none
	begins    string   // the first literal, as it was written
	length    int      // total length of the literals
}

// ParseLoose parses a template. ok is false if the template is too large, has no expression, or has
// no scheme before the first expression.
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

// Specific returns the total length of the template's literals. If two templates match, the one
// with the greater length is more specific.
func (t *Loose) Specific() int { return t.length }

// Match reports whether the template may describe a URI. It returns the URI with the scheme and the
// host as the template contains them.
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

// Canonical returns the normal form of a URI (RFC 3986, section 6.2.2): scheme and host are in
// lower case, and only the characters that require it are percent-encoded.
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

// Resolved returns a URI in the form of [Canonical], with . and .. in its path resolved. It is used
// for servers that resolve paths. Many of them decode a path first, so an encoded slash also ends a
// .. in it, as a backslash does on Windows. The braces of a template are preserved.
func Resolved(uri string) string {
	resolved := Canonical(uri)
	if strings.Contains(resolved, "..%") || strings.Contains(resolved, "%2F..") || strings.Contains(resolved, "%5C..") {
		resolved = encodedSlashes.Replace(resolved)
	}
	if u, err := url.Parse(resolved); err == nil && u.Opaque == "" && strings.Contains(u.EscapedPath(), "/.") {
		resolved = u.JoinPath().String()
	}
	return braces.Replace(resolved)
}

var encodedSlashes = strings.NewReplacer("%2F", "/", "%5C", "/")

var braces = strings.NewReplacer("%7B", "{", "%7D", "}", "%7b", "{", "%7d", "}")

const hex = "0123456789ABCDEF"

// canonical returns a part of a URI in which only the characters that require it are
// percent-encoded.
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

// mayStand reports whether a character may occur in a URI without percent-encoding.
func mayStand(c byte) bool {
	return isUnreserved(c) || strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0
}
