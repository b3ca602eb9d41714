package cases

import (
	"encoding/json"
	"slices"

	"github.com/junction-mcp/junction/mcp"
	"go.yaml.in/yaml/v3"
)

// answers holds the client's replies to requests of the server. If a field is nil, the client does
// not have the capability.
type answers struct {
	elicit, sample *replies
	roots          []any // strings; nil means that the client has no roots
}

// declarable returns the names of the capabilities that a file can declare without replies.
func declarable() []string { return []string{"elicitation", "sampling", "roots"} }

// declares reports whether the client declares a capability, because a case has replies for it or
// because the file lists it.
func (f *File) declares(capability string, answered func(answers) bool) bool {
	return slices.Contains(f.declared, capability) || slices.ContainsFunc(f.cases, func(t *testCase) bool { return answered(t.answers) })
}

// replies holds the replies to requests of one kind, which are used in order. If all is set, there
// is only one, which is used for every request.
type replies struct {
	each []any
	all  bool
}

// with returns a with each field replaced by the field of own if that is not nil.
func (a answers) with(own answers) answers {
	if own.elicit != nil {
		a.elicit = own.elicit
	}
	if own.sample != nil {
		a.sample = own.sample
	}
	if own.roots != nil {
		a.roots = own.roots
	}
	return a
}

// answers returns a function that reads the client's replies.
func (p *parser) answers(into *answers) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		return p.mapping(n, "answers", members{
			"elicit": p.replies(&into.elicit, p.elicited),
			"sample": p.replies(&into.sample, p.sampled),
			"roots": func(n *yaml.Node) error {
				into.roots = []any{}
				return p.list(n, func(n *yaml.Node) error {
					v, err := p.value(n)
					if _, ok := v.(string); !ok && err == nil {
						err = p.errorf(n, "roots: expected a folder, or a file:// URI")
					}
					into.roots = append(into.roots, v)
					return err
				})
			},
		})
	}
}

func (p *parser) replies(into **replies, read func(*yaml.Node) (any, error)) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		r := &replies{all: n.Kind != yaml.SequenceNode}
		*into = r
		return p.list(n, func(n *yaml.Node) error {
			v, err := read(n)
			r.each = append(r.each, v)
			return err
		})
	}
}

// elicited reads the reply to a form. It is accept, decline or cancel, or the content of an
// accepted form.
func (p *parser) elicited(n *yaml.Node) (any, error) {
	if n.Kind == yaml.ScalarNode {
		switch n.Value {
		case mcp.ElicitAccept, mcp.ElicitDecline, mcp.ElicitCancel:
			return map[string]any{"action": n.Value}, nil
		}
		return nil, p.errorf(n, "elicit: expected accept, decline, cancel, or accept with the form's fields, got %q", n.Value)
	}
	reply := map[string]any{"action": mcp.ElicitAccept}
	err := p.mapping(n, "elicit", members{"accept": func(n *yaml.Node) error {
		v, err := p.value(n)
		if _, ok := v.(map[string]any); !ok && err == nil {
			err = p.errorf(n, "accept: expected a mapping with the form's fields")
		}
		reply["content"] = v
		return err
	}})
	return reply, err
}

// sampled reads the reply of a model. It is a text or a complete result.
func (p *parser) sampled(n *yaml.Node) (any, error) {
	v, err := p.value(n)
	switch said := v.(type) {
	case string:
		return map[string]any{"role": "assistant", "model": "junction-test", "stopReason": "endTurn", "content": map[string]any{"type": "text", "text": said}}, err
	case map[string]any:
		return said, err
	}
	if err == nil {
		err = p.errorf(n, "sample: expected a text, or a result as the specification has it")
	}
	return nil, err
}

// encode returns a value as JSON.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil { // does not occur: values from a file can be encoded
		return json.RawMessage(`null`)
	}
	return raw
}
