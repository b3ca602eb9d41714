package replay

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Turn is one response, with conditions on the request before it.
type Turn struct {
	Expect Expect
	// Text is the text of the model.
	Text string
	// Calls are the tools that it calls after the text.
	Calls []Call
	// Then, if set, makes text and calls from the texts of all results of the conversation; there
	// must be at least one.
	Then func(results []string) Turn
}

// Call is a call of a tool.
type Call struct {
	// Name is the tool's name without the prefix of the server.
	Name string
	// Arguments are encoded as JSON; nil means {}.
	Arguments any
}

// Expect holds conditions on a request. Empty fields are not checked.
type Expect struct {
	// Last is the role of the last message: user or tool.
	Last string
	// Contains are texts of the last message, or of the results in it.
	Contains []string
	// System are texts of the system prompt.
	System []string
	// Tools must be offered, possibly among others.
	Tools []string
}

// JSON decodes the first JSON in a result that fits v; there may be text around it.
func JSON(result string, v any) error {
	for rest := result; ; {
		at := strings.IndexAny(rest, "[{")
		if at < 0 {
			return fmt.Errorf("there is no JSON for a %T in %q", v, clip(result))
		}
		if json.NewDecoder(strings.NewReader(rest[at:])).Decode(v) == nil {
			return nil
		}
		rest = rest[at+1:]
	}
}

// met returns the first condition that a request does not meet, or nil.
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
func clip(s string) string { return plaintext.Short(s, 500) }
