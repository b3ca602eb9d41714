package cases

import (
	"encoding/json"
	"slices"

	"github.com/junction-mcp/junction/mcp"
	"go.yaml.in/yaml/v3"
)

// answers holds the client's replies to requests of the server. A nil field means that the client
// has no such capability.
type answers struct {
	elicit, sample *replies
	roots          []any // texts; nil means no roots
}

// declarable returns the capabilities that a file can declare, with or without replies.
func declarable() []string { return []string{"elicitation", "sampling", "roots"} }

// declares reports whether the client declares this capability: because a case has replies or
// because the file lists it.
func (f *File) declares(capability string, answered func(answers) bool) bool {
	return slices.Contains(f.declared, capability) || slices.ContainsFunc(f.cases, func(t *testCase) bool { return answered(t.answers) })
}

// replies holds the replies to requests of one kind, in order; or one for all.
type replies struct {
	each []any
	all  bool
}

// with returns a, overridden by the non-nil fields of own.
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

// answers reads the client's replies.
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

// elicited reads the reply to a form: accept, decline, cancel, or its content.
func (p *parser) elicited(n *yaml.Node) (any, error) {
	if n.Kind == yaml.ScalarNode {
		switch n.Value {
		case mcp.ElicitAccept, mcp.ElicitDecline, mcp.ElicitCancel:
			return map[string]any{"action": n.Value}, nil
		}
		return nil, p.errorf(n, "elicit: expected accept, decline, cancel, or accept with what is filled in, got %q", n.Value)
	}
	reply := map[string]any{"action": mcp.ElicitAccept}
	err := p.mapping(n, "elicit", members{"accept": func(n *yaml.Node) error {
		v, err := p.value(n)
		if _, ok := v.(map[string]any); !ok && err == nil {
			err = p.errorf(n, "accept: expected the members of the form")
		}
		reply["content"] = v
		return err
	}})
	return reply, err
}

// sampled reads the reply of a model: a text, or a whole result.
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
	if err != nil { // values from a file can always be encoded
		return json.RawMessage(`null`)
	}
	return raw
}
