package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/model"
)

// plan is a call that a step could be.
type plan struct {
	tool      *model.Tool
	params    []param
	values    map[string]json.RawMessage
	arguments json.RawMessage
	problem   string // why the call cannot be made
}

// param is one parameter of a tool.
type param struct {
	schema.Property
	types []string // JSON types; none means any
}

// paramsOf are the parameters in the order of the schema, the required ones first.
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

// find returns the best plan for a step, or nil if no tool fits: one whose name the
// step says, or says in part next to all the arguments that it needs.
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
		names := split(own(tool.Name))
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
		if best != nil && score == most && ready && own(tool.Name) == own(best.tool.Name) {
			best.problem = fmt.Sprintf("Several tools are called that: %s, %s. Give the whole name.", best.tool.Name, tool.Name)
		}
		if best == nil || score > most {
			best, most = p, score
		}
	}
	return best
}

// fill finds the arguments of a tool in a step.
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
		p.problem = fmt.Sprintf("%q belongs to no argument; a text of several words is written in quotes.", rest[stray].text)
	}
	p.check()
	return p
}

// pair takes key=value; cityName, city_name and City-Name are the same.
func (p *plan) pair(from *piece) {
	for _, param := range p.params {
		if param.Name == from.key || slices.Equal(split(param.Name), split(from.key)) {
			p.values[param.Name] = value(&param, from.text)
			return
		}
	}
	p.problem = fmt.Sprintf("%s has no parameter called %s.", own(p.tool.Name), from.key)
}

// inOrder gives the pieces of a kind to the parameters of these types that have
// none. One that is not required gets it where it is the only one.
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

// rest gives what follows the name of the tool to the only argument that is required,
// if that is a text and has no value.
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

// isName says whether a piece is the tool's name, or words of it.
func (p *plan) isName(from *piece, names []string) bool {
	said := split(from.text)
	return from.kind == word && len(said) > 0 &&
		(from.text == p.tool.Name || !slices.ContainsFunc(said, func(w string) bool { return !slices.Contains(names, w) }))
}

// check says what is missing, and what the schema says to the rest.
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
		p.problem = fmt.Sprintf("To call %s I still need %s.", own(p.tool.Name), strings.Join(missing, " and "))
	case p.tool.Schema != nil && err == nil: // otherwise the server will say what it wants
		var wrong *schema.Error
		if errors.As(validator.Validate(p.arguments), &wrong) {
			p.problem = fmt.Sprintf("The arguments do not fit %s: %s.", own(p.tool.Name), plaintext.Line(wrong.Error(), 4*maxLine))
		}
	}
}

// value is a text as JSON of the parameter's type. What does not fit the type is a
// string, to which the schema will say what it expects.
func value(p *param, text string) json.RawMessage {
	if !slices.Contains(p.types, "string") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return jsonrpc.AppendString(nil, text)
}
