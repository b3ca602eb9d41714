package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/model"
)

// Limits of the text of an answer.
const (
	maxListed = 6  // tools
	maxLine   = 90 // characters of a description
)

const honest = "This is the built-in matcher, not a language model: it picks one tool by your words."

// outcome returns the text of results. A single result is returned unchanged, and several with the
// names of their tools.
func outcome(done []*model.Result) string {
	if len(done) == 1 && !done[0].IsError {
		return resultText(done[0])
	}
	var lines []string
	for _, r := range done {
		text, between := resultText(r), ": "
		if r.IsError {
			between = " failed: "
		} else if strings.Contains(text, "\n") {
			between = ":\n"
		}
		lines = append(lines, plainName(r.Name)+between+text)
	}
	return join(lines...)
}

// resultText returns a result's text. If the text is an object with a single value, it returns that
// value.
func resultText(r *model.Result) string {
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

// explainNoCall explains why no call is made, and how the user can help.
func explainNoCall(p *plan, step string) string {
	if p == nil {
		return fmt.Sprintf("For the step %q I found no tool that fits. %s", plaintext.Line(step, maxLine), honest)
	}
	return p.problem + " Give it as key=value: " + callForm(p) + "\n\n" + honest
}

// callForm returns a call in the form that a user can type, with placeholders for missing arguments.
func callForm(p *plan) string {
	words := []string{plainName(p.tool.Name)}
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

// introduction describes the model and the use of the tools.
func introduction(tools []model.Tool) string {
	if len(tools) == 0 {
		return honest + " There are no tools here. Connect a server, or choose a language model."
	}
	lines := []string{honest + " No tool matches these. Name one, with its arguments as key=value, for example:\n"}
	for _, t := range tools[:min(len(tools), maxListed)] {
		line := "- " + callForm(&plan{tool: &t, params: paramsOf(t.Schema)})
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

// notDone returns a text about the remaining steps, or "".
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

// hashed matches the hash that [model.Names] appends to unportable names.
var hashed = lazy.Regexp(`_[0-9a-f]{8}$`)

// plainName returns a tool's name without the server's prefix and without a hash.
func plainName(name string) string {
	if _, after, found := strings.Cut(name, "__"); found && after != "" {
		name = after
	}
	return hashed().ReplaceAllString(name, "")
}

// join joins the non-empty texts with line breaks.
func join(texts ...string) string {
	var some []string
	for _, text := range texts {
		if text != "" {
			some = append(some, text)
		}
	}
	return strings.Join(some, "\n")
}

// A plan is a possible call for a step.
type plan struct {
	tool      *model.Tool
	params    []param
	values    map[string]json.RawMessage
	arguments json.RawMessage
	problem   string // reason why the call cannot be made
}

// A param is one parameter of a tool.
type param struct {
	schema.Property
	types []string // JSON types; empty means any
}

// paramsOf returns the parameters in the order of the schema, the required ones first.
func paramsOf(raw json.RawMessage) []param {
	if jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		return nil
	}
	var required, others []param
	for p := range schema.Look(raw).Properties() {
		if p.Required {
			required = append(required, param{p, p.Types()})
		} else {
			others = append(others, param{p, p.Types()})
		}
	}
	return append(required, others...)
}

// find returns the best plan for a step, or nil if no tool fits. A tool fits if the step contains
// its name. It also fits if the step contains a part of its name and all required arguments.
func find(tools []model.Tool, step string) *plan {
	pieces := piecesOf(step)
	var said []string
	for _, p := range pieces {
		if p.kind == word {
			said = append(said, p.text)
		}
	}
	spoken := split(strings.Join(said, " "))
	var best *plan
	most := 0.0
	for i := range tools {
		tool := &tools[i]
		names := split(plainName(tool.Name))
		unsaid, likened := slices.Clone(names), 0
		unsaid = slices.DeleteFunc(unsaid, func(name string) bool {
			said, like := slices.Contains(spoken, name), slices.Contains(spoken, alike[name])
			if like && !said {
				likened++
			}
			return said || like
		})
		exact := slices.Contains(said, tool.Name)
		if len(unsaid) == len(names) && !exact {
			continue
		}
		p := fill(step, pieces, tool, names)
		ready := p.problem == ""
		score := 1 - float64(len(unsaid))/float64(len(names)+1) - 0.1*float64(likened)
		switch {
		case exact:
			score += 3
		case len(unsaid)+likened == 0:
			score++
		case !ready || len(p.values) == 0:
			continue
		}
		if ready {
			score += 0.5
		}
		if best != nil && score == most && ready && plainName(tool.Name) == plainName(best.tool.Name) {
			best.problem = fmt.Sprintf("Several tools have this name: %s, %s. Give the whole name.", best.tool.Name, tool.Name)
		}
		if best == nil || score > most {
			best, most = p, score
		}
	}
	return best
}

// fill finds the arguments for a tool in a step.
func fill(step string, pieces []piece, tool *model.Tool, names []string) *plan {
	p := &plan{tool: tool, params: paramsOf(tool.Schema), values: map[string]json.RawMessage{}}
	pairs := 0
	for i := range pieces {
		if pieces[i].kind == pair {
			p.pair(&pieces[i])
			pairs++
		}
	}
	p.inOrder(pieces, number, "number", "integer")
	p.inOrder(pieces, quoted, "string")
	from := 0
	for from < len(pieces) && p.isName(&pieces[from], names) {
		from++
	}
	rest := pieces[from:]
	switch stray := slices.IndexFunc(rest, func(r piece) bool { return r.kind == word }); {
	case from == 0 || len(rest) == 0:
	case pairs == 0:
		p.rest(step[rest[0].start:], rest)
	case stray >= 0:
		p.problem = fmt.Sprintf("%q belongs to no argument. Put a text of several words in quotes.", rest[stray].text)
	}
	p.check()
	return p
}

// pair sets the argument for key=value. The keys cityName, city_name and City-Name are equivalent.
func (p *plan) pair(from *piece) {
	for _, param := range p.params {
		if param.Name == from.key || slices.Equal(split(param.Name), split(from.key)) {
			p.values[param.Name] = value(&param, from.text)
			return
		}
	}
	p.problem = fmt.Sprintf("%s does not have the parameter %s.", plainName(p.tool.Name), from.key)
}

// inOrder assigns the pieces of a kind, in order, to the parameters of these types that have no
// value. An optional parameter gets one only if no other parameter is left.
func (p *plan) inOrder(pieces []piece, k kind, types ...string) {
	open := slices.DeleteFunc(slices.Clone(p.params), func(param param) bool {
		_, given := p.values[param.Name]
		fits := len(param.types) == 0 || slices.ContainsFunc(param.types, func(t string) bool { return slices.Contains(types, t) })
		return given || !fits
	})
	for i := range pieces {
		if pieces[i].kind != k || len(open) == 0 || !open[0].Required && len(open) > 1 {
			continue
		}
		p.values[open[0].Name] = value(&open[0], pieces[i].text)
		open = open[1:]
	}
}

// rest assigns the text after the tool's name to the only required parameter, if that is a string
// without a value.
func (p *plan) rest(text string, pieces []piece) {
	if len(p.params) == 0 || len(p.values) > 0 || len(p.params) > 1 && p.params[1].Required {
		return
	}
	if only := &p.params[0]; only.Required && slices.Contains(only.types, "string") {
		if len(pieces) == 1 && pieces[0].kind == quoted {
			text = pieces[0].text
		}
		p.values[only.Name] = value(only, text)
	}
}

// isName reports whether a piece is the tool's name or words of it.
func (p *plan) isName(from *piece, names []string) bool {
	said := split(from.text)
	return from.kind == word && len(said) > 0 &&
		(from.text == p.tool.Name || !slices.ContainsFunc(said, func(w string) bool { return !slices.Contains(names, w) }))
}

// check sets problem to the missing arguments, or else to the violations of the schema.
func (p *plan) check() {
	w := jsonrpc.NewObject(nil)
	var missing []string
	for _, param := range p.params {
		if value, given := p.values[param.Name]; given {
			w.Raw(param.Name, value)
		} else if param.Required {
			missing = append(missing, plaintext.Line(fmt.Sprintf("%s (%s)", param.Name, strings.Join(param.types, " or ")), maxLine))
		}
	}
	p.arguments = w.Bytes()
	switch validator, err := schema.Compile(p.tool.Schema); {
	case p.problem != "":
	case len(missing) > 0:
		p.problem = fmt.Sprintf("To call %s, I still need %s.", plainName(p.tool.Name), strings.Join(missing, " and "))
	case p.tool.Schema != nil && err == nil: // the server will report other errors
		var wrong *schema.Error
		if errors.As(validator.Validate(p.arguments), &wrong) {
			p.problem = fmt.Sprintf("The arguments do not fit %s: %s.", plainName(p.tool.Name), plaintext.Line(wrong.Error(), 4*maxLine))
		}
	}
}

// value encodes a text as JSON of the parameter's type. A text that does not fit becomes a string,
// so that validation reports the expected type.
func value(p *param, text string) json.RawMessage {
	if !slices.Contains(p.types, "string") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return jsonrpc.AppendString(nil, text)
}
