package redact

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/secret"
)

// maxTexts is how many texts that are JSON may be in each other. What is deeper is hidden as a whole.
const maxTexts = 8

// A hiding goes through JSON once, and hides what is at paths.
type hiding struct {
	anew    [][]string // paths that begin in each text that is JSON, too; none where a text has no places of its own
	changed bool       // something was hidden
}

// in is data without what is at the paths; data itself where there is nothing.
func (h hiding) in(data json.RawMessage, paths [][]string) json.RawMessage {
	if hidden, _ := h.value(make([]byte, 0, len(data)), data, jsonrpc.SkipSpace(data, 0), paths, 0); h.changed {
		return hidden
	}
	return data
}

// value appends the value at i, and returns where it ends. It is within so many texts.
func (h *hiding) value(dst, data []byte, i int, paths [][]string, within int) (_ []byte, end int) {
	if i >= len(data) {
		return dst, len(data) // it is not valid
	}
	if c := data[i]; len(paths)+len(h.anew) > 0 && (c == '{' || c == '[') {
		return h.members(dst, data, i, paths, within)
	}
	end, _ = jsonrpc.SkipValue(data, i)
	raw := data[i:end]
	if data[i] == '"' && (bytes.ContainsAny(raw, "{[") || bytes.Contains(raw, []byte(`\u`))) {
		text, _ := jsonrpc.Unquote(raw)
		if text, changed := h.text(text, paths, within); changed {
			h.changed = true
			return jsonrpc.AppendString(dst, text), end
		}
	}
	return append(dst, raw...), end
}

// members appends an object or array.
func (h *hiding) members(dst, data []byte, i int, paths [][]string, within int) (_ []byte, end int) {
	object := data[i] == '{'
	w := jsonrpc.NewArray(dst)
	if object {
		w = jsonrpc.NewObject(dst)
	}
	i = jsonrpc.SkipSpace(data, i+1)
	for n := 0; i < len(data) && data[i] != '}' && data[i] != ']'; n++ {
		name, at := strconv.Itoa(n), i
		if object {
			nameEnd, _ := jsonrpc.SkipValue(data, i)
			name, _ = jsonrpc.Unquote(data[i:nameEnd])
			at = jsonrpc.SkipSpace(data, jsonrpc.SkipSpace(data, nameEnd)+1) // behind the colon
		}
		member := func(dst []byte) ([]byte, error) {
			dst, end = h.at(dst, data, at, name, paths, within)
			return dst, nil
		}
		if object {
			_ = w.Encoded(name, member) // it has no error
		} else {
			_ = w.EncodedElement(member)
		}
		if i = jsonrpc.SkipSpace(data, end); i >= len(data) || data[i] != ',' { // the end, or it is not valid
			break
		}
		i = jsonrpc.SkipSpace(data, i+1)
	}
	return w.Bytes(), min(i+1, len(data))
}

// at appends the value at i, which has this name, or number, in what the paths begin in.
func (h *hiding) at(dst, data []byte, i int, name string, paths [][]string, within int) (_ []byte, end int) {
	deeper, whole := below(paths, name)
	if !whole {
		return h.value(dst, data, i, deeper, within)
	}
	h.changed = true
	end, _ = jsonrpc.SkipValue(data, i)
	return jsonrpc.AppendString(dst, secret.Hidden), end
}

// text is a text without what is at the paths, where it is JSON as a whole, but for what is blank around it, or lines of it are.
// How much JSON is in it does not count, nor whether names repeat: who reads it may not care.
func (h *hiding) text(text string, paths [][]string, within int) (_ string, changed bool) {
	value := strings.TrimFunc(text, blank)
	if value == "" {
		return text, false
	}
	if data := []byte(value); strings.IndexByte(`{["`, value[0]) >= 0 && json.Valid(data) {
		if within == maxTexts {
			return secret.Hidden, true
		}
		inner := hiding{anew: h.anew}
		data, _ = inner.value(nil, data, 0, append(paths[:len(paths):len(paths)], h.anew...), within+1)
		return string(data), inner.changed
	}
	if !strings.Contains(value, "\n") {
		return text, false
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		shown, found := h.text(strings.TrimRight(line, "\r\n"), paths, within)
		changed = changed || found
		b.WriteString(shown + line[len(strings.TrimRight(line, "\r\n")):])
	}
	return b.String(), changed
}

// blank reports whether a letter around JSON is not seen. Files of Windows begin with U+FEFF.
func blank(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }
