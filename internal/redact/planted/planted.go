// Package planted makes fake secrets of each known kind, and puts them in each place of JSON in
// which they must be hidden. Tests of Junction's output use them.
package planted

import (
	"encoding/json"
	"regexp/syntax"
	"strings"

	"github.com/junction-mcp/junction/internal/redact"
)

// A Secret is a fake secret that a detector finds.
type Secret struct {
	Kind string
	Text string // the secret as it occurs in a text
	Core string // the part that must not be visible
	Name string // name of a member with the value Core; empty if the name does not matter
}

// value is a random value. It is split so that scanners of repositories do not report it.
const value = "q7Zp4LmX" + "2vTk9RbW" + "8sNd"

// Secrets returns one secret for each kind of token, for each other detector, and for each
// sensitive name.
func Secrets() []Secret {
	all := []Secret{
		{Kind: "private key", Text: "-----BEGIN RSA PRIVATE" + " KEY-----\n" + value + "\n-----END RSA PRIVATE" + " KEY-----", Core: value},
		{Kind: "key of PGP", Text: "-----BEGIN PGP PRIVATE" + " KEY BLOCK-----\n" + value + "\n-----END PGP PRIVATE" + " KEY BLOCK-----", Core: value},
		{Kind: "authorization", Text: "Bearer " + value, Core: value},
		{Kind: "password in a URL", Text: "postgres://ada:" + value + "@db/x", Core: value},
		{Kind: "name otp", Text: "otp=" + value, Core: value, Name: "otp"},
		{Kind: "assigned", Text: "access_token: " + value, Core: value},
	}
	for _, t := range redact.Tokens() {
		text := Token(t)
		all = append(all, Secret{Kind: t.Kind, Text: text, Core: text})
	}
	for _, name := range redact.Endings() {
		all = append(all, Secret{Kind: "name " + name, Text: name + "=" + value, Core: value, Name: name},
			Secret{Kind: "name X-My-" + name, Text: "X-My-" + name + ": " + value, Core: value, Name: "X-My-" + strings.ToUpper(name)})
	}
	return all
}

// A Form is a place in JSON at which a secret can occur.
type Form struct {
	Name string
	// Object returns an object with the secret in this place, or "" if the secret cannot occur
	// there.
	Object func(s Secret) string
	// Decoded is set if the secret is visible only after the text was decoded.
	Decoded bool
}

// Forms returns all places in JSON.
func Forms() []Form {
	return []Form{
		{Name: "value", Object: func(s Secret) string { return object("note", s.Text) }},
		{Name: "in a text", Object: func(s Secret) string { return object("note", "see "+s.Text+" there") }},
		{Name: "in brackets", Object: func(s Secret) string { return object("note", "see ("+s.Text+")") }},
		{Name: "element", Object: func(s Secret) string { return object("list", []any{"a", []string{s.Text}}) }},
		{Name: "name", Object: func(s Secret) string { return object(s.Text, 1) }},
		{Name: "JSON in a string", Object: func(s Secret) string { return object("body", object("note", s.Text)) }},
		{Name: "JSON in JSON in a string", Object: func(s Secret) string {
			return object("body", object("b", object("list", []string{"x", s.Text})))
		}},
		{Name: "line of JSON in a string", Object: func(s Secret) string { return object("body", object("note", "here:\n"+s.Text)) }},
		{Name: "line of JSON in a text in a string", Object: func(s Secret) string {
			return object("body", object("b", "it said "+object("note", "here:\r\n"+s.Text+"\n")))
		}},
		{Name: "URL", Object: func(s Secret) string { return url(s, "https://example.com/a?access_token="+s.Core) }},
		{Name: "user of a URL", Object: func(s Secret) string { return url(s, "https://me:"+s.Core+"@example.com/") }},
		{Name: "header", Object: func(s Secret) string {
			return object("headers", map[string]string{"Authorization": "Bearer " + s.Core})
		}},
		{Name: "cookies", Object: func(s Secret) string { return object("Set-Cookie", []string{"a=b", "sid=" + s.Core}) }},
		{Name: "member", Object: member},
		{Name: "list by name", Object: list},
		{Name: "member in a string", Object: func(s Secret) string { return within("%", member(s)) }},
		{Name: "list by name in a string", Object: func(s Secret) string { return within("%", list(s)) }},
		{Name: "member in a string in a string", Object: func(s Secret) string { return within("%", within("%", member(s))) }},
		{Name: "member in a line", Object: func(s Secret) string { return within("two rows:\n%\n%\n", member(s)) }},
		{Name: "base64", Object: func(s Secret) string { return object("blob", []byte("see "+s.Text)) }, Decoded: true},
	}
}

// object returns an object with one member.
func object(name string, value any) string {
	text, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		panic(err) // cannot happen: all values can be encoded
	}
	return string(text)
}

// member returns an object with a member whose name makes its value a secret. It returns "" if s
// has no such name.
func member(s Secret) string {
	if s.Name == "" {
		return ""
	}
	return object(s.Name, s.Core)
}

func list(s Secret) string {
	if s.Name == "" {
		return ""
	}
	return object(s.Name, []string{"x", s.Core})
}

// url returns an object with a URL. It returns "" if the secret cannot be a part of a URL.
func url(s Secret, text string) string {
	if strings.ContainsAny(s.Core, "/:") {
		return ""
	}
	return object("url", text)
}

// within returns an object with a text in which inner replaces each %. It returns "" if inner is
// empty.
func within(text, inner string) string {
	if inner == "" {
		return ""
	}
	return object("body", strings.ReplaceAll(text, "%", inner))
}

// Token returns a fake token, generated from the token's pattern.
func Token(t redact.Token) string {
	parsed, err := syntax.Parse(t.Pattern, syntax.Perl)
	if err != nil {
		panic(err) // the table contains an invalid pattern
	}
	return shortest(parsed)
}

// shortest returns a short text that matches a regular expression.
func shortest(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for _, c := range "a2B7" {
			for i := 0; i < len(re.Rune); i += 2 {
				if re.Rune[i] <= c && c <= re.Rune[i+1] {
					return string(c)
				}
			}
		}
		return string(re.Rune[0])
	case syntax.OpCapture, syntax.OpPlus:
		return shortest(re.Sub[0])
	case syntax.OpConcat:
		var all strings.Builder
		for _, sub := range re.Sub {
			all.WriteString(shortest(sub))
		}
		return all.String()
	case syntax.OpAlternate:
		return shortest(re.Sub[0])
	case syntax.OpRepeat:
		longer := 0
		if re.Max < 0 {
			longer = 6 // with the minimum length alone, a token would be too similar to a word
		}
		return strings.Repeat(shortest(re.Sub[0]), re.Min+longer)
	}
	return "" // for optional parts and word boundaries
}
