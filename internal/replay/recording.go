package replay

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Turn is one answer, and what the request before it must hold.
type Turn struct {
	Expect Expect
	// Text is what the model says.
	Text string
	// Calls are the tools that it calls behind that.
	Calls []Call
	// Then, if set, makes text and calls from the texts of all results of the
	// conversation, of which the request must have at least one.
	Then func(results []string) Turn
}

// Call is a call of a tool.
type Call struct {
	// Name is the tool's, without the server's before it.
	Name string
	// Arguments are written as JSON; nil means {}.
	Arguments any
}

// Expect is what a request must hold. What is empty is not looked at.
type Expect struct {
	// Last is whose message is the last: user or tool.
	Last string
	// Contains are texts of the last message, or of the results in it.
	Contains []string
	// System are texts of the system prompt.
	System []string
	// Tools are offered, possibly among others.
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
func clip(s string) string { return plaintext.Short(s, 500) }
