package redact

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxTexts is the maximum depth of texts that are JSON within each other. Deeper texts are hidden
// completely.
const maxTexts = 8

// A Rewriter replaces names and values during a [Walk].
type Rewriter interface {
	// Name appends the replacement of a name, including its quotes, and reports whether it differs
	// from the name. It may set p.Name.
	Name(dst, quoted []byte, p *Place) (_ []byte, replaced bool)
	// Value appends the replacement of a value and reports true. If it reports false, the value is
	// kept, or, if it is an object, array or JSON text, the walk continues within it. If the value
	// is an object or array, raw is only its first byte.
	Value(dst, raw []byte, p *Place) (_ []byte, replaced bool)
}

// A Place is the location of a value.
type Place struct {
	Name    string // set by the Rewriter; elements of an array have the Name of the array
	Depth   int    // number of objects and arrays around the value
	Texts   int    // number of texts that are JSON around the value
	Renamed int    // for use by the Rewriter: number of members of this object that were renamed so far
	paths   Paths  // paths that remain below this place
}

// A Walk reads JSON text once and rewrites it.
type Walk struct {
	Rewriter
	// Verbatim preserves the bytes of everything that is not replaced. Otherwise white space is
	// removed.
	Verbatim bool
	// Deep returns the replacement of a text that is nested in too many texts; nil means [Hidden].
	Deep func(text string) string

	again   Paths // paths that also apply to each text that is JSON, beginning at its root
	data    []byte
	changed bool
}

// JSON returns data, which must be one JSON value, rewritten. It returns data itself if nothing
// changes.
func (w Walk) JSON(data []byte) []byte { return w.from(data, Place{}) }

func (w Walk) from(data []byte, p Place) []byte {
	out, changed := w.append(make([]byte, 0, len(data)), data, p)
	if !changed {
		return data
	}
	return out
}

func (w Walk) append(dst, data []byte, p Place) (_ []byte, changed bool) {
	w.data, w.changed = data, false
	dst, i := w.space(dst, 0)
	dst, i, _ = w.value(dst, i, &p)
	dst, _ = w.space(dst, i)
	return dst, w.changed
}

// Text rewrites a text that is JSON, ignoring white space around it, or that contains lines of
// JSON. It accepts texts of any size and objects with repeated names, as the readers of the text
// may accept these.
func (w Walk) Text(text string, p *Place) (_ string, changed bool) {
	value := strings.TrimFunc(text, blank)
	if value == "" {
		return text, false
	}
	if data := []byte(value); strings.IndexByte(`{["`, value[0]) >= 0 && json.Valid(data) {
		switch {
		case p.Texts < maxTexts:
		case w.Deep != nil:
			return w.Deep(text), true
		default:
			return Hidden, true
		}
		out, changed := w.append(nil, data, Place{Texts: p.Texts + 1, paths: append(p.paths[:len(p.paths):len(p.paths)], w.again...)})
		if !changed {
			return text, false
		}
		if before, after, _ := strings.Cut(text, value); w.Verbatim {
			return before + string(out) + after, true
		}
		return string(out), true
	}
	if !strings.Contains(value, "\n") {
		return text, false
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		content := strings.TrimRight(line, "\r\n")
		shown, found := w.Text(content, p)
		changed = changed || found
		b.WriteString(shown + line[len(content):])
	}
	return b.String(), changed
}

// blank reports whether a character around JSON is invisible. Files written on Windows often begin
// with U+FEFF.
func blank(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }

// value appends the value at i and returns its end. ok is false if there is no value.
func (w *Walk) value(dst []byte, i int, p *Place) (_ []byte, end int, ok bool) {
	if i >= len(w.data) {
		return dst, i, false
	}
	isInside := w.data[i] == '{' || w.data[i] == '['
	end, ok = i+1, true
	if !isInside {
		if end, ok = jsonrpc.SkipValue(w.data, i); !ok {
			return dst, end, false
		}
	}
	dst, replaced := w.Value(dst, w.data[i:end], p)
	switch {
	case replaced:
		w.changed = true
		if isInside {
			end, ok = jsonrpc.SkipValue(w.data, i)
		}
		return dst, end, ok
	case isInside:
		dst, end = w.members(dst, i, p)
		return dst, end, true
	}
	return append(dst, w.data[i:end]...), end, true
}

// members appends the object or array at i, up to its end or to the first invalid content.
func (w *Walk) members(dst []byte, i int, p *Place) (_ []byte, end int) {
	isObject := w.data[i] == '{'
	closing := w.data[i] + 2
	dst = append(dst, w.data[i])
	child := Place{Depth: p.Depth + 1, Texts: p.Texts}
	whole := len(dst) // length of the output up to the last complete member
	i++
	for n := 0; ; n++ {
		if dst, i = w.space(dst, i); i >= len(w.data) || w.data[i] == closing {
			break
		}
		var ok bool
		if isObject {
			dst, i, ok = w.name(dst, i, p, &child)
		} else {
			child.Name, ok = p.Name, true
			child.paths = p.paths.below(func() string { return strconv.Itoa(n) })
		}
		if ok {
			dst, i, ok = w.value(dst, i, &child)
		}
		if !ok {
			return append(dst[:whole], closing), len(w.data)
		}
		whole = len(dst)
		if dst, i = w.space(dst, i); i >= len(w.data) || w.data[i] != ',' {
			break
		}
		dst, i = append(dst, w.data[i]), i+1
	}
	return append(dst, closing), min(i+1, len(w.data))
}

// name appends the name at i, and the text between it and its value.
func (w *Walk) name(dst []byte, i int, object, p *Place) (_ []byte, value int, ok bool) {
	end, ok := jsonrpc.SkipValue(w.data, i)
	if !ok || w.data[i] != '"' {
		return dst, i, false
	}
	p.paths = object.paths.below(func() string {
		name, _ := jsonrpc.Unquote(w.data[i:end])
		return name
	})
	dst, replaced := w.Name(dst, w.data[i:end], p)
	w.changed = w.changed || replaced
	if dst, i = w.space(dst, end); i >= len(w.data) || w.data[i] != ':' {
		return dst, i, false
	}
	dst, i = w.space(append(dst, w.data[i]), i+1)
	return dst, i, true
}

func (w *Walk) space(dst []byte, i int) ([]byte, int) {
	end := jsonrpc.SkipSpace(w.data, i)
	if w.Verbatim {
		dst = append(dst, w.data[i:end]...)
	}
	return dst, end
}
