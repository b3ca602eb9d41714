package trace_test

import (
	"os"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/trace"
	"github.com/junction-mcp/junction/model"
)

// A trace is given to a host as Options.OnEvent, and around the handlers of its
// servers: trace.Handler(handler, name, t). Here the events come from nowhere.
func Example() {
	t := trace.New(trace.Options{})
	for _, e := range []host.Event{
		{Asked: &host.Asked{Model: "offline", Messages: 1, Tools: 13, Tokens: 900}},
		{Decided: &host.Decided{Stop: model.StopEnd, Usage: model.Usage{Input: 900, Output: 12}}},
		{Answered: &host.Answered{Text: "42", Stop: "end", Totals: host.Totals{Duration: 80 * time.Millisecond}}},
	} {
		t.Event(e)
	}
	t.WriteMermaid(os.Stdout)
	// Output:
	// sequenceDiagram
	//     actor p0 as person
	//     participant p1 as host
	//     participant p2 as offline
	//     p1->>p2: 2 ask model · 1 message, 13 tools, about 900 tokens, to offline
	//     p2-->>p1: 3 decide · to answer#59; 900 tokens in, 12 out, stop#58; #101;nd
	//     p1-->>p0: 7 answer · 42
}
