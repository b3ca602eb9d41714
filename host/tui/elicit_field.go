package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/form"
)

// entry is a field while it is filled in.
type entry struct {
	*form.Field
	text   editor.Buffer // what was typed, where there are no choices
	chosen map[int]bool  // of the choices; yes and no of a boolean are two
	cursor int           // among the choices

	numbered bool // choices are typed by number
	fault    string
}

// newEntry is a field with its default.
func newEntry(f *form.Field) *entry {
	e := &entry{Field: f, chosen: map[int]bool{}}
	if f.Type == "boolean" && len(f.Choices) == 0 {
		f.Choices = []form.Choice{{Value: json.RawMessage("true"), Title: "yes"}, {Value: json.RawMessage("false"), Title: "no"}}
	}
	switch {
	case f.Default == nil:
	case len(f.Choices) == 0:
		e.text.Set(form.PlainValue(f.Default))
	default:
		for i, c := range f.Choices {
			isDefault := string(c.Value) == string(f.Default) || f.Several && strings.Contains(string(f.Default), string(c.Value))
			if isDefault {
				e.chosen[i], e.cursor = true, i
			}
		}
	}
	return e
}

// value is the field's value as JSON; nil: left out.
func (e *entry) value() (json.RawMessage, error) {
	if len(e.Choices) == 0 {
		switch text := e.text.Text(); {
		case strings.TrimSpace(text) != "":
			return e.Parse(text)
		case !e.Required:
			return nil, nil
		case e.Type == "string":
			return nil, fmt.Errorf(`this is required ("" is an empty text)`)
		}
		return nil, fmt.Errorf("this is required")
	}
	var values []string
	for i, c := range e.Choices {
		if e.chosen[i] {
			values = append(values, string(c.Value))
		}
	}
	switch {
	case len(values) == 0 && e.Required && !e.Several:
		return nil, fmt.Errorf("this is required")
	case len(values) == 0 && !e.Required:
		return nil, nil
	case !e.Several:
		return json.RawMessage(values[0]), e.Check(json.RawMessage(values[0]))
	}
	list := json.RawMessage("[" + strings.Join(values, ",") + "]")
	return list, e.Check(list)
}

// checked is the field's value, if it fits; what is wrong with it is shown at the field.
func (e *entry) checked() (json.RawMessage, bool) {
	value, err := e.value()
	switch {
	case err == nil:
		e.fault = ""
	case e.hidden():
		e.fault = "expected " + e.Describe() // the error may hold what was typed
	default:
		e.fault = err.Error()
	}
	return value, err == nil
}

// press handles a key of one field, and reports whether it changed what would be sent.
func (e *entry) press(k keypress) (changed bool) {
	if len(e.Choices) == 0 {
		before := e.text.Text()
		editKey(&e.text, k)
		changed = e.text.Text() != before
	} else {
		changed = e.pick(k)
	}
	if changed {
		e.fault = ""
	}
	return changed
}

// pick handles a key of a field with choices, and reports whether it means anything there.
func (e *entry) pick(k keypress) bool {
	switch k.name {
	case "left", "right":
		switch {
		case !e.Several && len(e.chosen) == 0: // nothing is taken yet: the first
		case k.name == "left":
			e.cursor = max(0, e.cursor-1)
		default:
			e.cursor = min(len(e.Choices)-1, e.cursor+1)
		}
		if !e.Several {
			e.chosen = map[int]bool{e.cursor: true}
		}
	case "space":
		chosen := e.chosen[e.cursor]
		if !e.Several {
			e.chosen = map[int]bool{}
		}
		e.chosen[e.cursor] = !chosen
	case "backspace", "delete":
		e.chosen = map[int]bool{}
	default:
		return false
	}
	return true
}

// lines show a field.
func (e *entry) lines(selected bool, width int) []ink.Line {
	mark := "  "
	if selected {
		mark = "▸ "
	}
	head := ink.Line{ink.T(ink.Accent, mark), ink.T(ink.Plain, oneLine(orElse(e.Title, e.Name), 200), ink.Bold), ink.T(ink.Muted, " ("+e.Describe()+")")}
	lines := ink.Barred(head, width)
	margin := ink.Of("  ")
	if e.Description != "" {
		lines = append(lines, ink.Indent(ink.Lines(ink.Muted, oneLine(e.Description, 500), width-2), margin, margin)...)
	}
	switch {
	case len(e.Choices) > 0:
		lines = append(lines, ink.Indent(e.choiceLines(selected, width-2), margin, margin)...)
	case selected && e.hidden():
		lines = append(lines, ink.Line{ink.T(ink.Accent, "  > "), ink.T(ink.Plain, dots(&e.text)), ink.T(ink.Plain, " ", ink.Reverse)}.Cut(width))
	case e.hidden():
		lines = append(lines, ink.Line{ink.T(ink.Muted, "  > "), ink.T(ink.Plain, dots(&e.text))}.Cut(width))
	case selected:
		lines = append(lines, ink.Indent(typedLines(&e.text, width-4), ink.Line{ink.T(ink.Accent, "  > ")}, ink.Of("    "))...)
	default:
		lines = append(lines, ink.Line{ink.T(ink.Muted, "  > "), ink.T(ink.Plain, oneLine(e.text.Text(), width))}.Cut(width))
	}
	if e.fault != "" {
		lines = append(lines, ink.Indent(ink.Lines(ink.Bad, e.fault, width-4), ink.Line{ink.T(ink.Bad, "  ✗ ")}, ink.Of("    "))...)
	}
	return lines
}

// hidden reports whether what was typed is not shown. What the server filled in is no secret from it.
func (e *entry) hidden() bool { return e.Secret() && e.text.Text() != form.PlainValue(e.Default) }

// dots stand for a secret, one for each of its characters.
func dots(b *editor.Buffer) string { return strings.Repeat("•", utf8.RuneCountInString(b.Text())) }

// choiceLines show the choices of a field, one behind the other.
func (e *entry) choiceLines(selected bool, width int) []ink.Line {
	var all ink.Line
	for i, choice := range e.Choices {
		mark := "( ) "
		switch {
		case e.Several && e.chosen[i]:
			mark = "[x] "
		case e.Several:
			mark = "[ ] "
		case e.chosen[i]:
			mark = "(•) "
		}
		if e.numbered {
			mark = fmt.Sprint(i+1, " ", mark)
		}
		var attr ink.Attr
		if selected && i == e.cursor {
			attr = ink.Underline
		}
		label := orElse(choice.Title, form.PlainValue(choice.Value))
		all = append(all, ink.T(ink.Accent, strings.ReplaceAll(mark, " ", "\u00a0")), ink.T(ink.Plain, oneLine(label, 100), attr), ink.Of("   ")[0])
	}
	return ink.Wrap(all, width)
}
