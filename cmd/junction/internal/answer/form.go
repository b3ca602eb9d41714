package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/junction-mcp/junction/internal/form"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// How much of what a server says is shown, in runes.
const (
	maxMessage = 2_000
	maxLabel   = 200
	maxShown   = 100 // choices of a field
)

var (
	errDeclined  = errors.New("declined")
	errDismissed = errors.New("dismissed")
)

// fill asks a person to fill in a form: field by field, then whether to send it.
func fill(ctx context.Context, person *terminal.Person, server string, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	fields, err := form.Read(req.RequestedSchema)
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%v", err)
	}
	end, err := person.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	person.Printf("\n%s asks:\n%s\n", server, message(req.Message, person.Width()))
	person.Printf("  (Enter takes what stands in brackets, or leaves the field out.\n  :decline says no to the server, :cancel goes away without an answer.)\n")
	content, err := answers(ctx, person, server, fields)
	return result(content, err)
}

// result is what the person did, as the server gets it.
func result(content json.RawMessage, err error) (*mcp.ElicitResult, error) {
	switch {
	case errors.Is(err, errDeclined):
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	case errors.Is(err, errDismissed), errors.Is(err, terminal.ErrNoAnswer):
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	case err != nil:
		return nil, err
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}

func message(text string, width int) string {
	text = plaintext.Clean(text)
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage-1]) + "…"
	}
	return terminal.Wrap(text, 2, width)
}

// answers asks every field until the person sends the form.
func answers(ctx context.Context, person *terminal.Person, server string, fields []*form.Field) (json.RawMessage, error) {
	values := make([]json.RawMessage, len(fields))
	for i, f := range fields {
		values[i] = f.Default
	}
	for {
		for i, f := range fields {
			value, err := ask(ctx, person, f, values[i])
			if err != nil {
				return nil, err
			}
			values[i] = value
		}
		send, err := confirm(ctx, person, server, fields, values)
		if err != nil {
			return nil, err
		}
		if send {
			return form.Encode(fields, values), nil
		}
	}
}

// ask asks one field until the answer fits. before is what Enter stands for.
func ask(ctx context.Context, person *terminal.Person, f *form.Field, before json.RawMessage) (json.RawMessage, error) {
	introduce(person, f)
	prompt := "> "
	if before != nil {
		prompt = "[" + plaintext.Line(f.Shown(before), maxLabel) + "] > "
	}
	for {
		typed, err := person.Line(ctx, prompt)
		if err != nil {
			return nil, err
		}
		switch word := strings.TrimSpace(typed); {
		case word == ":decline":
			return nil, errDeclined
		case word == ":cancel":
			return nil, errDismissed
		case word == "" && before != nil:
			typed = f.Typed(before)
		case word == "" && !f.Required:
			return nil, nil
		case word == "":
			person.Printf("  this field is required%s\n", empty(f))
			continue
		}
		value, err := f.Parse(typed)
		if err == nil {
			return value, nil
		}
		person.Printf("  %s\n", plaintext.Line(err.Error(), maxLabel))
		if strings.TrimSpace(typed) == f.Typed(before) {
			before, prompt = nil, "> " // a default that does not fit is no offer
		}
	}
}

// empty says how an empty text is typed, where there can be one.
func empty(f *form.Field) string {
	if f.Type == "string" && len(f.Choices) == 0 {
		return ` ("" is an empty text)`
	}
	return ""
}

func introduce(person *terminal.Person, f *form.Field) {
	person.Printf("\n%s (%s)\n", plaintext.Line(cmp.Or(f.Title, f.Name), maxLabel), f.Describe())
	if f.Description != "" {
		person.Printf("%s\n", message(f.Description, person.Width()))
	}
	for i, c := range f.Choices[:min(len(f.Choices), maxShown)] {
		label := c.Title
		if plain := form.PlainValue(c.Value); label == "" {
			label = plain
		} else if label != plain {
			label += " (" + plain + ")"
		}
		person.Printf("  %3d  %s\n", i+1, plaintext.Line(label, maxLabel))
	}
	if more := len(f.Choices) - maxShown; more > 0 {
		person.Printf("       and %d more\n", more)
	}
}

// confirm shows all that would be sent and asks whether to send it; false to go
// through it again. Enter alone sends nothing: the form is a server's, and its defaults.
func confirm(ctx context.Context, person *terminal.Person, server string, fields []*form.Field, values []json.RawMessage) (bool, error) {
	var rows [][]string
	for i, f := range fields {
		rows = append(rows, []string{plaintext.Line(f.Name, maxLabel), sent(f, values[i])})
	}
	person.Printf("\n%s", terminal.Table(rows, 2, person.Width()))
	word, err := Choose(ctx, person, "Send this to "+server+"? [y]es, [e]dit, [d]ecline, [c]ancel > ", "", "y|yes", "e|edit", "d|decline|:decline", "c|cancel|:cancel")
	switch word {
	case "d":
		err = errDeclined
	case "c":
		err = errDismissed
	}
	return word == "y", err
}

// sent is a value as it is sent, all of it, with the title of a choice.
func sent(f *form.Field, value json.RawMessage) string {
	text := f.Shown(value)
	switch {
	case value == nil:
		return text
	case strings.Contains(text, "\n"):
		text = string(value)
	case text != form.PlainValue(value):
		text += " (" + form.PlainValue(value) + ")"
	}
	return plaintext.Unbroken(text)
}
