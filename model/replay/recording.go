package replay

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/schema"
)

// Recording is an exchange: the turns of the model, in order.
type Recording struct {
	Turns []Turn `json:"turns"`
}

// Turn is one answer, and what the request before it must hold.
type Turn struct {
	Expect Expect `json:"expect,omitzero"`
	// Text is what the model says; it may have expressions.
	Text string `json:"text,omitempty"`
	// Calls are the tools that it calls behind that.
	Calls []Call `json:"calls,omitempty"`
}

// Call is a call of a tool.
type Call struct {
	// Name is the tool's, without the server's before it.
	Name string `json:"name"`
	// Arguments are an object, whose strings may have expressions; nil means {}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Expect is what a request must hold. What is empty is not looked at.
type Expect struct {
	// Last is whose message is the last: user or tool.
	Last string `json:"last,omitempty"`
	// Contains are texts of the last message, or of the results in it.
	Contains []string `json:"contains,omitempty"`
	// System are texts of the system prompt.
	System []string `json:"system,omitempty"`
	// Tools are offered, possibly among others.
	Tools []string `json:"tools,omitempty"`
}

// Parse reads a recording. Unknown members, a turn that says nothing and
// expressions that cannot be read are errors.
func Parse(data []byte) (*Recording, error) {
	var r Recording
	if err := schema.Decode(data, &r); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if len(r.Turns) == 0 {
		return nil, fmt.Errorf("recording: turns are missing")
	}
	for i := range r.Turns {
		if err := r.Turns[i].check(); err != nil {
			return nil, fmt.Errorf("recording: turn %d: %w", i, err)
		}
	}
	return &r, nil
}

func (t *Turn) check() error {
	if t.Text == "" && len(t.Calls) == 0 {
		return fmt.Errorf("it has neither text nor calls")
	}
	if last := t.Expect.Last; last != "" && last != "user" && last != "tool" {
		return fmt.Errorf("the last message is %q, and can be user or tool", last)
	}
	texts := []string{t.Text}
	for _, c := range t.Calls {
		if c.Name == "" {
			return fmt.Errorf("a call has no name")
		}
		if err := eachString(c.Arguments, func(s string) { texts = append(texts, s) }); err != nil {
			return fmt.Errorf("call of %s: %w", c.Name, err)
		}
	}
	for _, text := range texts {
		if _, err := parts(text); err != nil {
			return err
		}
	}
	return nil
}

// met says what a request lacks; nil if it has all that is expected.
func (e *Expect) met(req *request) error {
	if last := req.lastRole(); e.Last != "" && e.Last != last {
		return fmt.Errorf("expected the last message to be of %q, got one of %q", e.Last, last)
	}
	for _, text := range e.Contains {
		if !strings.Contains(req.lastText(), text) {
			return fmt.Errorf("expected %q in the last message, got %q", text, clip(req.lastText()))
		}
	}
	for _, text := range e.System {
		if !strings.Contains(req.System, text) {
			return fmt.Errorf("expected %q in the system prompt", text)
		}
	}
	for _, name := range e.Tools {
		if _, err := req.offered(name); err != nil {
			return err
		}
	}
	return nil
}

// clip shortens a text for an error.
func clip(s string) string {
	const most = 500
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
