package offline

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// encode makes the JSON value of a text, by the parameter's type, and reports
// whether the text is of that type. What may be several things is the narrowest.
func encode(p *param, s string) (json.RawMessage, bool) {
	if p.choices != nil {
		return encodeChoice(p, s)
	}
	if p.numeric() {
		if plain := plainNumber(strings.TrimSpace(s)); json.Valid([]byte(plain)) && kindOf(plain) == number {
			return json.RawMessage(plain), true
		}
	}
	if p.is("boolean") {
		if said, ok := truth(s); ok {
			return marshal(said)
		}
	}
	if trimmed := strings.TrimSpace(s); p.is("object") && strings.HasPrefix(trimmed, "{") || p.is("array") && strings.HasPrefix(trimmed, "[") {
		if json.Valid([]byte(trimmed)) {
			return json.RawMessage(trimmed), true
		}
	}
	switch {
	case p.is("string"):
		return jsonrpc.AppendString(nil, s), true
	case p.is("array"):
		return encodeList(p, splitList(s))
	case len(p.types) > 0:
		return nil, false
	case json.Valid([]byte(s)) && s != "null":
		return json.RawMessage(s), true
	}
	return jsonrpc.AppendString(nil, s), true
}

func encodeChoice(p *param, s string) (json.RawMessage, bool) {
	for _, choice := range p.choices {
		if !strings.EqualFold(choice, s) {
			continue
		}
		if p.is("string") || !json.Valid([]byte(choice)) {
			return jsonrpc.AppendString(nil, choice), true
		}
		return json.RawMessage(choice), true
	}
	return nil, false
}

func encodeList(p *param, texts []string) (json.RawMessage, bool) {
	items := p.items
	if items == nil {
		items = &param{}
	}
	out := []byte{'['}
	for i, text := range texts {
		value, ok := encode(items, text)
		if !ok {
			return nil, false
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	return append(out, ']'), true
}

// setList gives a list the texts of these pieces as members.
func (f *filling) setList(p *param, from []*piece) bool {
	var texts []string
	for _, piece := range from {
		texts = append(texts, piece.text)
	}
	value, ok := encodeList(p, texts)
	return ok && f.keep(p, value, from)
}

// splitList takes "a, b and c" apart.
func splitList(s string) []string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, ", and ", ","), " and ", ",")
	var texts []string
	for text := range strings.SplitSeq(s, ",") {
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

func truth(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return false, false
}

func marshal(v any) (json.RawMessage, bool) {
	raw, err := json.Marshal(v)
	return raw, err == nil
}
