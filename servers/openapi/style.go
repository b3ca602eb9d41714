package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/servers/internal/tree"
)

// escape percent-encodes every byte that can have a special meaning in a URL (RFC 3986, section
// 2.3).
func escape(text string) string { return escapeExcept(text, "") }

// escapeExcept is like escape, but keeps the bytes in except unchanged.
func escapeExcept(text, except string) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for _, c := range []byte(text) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 || strings.IndexByte(except, c) >= 0 {
			out.WriteByte(c)
			continue
		}
		out.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return out.String()
}

// reserved holds the bytes that allowReserved leaves unescaped in a query. It omits the bytes that
// would end a value there.
const reserved = "/:?@!$'()*,;[]"

// flat returns the elements of a list, or the names and values of an object alternately, as texts.
func flat(value any) (texts []string, err error) {
	values := []any{}
	switch v := value.(type) {
	case []any:
		values = v
	case *tree.Object:
		for _, name := range v.Names() {
			values = append(values, name, v.Get(name))
		}
	default:
		values = append(values, value)
	}
	for _, e := range values {
		text, ok := tree.Plain(e)
		if !ok {
			return nil, errors.New("an object or a list within another cannot be written in this place")
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// joined escapes texts and joins them. With pairs, the texts of an object become name=value.
func joined(texts []string, pairs bool, separator string, escape func(string) string) string {
	var out strings.Builder
	for i, text := range texts {
		switch {
		case i == 0:
		case pairs && i%2 == 1:
			out.WriteByte('=')
		default:
			out.WriteString(separator)
		}
		out.WriteString(escape(text))
	}
	return out.String()
}

// inPath encodes a value in one of the path styles simple, label and matrix.
func (p *parameter) inPath(value any) (string, error) {
	texts, err := flat(value)
	if err != nil {
		return "", err
	}
	_, isObject := value.(*tree.Object)
	write := escape
	if p.slashes {
		write = func(text string) string { return escapeExcept(text, "/") }
	}
	pairs := isObject && p.explode
	switch p.style {
	case "label":
		if p.explode {
			return "." + joined(texts, pairs, ".", write), nil
		}
		return "." + joined(texts, false, ",", write), nil
	case "matrix":
		name := ";" + escape(p.name) + "="
		switch {
		case pairs:
			return ";" + joined(texts, true, ";", write), nil
		case p.explode && len(texts) > 0:
			return name + joined(texts, false, name, write), nil
		}
		return name + joined(texts, false, ",", write), nil
	}
	return joined(texts, pairs, ",", write), nil
}

// inHeader encodes a value in the style simple, without escapes.
func (p *parameter) inHeader(value any) (string, error) {
	texts, err := flat(value)
	if err != nil {
		return "", err
	}
	_, isObject := value.(*tree.Object)
	text := joined(texts, isObject && p.explode, ",", func(t string) string { return t })
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return "", errors.New("a header cannot have a line end or another control character")
	}
	return text, nil
}

// inQuery encodes a value in one of the query styles, as escaped name=value pairs. An empty list
// has no pairs.
func (p *parameter) inQuery(value any) ([]string, error) {
	write := escape
	if p.reserved {
		write = func(text string) string { return escapeExcept(text, reserved) }
	}
	return writePairs(p.name, value, p.style, p.explode, write)
}

// writePairs encodes a value in one of the styles form, spaceDelimited, pipeDelimited and
// deepObject.
func writePairs(name string, value any, style string, explode bool, write func(string) string) ([]string, error) {
	list, isList := value.([]any)
	object, isObject := value.(*tree.Object)
	if style == "deepObject" && (isList || isObject) {
		return deepPairs(nil, name, value, write), nil
	}
	texts, err := flat(value)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case isList && len(list) == 0 || isObject && object.Len() == 0:
		return nil, nil
	case isList && explode:
		pairs := make([]string, len(texts))
		for i, t := range texts {
			pairs[i] = escape(name) + "=" + write(t)
		}
		return pairs, nil
	case isObject && explode:
		pairs := []string{}
		for i := 0; i < len(texts); i += 2 {
			pairs = append(pairs, escape(texts[i])+"="+write(texts[i+1]))
		}
		return pairs, nil
	}
	separator := cmp.Or(map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C"}[style], ",")
	return []string{escape(name) + "=" + joined(texts, false, separator, write)}, nil
}

// deepPairs appends pairs of the form name[member][0]=value, to any depth.
func deepPairs(pairs []string, name string, value any, write func(string) string) []string {
	switch v := value.(type) {
	case []any:
		for i, e := range v {
			pairs = deepPairs(pairs, fmt.Sprintf("%s[%d]", name, i), e, write)
		}
		return pairs
	case *tree.Object:
		for _, member := range v.Names() {
			pairs = deepPairs(pairs, name+"["+member+"]", v.Get(member), write)
		}
		return pairs
	}
	text, _ := tree.Plain(value) // neither an object nor a list
	return append(pairs, escapeExcept(name, "[]")+"="+write(text))
}
