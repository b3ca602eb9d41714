package audit

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/secret"
)

// The limits of what Redacted keeps.
const (
	maxKeptText  = 200     // characters of one string
	maxKept      = 4 << 10 // bytes in all
	maxKeptDepth = 16
)

// cut stands for the rest of a text, and for what is nested too deep.
const cut = "…"

// Redacted is data, one JSON value, as a log may keep it: secrets are hidden, by the names of members
// and by how tokens of known services look; strings are cut at 200 characters, and what has more
// than 4 KiB then is left out. A secret that neither its name nor its looks tell stays: what must not be in a log at
// all is left out with nil in place of this function.
func Redacted(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	kept := redacted(make([]byte, 0, min(len(data)+64, maxKept)), data, 0)
	if len(kept) > maxKept {
		return tooLong()
	}
	return kept
}

// tooLong stands for data that has too many bytes.
func tooLong() json.RawMessage { return jsonrpc.AppendString(nil, "too long to be kept") }

// Omitted stands for data that is not kept: it says that there was some. Without members there is none.
func Omitted(data json.RawMessage) json.RawMessage {
	if len(data) == 0 || string(data) == "{}" {
		return data
	}
	return jsonrpc.AppendString(nil, "not kept")
}

// Altered says what of arguments is not as it was before [Redacted] or [Omitted]: the members that hold, at any depth,
// what was hidden or cut, or all. A text that only looks as if it had been counts, too.
func Altered(kept json.RawMessage) (members []string, all bool) {
	if len(kept) == 0 {
		return nil, false
	}
	if kept[0] != '{' {
		return nil, true
	}
	jsonrpc.EachMember(kept, func(quoted, value []byte) bool {
		if altered(value) {
			name, _ := jsonrpc.Unquote(quoted)
			members = append(members, name)
		}
		return true
	})
	return members, false
}

func altered(value []byte) (is bool) {
	switch value[0] {
	case '{':
		jsonrpc.EachMember(value, func(_, member []byte) bool { is = altered(member); return !is })
	case '[':
		jsonrpc.EachElement(value, func(element []byte) bool { is = altered(element); return !is })
	case '"':
		text, _ := jsonrpc.Unquote(value)
		is = strings.Contains(text, secret.Hidden) || strings.HasSuffix(text, cut)
	}
	return is
}

func redacted(dst []byte, data json.RawMessage, depth int) []byte {
	switch {
	case len(dst) > maxKept:
		return append(dst, "null"...) // it is left out as a whole
	case depth > maxKeptDepth:
		return jsonrpc.AppendString(dst, cut)
	case data[0] == '{':
		w := jsonrpc.NewObject(dst)
		jsonrpc.EachMember(data, func(quoted, value []byte) bool {
			name, _ := jsonrpc.Unquote(quoted)
			if secret.Named(name) && value[0] != 't' && value[0] != 'f' && value[0] != 'n' {
				w.String(name, secret.Hidden)
				return true
			}
			_ = w.Encoded(name, func(dst []byte) ([]byte, error) { return redacted(dst, value, depth+1), nil })
			return true
		})
		return w.Bytes()
	case data[0] == '[':
		w := jsonrpc.NewArray(dst)
		jsonrpc.EachElement(data, func(value []byte) bool {
			_ = w.EncodedElement(func(dst []byte) ([]byte, error) { return redacted(dst, value, depth+1), nil })
			return true
		})
		return w.Bytes()
	case data[0] == '"':
		text, _ := jsonrpc.Unquote(data)
		return jsonrpc.AppendString(dst, keptText(text))
	}
	return append(dst, data...)
}

// keptText is a string without secrets.
func keptText(text string) string {
	runes := 0
	for i := range text {
		if runes++; runes > maxKeptText {
			text = text[:i] + cut
			break
		}
	}
	if secret.Looks(text) {
		return secret.Hidden
	}
	for word := range strings.FieldsSeq(text) {
		switch {
		case secret.Looks(word):
			return secret.Hidden
		case strings.Contains(word, "://"):
			text = strings.ReplaceAll(text, word, secret.URL(word))
		}
	}
	return text
}
