package offline

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

// What an answer shows.
const (
	maxListed = 6  // tools
	maxLine   = 90 // characters of a description
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
		text, between := shown(r), ": "
		if r.IsError {
			between = " failed: "
		} else if strings.Contains(text, "\n") {
			between = ":\n"
		}
		lines = append(lines, own(r.Name)+between+text)
	}
	return join(lines...)
}

// shown is a result's text. An object with one value is that value.
func shown(r *model.Result) string {
	text := single(r.Text())
	for _, p := range r.Parts {
		if p.Media != nil {
			text = join(text, fmt.Sprintf("[%s, %d bytes]", plaintext.Line(p.Media.Type, maxLine), len(p.Media.Data)))
		}
	}
	if strings.TrimSpace(text) == "" {
		return "done; there is nothing to show."
	}
	return text
}

func single(text string) string {
	members, fault := jsonrpc.Index([]byte(text), jsonrpc.Limits{})
	if fault != nil || members.Len() != 1 {
		return text
	}
	for _, value := range members.All() {
		if only, isText := jsonrpc.Unquote(value); isText {
			return only
		}
		if value[0] != '{' && value[0] != '[' {
			return string(value)
		}
	}
	return text
}

// unable says why no call is made, and what would help.
func unable(p *plan, step string) string {
	if p == nil {
		return fmt.Sprintf("For the step %q I found no tool that fits. %s", plaintext.Line(step, maxLine), honest)
	}
	return p.problem + " Give it as key=value: " + written(p) + "\n\n" + honest
}

// written is a call as it can be written, with what is missing.
func written(p *plan) string {
	words := []string{own(p.tool.Name)}
	for _, param := range p.params {
		value, given := p.values[param.Name]
		name := plaintext.Line(param.Name, maxLine)
		switch {
		case given:
			words = append(words, name+"="+plaintext.Line(string(value), maxLine/2))
		case param.Required:
			words = append(words, name+"=…")
		}
	}
	return strings.Join(words, " ")
}

// introduction says what this is, and what it can do with the tools there are.
func introduction(tools []model.Tool) string {
	if len(tools) == 0 {
		return honest + " There are no tools here, so I can do nothing. Connect a server, or choose a language model."
	}
	lines := []string{honest + " I found none for this. Name a tool, and give its arguments as key=value, for example:\n"}
	for _, t := range tools[:min(len(tools), maxListed)] {
		line := "- " + written(&plan{tool: &t, params: paramsOf(t.Schema)})
		if t.Description != "" {
			line += ": " + plaintext.Line(t.Description, maxLine)
		}
		lines = append(lines, line)
	}
	if more := len(tools) - maxListed; more > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more", more))
	}
	return join(lines...)
}

// notDone names the steps that were left.
func notDone(left []string) string {
	var quoted []string
	for _, step := range left {
		quoted = append(quoted, fmt.Sprintf("%q", plaintext.Line(step, maxLine)))
	}
	if len(quoted) == 0 {
		return ""
	}
	return "Not done: " + strings.Join(quoted, ", ") + "."
}

// hashed is what [model.Names] puts behind a name that providers do not take.
var hashed = regexp.MustCompile(`_[0-9a-f]{8}$`)

// own is a tool's name without the server's.
func own(name string) string {
	if _, after, found := strings.Cut(name, "__"); found && after != "" {
		name = after
	}
	return hashed.ReplaceAllString(name, "")
}

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
