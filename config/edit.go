package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// ErrNoEntry says that a file has no entry of that name.
var ErrNoEntry = errors.New("there is no such entry")

// A NewServer is an entry to be written: a program with its arguments, or an address.
type NewServer struct {
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	SSE     bool // the address speaks HTTP+SSE only
	Headers map[string]string
}

// AddServer returns the file with an entry more, behind those that are there. What it says otherwise stays as it is, byte by
// byte; an empty file becomes one with this entry. A file that has an entry of that name is left alone, with ErrDuplicate.
func AddServer(data []byte, name string, s NewServer) ([]byte, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte(byteOrderMark)))) == 0 {
		data = []byte("{\n  \"mcpServers\": {}\n}\n")
	}
	doc, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	t := textOf(doc, data)
	if _, _, err := t.entry(name); err == nil {
		return nil, caused(ErrDuplicate, "there is a server %s already", quote(name))
	}
	in, found := t.servers()
	if !found {
		return t.verified(t.insert(doc.root, "mcpServers", func(margin string, lines bool) string {
			inner := ""
			if lines {
				inner = margin + t.unit
			}
			return t.object([]string{t.member(name, s.write(t, inner, lines))}, margin, lines)
		}))
	}
	return t.verified(t.insert(in, name, func(margin string, lines bool) string { return s.write(t, margin, lines) }))
}

// RemoveServer returns the file without an entry. Comments stay.
func RemoveServer(data []byte, name string) ([]byte, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	t := textOf(doc, data)
	in, at, err := t.entry(name)
	if err != nil {
		return nil, err
	}
	return t.verified(t.cut(in, at))
}

// ReplaceWords returns the file in which other words stand at the beginning of the command line of a server; the words behind
// them stay. ErrNoEntry says that there is no such server, or that its command line does not begin with the old words.
func ReplaceWords(data []byte, name string, old, now []string) ([]byte, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	t := textOf(doc, data)
	in, at, err := t.entry(name)
	if err != nil {
		return nil, err
	}
	entry := in.Value.(*hujson.Object).Members[at].Value
	words := []hujson.Value{lookup(entry, "command")}
	args := lookup(entry, "args")
	if array, is := args.Value.(*hujson.Array); is {
		words = append(words, array.Elements...)
	}
	if len(old) == 0 || len(now) == 0 || len(words) < len(old) {
		return nil, fmt.Errorf("server %s does not begin with %q: %w", quote(name), old, ErrNoEntry)
	}
	for i, word := range old {
		if s, isText := text(words[i]); !isText || s != word {
			return nil, fmt.Errorf("server %s does not begin with %q: %w", quote(name), old, ErrNoEntry)
		}
	}
	var edits []edit
	put := func(i int, word string) {
		if s, _ := text(words[i]); s != word {
			edits = append(edits, edit{words[i].StartOffset, words[i].EndOffset, quoted(word)})
		}
	}
	if len(old) == len(now) {
		for i, word := range now {
			put(i, word)
		}
		return t.verified(t.apply(edits))
	}
	put(0, now[0])
	var list []string
	for _, word := range now[1:] {
		list = append(list, quoted(word))
	}
	for _, v := range words[len(old):] {
		list = append(list, string(t.data[v.StartOffset:v.EndOffset]))
	}
	if args.Value == nil {
		return nil, fmt.Errorf(`server %s has no "args" to write %q into: %w`, quote(name), now[1:], ErrNoEntry)
	}
	edits = append(edits, edit{args.StartOffset, args.EndOffset, "[" + strings.Join(list, ", ") + "]"})
	return t.verified(t.apply(edits))
}

const byteOrderMark = "\xef\xbb\xbf" // editors on Windows put it in front

// An edit puts text in the place of bytes.
type edit struct {
	start, end int
	text       string
}

// editedText is a file that is about to change.
type editedText struct {
	doc     *document
	mark    []byte // the byte order mark, if there is one
	data    []byte // behind it
	newline string
	unit    string // one step of indentation
}

func textOf(doc *document, data []byte) *editedText {
	t := &editedText{doc: doc, data: doc.data, mark: data[:len(data)-len(doc.data)], newline: "\n", unit: "  "}
	if bytes.Contains(data, []byte("\r\n")) {
		t.newline = "\r\n"
	}
	if list := members(doc.root); len(list) > 0 {
		if margin, lines := t.margin(list[0].at); lines && margin != "" {
			t.unit = margin
		}
	}
	return t
}

// margin is what stands before an offset on its line; lines reports whether that is white space only.
func (t *editedText) margin(at int) (margin string, lines bool) {
	start := bytes.LastIndexByte(t.data[:at], '\n') + 1
	margin = string(t.data[start:at])
	return margin, start > 0 && strings.TrimLeft(margin, " \t") == ""
}

// indentation is the white space at the beginning of the line on which an offset is.
func (t *editedText) indentation(at int) string {
	line := t.data[bytes.LastIndexByte(t.data[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// servers is the object in which entries stand, the first of several.
func (t *editedText) servers() (hujson.Value, bool) {
	for _, in := range t.containers() {
		return in, true
	}
	return hujson.Value{}, false
}

func (t *editedText) containers() (list []hujson.Value) {
	for _, name := range []string{"mcpServers", "servers", "context_servers"} {
		list = append(list, lookup(t.doc.root, name))
	}
	list = append(list, lookup(lookup(t.doc.root, "mcp"), "servers"))
	return slices.DeleteFunc(list, func(v hujson.Value) bool { return v.Value == nil || v.Value.Kind() != '{' })
}

// entry is where the entry of a server stands.
func (t *editedText) entry(name string) (in hujson.Value, at int, err error) {
	for _, in := range t.containers() {
		if at := slices.IndexFunc(members(in), func(m member) bool { return m.name == name }); at >= 0 {
			return in, at, nil
		}
	}
	return in, 0, fmt.Errorf("server %s: %w", quote(name), ErrNoEntry)
}

// insert adds a member behind the others of an object.
func (t *editedText) insert(in hujson.Value, name string, value func(margin string, lines bool) string) []byte {
	list := members(in)
	closing := in.EndOffset - 1
	outer := t.indentation(in.StartOffset)
	if len(list) == 0 {
		lines := bytes.Contains(t.data, []byte("\n"))
		inside := string(t.data[in.StartOffset+1 : closing])
		if strings.TrimSpace(inside) == "" {
			return t.apply([]edit{{in.StartOffset + 1, closing, strings.TrimSuffix(t.object([]string{t.member(name, value(outer+t.unit, lines))}, outer, lines)[1:], "}")}})
		}
		end := in.StartOffset + 1 + len(strings.TrimRight(inside, " \t\r\n"))
		return t.apply([]edit{{end, closing, t.newline + outer + t.unit + t.member(name, value(outer+t.unit, true)) + t.newline + outer}})
	}
	last := list[len(list)-1]
	margin, lines := t.margin(last.at)
	behind := t.data[last.value.EndOffset:closing]
	comma := commaIn(behind)
	// What is new stands behind the comments that stand behind the last one.
	end := last.value.EndOffset + len(bytes.TrimRight(behind, " \t\r\n"))
	added := t.member(name, value(margin, lines))
	edits := []edit{}
	if comma < 0 {
		edits = append(edits, edit{last.value.EndOffset, last.value.EndOffset, ","})
	} else {
		added += ","
	}
	switch {
	case lines:
		added = t.newline + margin + added
		if !bytes.Contains(t.data[end:closing], []byte("\n")) { // the brace stands behind a value
			added += t.newline + outer
			return t.apply(append(edits, edit{end, closing, added}))
		}
	case bytes.Contains(behind, []byte("//")):
		added = t.newline + added
	default:
		added = " " + added
	}
	return t.apply(append(edits, edit{end, end, added}))
}

// cut takes a member out, with its line where nothing else is on it.
func (t *editedText) cut(in hujson.Value, at int) []byte {
	list := members(in)
	m := list[at]
	start, end := m.at, m.value.EndOffset
	stop := in.EndOffset - 1
	if at+1 < len(list) {
		stop = list[at+1].at
	}
	var edits []edit
	comma := commaIn(t.data[end:stop])
	isLast := at+1 == len(list)
	if comma >= 0 {
		if between := t.data[end : end+comma]; len(bytes.TrimSpace(between)) == 0 {
			end += comma + 1
		} else { // a comment stands between
			edits = append(edits, edit{end + comma, end + comma + 1, ""})
		}
	} else if at > 0 { // the one before is the last one then
		before := list[at-1].value.EndOffset
		if comma := commaIn(t.data[before:start]); comma >= 0 {
			edits = append(edits, edit{before + comma, before + comma + 1, ""})
		}
	}
	rest := t.data[end:stop]
	line := len(rest) - len(bytes.TrimLeft(rest, " \t\r"))
	margin, lines := t.margin(start)
	switch {
	case lines && line < len(rest) && rest[line] == '\n':
		start, end = start-len(margin), end+line+1
	case lines && isLast && line == len(rest), isLast && at == 0 && line == len(rest):
		start -= len(t.data[:start]) - len(bytes.TrimRight(t.data[:start], " \t\r\n"))
		if previous := bytes.LastIndexByte(t.data[:start], '\n') + 1; bytes.Contains(t.data[previous:start], []byte("//")) {
			start = m.at
		}
	case !lines && isLast && line == len(rest):
		start -= len(t.data[:start]) - len(bytes.TrimRight(t.data[:start], " \t"))
	case !lines && !isLast || lines && rest[line] == '/': // a comment takes the place
		end += line
	}
	if len(list) == 1 && len(bytes.TrimSpace(t.data[in.StartOffset+1:m.at])) == 0 && len(bytes.TrimSpace(t.data[end:in.EndOffset-1])) == 0 {
		start, end = in.StartOffset+1, in.EndOffset-1
	}
	return t.apply(append(edits, edit{start, end, ""}))
}

// commaIn is where a comma stands outside of comments; -1 where none does.
func commaIn(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ',':
			return i
		case '/':
			i = endOfComment(text, i)
		}
	}
	return -1
}

func (t *editedText) apply(edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	out := bytes.Clone(t.mark)
	done := 0
	for _, e := range edits {
		out = append(append(out, t.data[done:e.start]...), e.text...)
		done = e.end
	}
	return append(out, t.data[done:]...)
}

// verified refuses a change after which the file could not be read.
func (t *editedText) verified(out []byte) ([]byte, error) {
	if _, err := parseDocument(out); err != nil {
		return nil, fmt.Errorf("the file is written in a way that cannot be changed without changing more; write each entry on lines of its own: %w", err)
	}
	return out, nil
}

func (t *editedText) member(name, value string) string { return quoted(name) + ": " + value }

// object writes members on a line each, or all on one.
func (t *editedText) object(list []string, margin string, lines bool) string {
	if !lines {
		return "{" + strings.Join(list, ", ") + "}"
	}
	inner := t.newline + margin + t.unit
	return "{" + inner + strings.Join(list, ","+inner) + t.newline + margin + "}"
}

// write is the entry as text.
func (s NewServer) write(t *editedText, margin string, lines bool) string {
	var list []string
	if s.Command != "" {
		list = append(list, t.member("command", quoted(s.Command)))
		var args []string
		for _, arg := range s.Args {
			args = append(args, quoted(arg))
		}
		list = append(list, t.member("args", "["+strings.Join(args, ", ")+"]"))
	} else {
		kind := "http"
		if s.SSE {
			kind = "sse"
		}
		list = append(list, t.member("type", quoted(kind)), t.member("url", quoted(s.URL)))
	}
	for _, pairs := range []struct {
		name   string
		values map[string]string
	}{{"env", s.Env}, {"headers", s.Headers}} {
		var inner []string
		for _, name := range slices.Sorted(maps.Keys(pairs.values)) {
			inner = append(inner, t.member(name, quoted(pairs.values[name])))
		}
		if len(inner) > 0 {
			list = append(list, t.member(pairs.name, t.object(inner, margin+t.unit, lines)))
		}
	}
	return t.object(list, margin, lines)
}

// quoted is a string of JSON, readable as it is written for people.
func quoted(s string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // strings always encode
	return strings.TrimSuffix(b.String(), "\n")
}
