package replay

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Turn is one response, and the conditions that its request must meet.
type Turn struct {
	Expect Expect
	// Text is the text of the response.
	Text string
	// Calls are the tool calls after the text.
	Calls []Call
	// Then, if set, returns a Turn with the text and calls of the response. results are the texts
	// of all tool results in the conversation; there must be at least one.
	Then func(results []string) Turn
}

// Call is a tool call.
type Call struct {
	// Name is the tool's name without the prefix of the server.
	Name string
	// Arguments is encoded as JSON; nil means {}.
	Arguments any
}

// Expect contains conditions on a request. Empty fields impose no condition.
type Expect struct {
	// Last is the role of the last message: user or tool.
	Last string
	// Contains lists texts that the last message, or the results in it, must contain.
	Contains []string
	// System lists texts that the system prompt must contain.
	System []string
	// Tools lists tools that must be offered; others may be offered too.
	Tools []string
}

// JSON decodes the first JSON value in a result that can be decoded into v. There may be text
// around it.
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

// met returns an error that describes the first condition that a request does not meet, or nil.
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

// clip shortens a text for use in an error.
func clip(s string) string { return plaintext.Short(s, 500) }
