package config

import (
	"context"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// maxInputs limits the inputs of a file.
const maxInputs = 1_000

// Input is a value that a file leaves to the user, like VS Code's "inputs".
type Input struct {
	ID          string   // as in ${input:ID}
	Type        string   // "promptString" or "pickString"; "command" works only in VS Code
	Description string   // prompt for the user; may be empty
	Default     string   // suggested value; may be empty
	Password    bool     // hide the typed text
	Options     []Option // for pickString: the only valid values
	Source      string   // file that defines it
	Server      string   // first server that needs it
}

// Option is a choice of a pickString input.
type Option struct {
	Label string // text to show
	Value string // value of the input
}

// readInputs reads the member "inputs". A faulty input is a problem of the file.
func (r *fileReader) readInputs(v hujson.Value) {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		r.fail("", "inputs", v.StartOffset, wrongType("an array", v))
		return
	}
	if len(array.Elements) > maxInputs {
		r.fail("", "inputs", v.StartOffset, caused(ErrLimit, "more than %d inputs", maxInputs))
		return
	}
	for i, element := range array.Elements {
		field := fmt.Sprintf("inputs[%d]", i)
		input, err := readInput(element)
		if err == nil && slices.ContainsFunc(r.file.Inputs, func(other Input) bool { return other.ID == input.ID }) {
			err = caused(ErrDuplicate, "id %s is defined twice; rename one", quote(input.ID))
		}
		if err != nil {
			r.fail("", field, element.StartOffset, err)
			continue
		}
		input.Source = r.file.Path
		r.file.Inputs = append(r.file.Inputs, input)
	}
}

func readInput(v hujson.Value) (Input, error) {
	var input Input
	if v.Value.Kind() != '{' {
		return input, wrongType("an object", v)
	}
	list := members(v)
	if first, _ := duplicate(list); first != nil {
		return input, caused(ErrDuplicate, "member %s is defined twice", quote(first.name))
	}
	targets := map[string]*string{"id": &input.ID, "type": &input.Type, "description": &input.Description, "default": &input.Default}
	for _, m := range list {
		var err error
		if target, ok := targets[m.name]; ok {
			if *target, ok = text(m.value); !ok {
				err = wrongType("a string", m.value)
			}
		} else if m.name == "password" {
			input.Password, err = boolean(m.value)
		} else if m.name == "options" {
			input.Options, err = readOptions(m.value)
		}
		if err != nil {
			return input, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if input.ID == "" {
		return input, fmt.Errorf("id is missing")
	}
	switch input.Type {
	case "promptString", "pickString", "command":
		return input, nil
	}
	return input, fmt.Errorf("type: expected promptString, pickString or command, got %s", quote(input.Type))
}

func readOptions(v hujson.Value) ([]Option, error) {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, wrongType("an array", v)
	}
	var options []Option
	for _, element := range array.Elements {
		if s, ok := text(element); ok {
			options = append(options, Option{s, s})
			continue
		}
		var option Option
		for _, m := range members(element) {
			switch s, _ := text(m.value); m.name {
			case "label":
				option.Label = s
			case "value":
				option.Value = s
			}
		}
		if option.Label == "" {
			return nil, fmt.Errorf("expected strings, or objects with label and value, got %s", kindName(element))
		}
		options = append(options, option)
	}
	return options, nil
}

// answered returns the value that the user gave for an input, or an error without one. It does not
// ask.
func (f *File) answered(id string) (string, error) {
	select {
	case f.asking <- struct{}{}:
		defer func() { <-f.asking }()
	default: // the user is being asked
		return "", caused(ErrInput, "input %s is being asked for", quote(id))
	}
	value, ok := f.answers[id]
	if !ok {
		return "", caused(ErrInput, "input %s was not asked for", quote(id))
	}
	return value, nil
}

// answer returns the value of an input. It asks the user once and keeps the value for the file's
// other servers.
func (f *File) answer(ctx context.Context, id, server string) (string, error) {
	i := slices.IndexFunc(f.Inputs, func(input Input) bool { return input.ID == id })
	if i < 0 {
		return "", caused(ErrInput, "input %s is not among the file's inputs; add it there", quote(id))
	}
	input := f.Inputs[i]
	if input.Type == "command" {
		return "", caused(ErrInput, "input %s is a command of VS Code, which cannot run here; replace ${input:%s} by a value", quote(id), plain(id))
	}
	if f.options.Input == nil {
		return "", caused(ErrInput, "input %s must be asked for, and there is no terminal for questions; run in a terminal, or replace ${input:%s} by a value", quote(id), plain(id))
	}
	// The user sees one prompt at a time.
	select {
	case f.asking <- struct{}{}:
		defer func() { <-f.asking }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if value, ok := f.answers[id]; ok {
		return value, nil
	}
	input.Server = server
	value, err := f.options.Input(ctx, input)
	if err != nil {
		return "", caused(ErrInput, "input %s was not given: %w", quote(id), err)
	}
	if input.Type == "pickString" && !slices.ContainsFunc(input.Options, func(o Option) bool { return o.Value == value }) {
		return "", caused(ErrInput, "the answer to input %s is not one of its options", quote(id))
	}
	f.answers[id] = value
	return value, nil
}
