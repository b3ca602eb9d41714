package offline

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

// What an answer repeats.
const (
	maxResult = 32 << 10 // bytes of a result
	maxListed = 6        // tools
	maxLine   = 90       // characters of a description
)

const honest = "I am not a language model: I look for one tool that fits your words, and fill in its arguments from them."

// outcome puts results into words: the text of one as it is, several with their
// tools' names.
func outcome(done []*model.Result) string {
	if len(done) == 1 && !done[0].IsError {
		return shown(done[0])
	}
	var lines []string
	for _, r := range done {
		text := shown(r)
		switch {
		case r.IsError:
			lines = append(lines, fmt.Sprintf("%s failed: %s", own(r.Name), text))
		case strings.Contains(text, "\n"):
			lines = append(lines, own(r.Name)+":\n"+text)
		default:
			lines = append(lines, own(r.Name)+": "+text)
		}
	}
	return strings.Join(lines, "\n")
}

// shown is a result's text. An object with one value is that value.
func shown(r *model.Result) string {
	text := r.Text()
	if only, ok := single(text); ok {
		text = only
	}
	for _, p := range r.Parts {
		if p.Media != nil {
			text = join(text, fmt.Sprintf("[%s, %d bytes]", plaintext.Line(p.Media.Type, maxLine), len(p.Media.Data)))
		}
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "done; there is nothing to show."
	case len(text) > maxResult:
		return whole(text[:maxResult]) + fmt.Sprintf("\n… (cut; the result has %d bytes)", len(text))
	}
	return text
}

func single(text string) (string, bool) {
	members, fault := jsonrpc.Index([]byte(text), jsonrpc.Limits{})
	if fault != nil || members.Len() != 1 {
		return "", false
	}
	for _, value := range members.All() {
		if only, isText := jsonrpc.Unquote(value); isText {
			return only, true
		}
		return string(value), value[0] != '{' && value[0] != '['
	}
	return "", false
}

// unable says why no call is made, and what would help.
func unable(p *plan, step string, tools []model.Tool, later bool) string {
	switch {
	case p == nil && later:
		return fmt.Sprintf("For the step %q I found no tool that fits. %s", clip(step), honest)
	case p == nil:
		return introduction(tools)
	case p.other != "":
		return fmt.Sprintf("This names two tools, %s and %s. Write one step after the other, with \"then\" between them. %s", own(p.tool.Name), own(p.other), honest)
	case len(p.unknown) > 0:
		return fmt.Sprintf("%s has no parameter called %s. %s\n\n%s", own(p.tool.Name), strings.Join(p.unknown, " or "), usage(p), honest)
	case p.problem == "":
		var names []string
		for _, m := range p.missing {
			names = append(names, described(m))
		}
		return fmt.Sprintf("To call %s I still need %s. %s\n\n%s", own(p.tool.Name), strings.Join(names, " and "), usage(p), honest)
	}
	return fmt.Sprintf("The arguments do not fit %s: %s. %s\n\n%s", own(p.tool.Name), plaintext.Line(p.problem, 4*maxLine), usage(p), honest)
}

// withheld says what would have been called.
func withheld(p *plan) string {
	if p == nil {
		return honest
	}
	return fmt.Sprintf("I may not call a tool now; %s would fit. %s", own(p.tool.Name), honest)
}

func described(p *param) string {
	text := plaintext.Line(p.name, maxLine) + " (" + plaintext.Line(p.kindName(), maxLine)
	if p.description != "" {
		text += ": " + strings.TrimSuffix(plaintext.Line(p.description, maxLine), ".")
	}
	return text + ")"
}

// usage shows how the arguments can be given.
func usage(p *plan) string {
	words := []string{own(p.tool.Name)}
	for _, param := range p.params {
		value, given := p.values[param.name]
		name := plaintext.Line(param.name, maxLine)
		switch {
		case given:
			words = append(words, name+"="+plaintext.Line(string(value), maxLine/2))
		case param.required:
			words = append(words, name+"=…")
		}
	}
	if len(words) == 1 {
		return "It can be called without arguments: " + words[0]
	}
	return "Give it as key=value: " + strings.Join(words, " ")
}

// introduction says what this is, and what it can do with the tools there are.
func introduction(tools []model.Tool) string {
	var b strings.Builder
	b.WriteString(honest)
	if len(tools) == 0 {
		b.WriteString(" There are no tools here, so I can do nothing. Connect a server, or choose a language model.")
		return b.String()
	}
	b.WriteString(" I found none for this. Name a tool, and give its arguments as key=value, for example:\n")
	for _, t := range tools[:min(len(tools), maxListed)] {
		b.WriteString("\n- " + own(t.Name))
		for _, p := range paramsOf(t.Schema) {
			if p.required {
				b.WriteString(" " + plaintext.Line(p.name, maxLine) + "=…")
			}
		}
		if t.Description != "" {
			b.WriteString(": " + plaintext.Line(t.Description, maxLine))
		}
	}
	if more := len(tools) - maxListed; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String()
}

// notDone names the steps that were left.
func notDone(todo []string, from int) string {
	if from >= len(todo) {
		return ""
	}
	var left []string
	for _, step := range todo[from:] {
		left = append(left, fmt.Sprintf("%q", clip(step)))
	}
	return "Not done: " + strings.Join(left, ", ") + "."
}

// own is a tool's name without the server's.
func own(name string) string {
	if _, after, found := strings.Cut(name, "__"); found && after != "" {
		return after
	}
	return name
}

func clip(s string) string { return plaintext.Line(s, maxLine) }

// join puts the texts that are not empty below each other.
func join(texts ...string) string {
	var some []string
	for _, text := range texts {
		if text != "" {
			some = append(some, text)
		}
	}
	return strings.Join(some, "\n")
}
