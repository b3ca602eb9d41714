package model

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// What words may take up: descriptions cost tokens in every request.
const (
	// maxWord is how many bytes one of them may have.
	maxWord = 240
	// maxWords is how many there are for one schema.
	maxWords = 8
)

// words say what a schema cannot any more.
type words struct{ list []string }

func (w *words) add(text string) {
	if text != "" && len(w.list) < maxWords && !slices.Contains(w.list, text) {
		w.list = append(w.list, text)
	}
}

// describe puts the words behind the description, once.
func (w *words) describe(s *members) {
	if len(w.list) == 0 {
		return
	}
	text, _ := textOf(s.get("description"))
	if text != "" {
		text += " "
	}
	s.set("description", jsonrpc.AppendString(nil, text+"("+strings.Join(w.list, "; ")+")"))
	w.list = nil
}

// short returns raw as it is shown in a description.
func short(raw json.RawMessage) string { return plaintext.Short(string(raw), maxWord) }

// filter drops the keywords that the dialect does not have, and says what they said.
func (l *lowering) filter(s *members, at string, said *words) {
	for _, name := range slices.Clone(s.names) {
		value := s.get(name)
		if name == "format" && l.dialect.Formats != nil {
			if f, ok := textOf(value); !ok || !slices.Contains(l.dialect.Formats, f) {
				s.drop(name)
				said.add("format " + f)
			}
		} else if value != nil && !l.dialect.takes(name) {
			l.leaveOut(s, name, at, said)
		}
	}
}

// leaveOut puts a keyword into words, with those that would accept less without it.
func (l *lowering) leaveOut(s *members, name, at string, said *words) {
	value := s.get(name)
	if value == nil {
		return
	}
	s.drop(name)
	if text := inWords(name, value); text != "" {
		l.changed(at, name)
		said.add(text)
	}
	for _, limited := range keywords[name].limits {
		l.leaveOut(s, limited, at, said)
	}
}

// inWords is what a keyword says; empty for those that mean nothing to a model.
func inWords(name string, value json.RawMessage) string {
	k := keywords[name]
	switch {
	case k.silent, strings.HasPrefix(name, "x-"),
		name == "uniqueItems" && string(value) != "true",
		k.words == "others are %s" && value[0] != '{':
		return ""
	case k.words == "":
		return name + " " + short(value)
	}
	return strings.Replace(k.words, "%s", short(value), 1)
}

// enumerate sees to enum and const.
func (l *lowering) enumerate(s *members, at string, said *words) {
	if c := s.get("const"); c != nil && !l.dialect.takes("const") {
		if !s.has("enum") {
			s.set("enum", listOf([]json.RawMessage{c}))
		}
		s.drop("const")
	}
	values := elements(s.get("enum"))
	if len(values) == 0 || !l.dialect.StringEnums {
		return
	}
	var texts []string
	onlyText := true
	for _, v := range values {
		text, ok := textOf(v)
		switch {
		case string(v) == "null":
			s.set("nullable", json.RawMessage("true"))
		case !ok || text == "":
			onlyText = false
		case !slices.Contains(texts, text):
			texts = append(texts, text)
		}
	}
	others := slices.DeleteFunc(typesOf(s.get("type")), func(t string) bool { return t == "string" || t == "null" })
	if onlyText && len(texts) > 0 && len(others) == 0 {
		s.set("type", json.RawMessage(`"string"`))
		s.set("enum", textList(texts))
		return
	}
	l.changed(at, "enum of what is not text")
	said.add("one of " + short(s.get("enum")))
	s.drop("enum")
}
