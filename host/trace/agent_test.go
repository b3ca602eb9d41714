package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/event"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

// delegating is a run with two sub-agents side by side, whose calls have the same id.
func delegating(o Options) *Trace {
	t := &teller{New(o), noon}
	asked := func(text string) host.Event {
		return host.Event{Asked: &host.Asked{Model: "m", Messages: 1, Tokens: 10, Request: &model.Request{Messages: []model.Message{model.UserText(text)}}}}
	}
	calls := func(parts ...model.Part) host.Event {
		return host.Event{Decided: &host.Decided{Message: &model.Message{Role: model.RoleAssistant, Parts: parts}, Stop: model.StopCalls}}
	}
	called := func(id, server, tool, arguments string) host.Event {
		return host.Event{Called: &host.Called{CallID: id, Server: server, Tool: tool, Arguments: []byte(arguments)}}
	}
	returned := func(id, server, tool, text string) host.Event {
		return host.Event{Returned: &host.Returned{CallID: id, Server: server, Tool: tool, Text: text, Duration: time.Second}}
	}
	in := func(call, agent string, e host.Event) host.Event {
		return host.Event{Child: &host.ChildEvent{CallID: call, Agent: agent, Event: e}}
	}
	all := host.Answered{Text: "Red.", Stop: "end", Totals: host.Totals{Requests: 4, Calls: 4}}
	for _, e := range []host.Event{
		asked("Which colour?"), calls(call("c1", "host__task", `{"task":"look"}`), call("c2", "host__task", `{"task":"count"}`)),
		called("c1", "host", "task", `{"task":"look"}`), called("c2", "host", "task", `{"task":"count"}`),
		in("c1", "scout", asked("look")), in("c2", "counter", asked("count")),
		in("c1", "scout", calls(call("1", "db__get", `{"a":1}`))), in("c2", "counter", calls(call("1", "db__get", `{"b":2}`))),
		in("c1", "scout", called("1", "db", "get", `{"a":1}`)), in("c2", "counter", called("1", "db", "get", `{"b":2}`)),
	} {
		t.event(e)
	}
	for _, of := range [][2]string{{"c1/1", `{"a":1}`}, {"c2/1", `{"b":2}`}} {
		id, arguments := of[0], of[1]
		t.message("db", "9", id, "tools/call", true, event.Request, arguments)
		t.message("db", "9", id, "tools/call", false, event.Response, `{"content":[]}`)
	}
	for _, e := range []host.Event{
		in("c2", "counter", returned("1", "db", "get", "seven")), in("c1", "scout", returned("1", "db", "get", "red")),
		in("c1", "scout", asked("look")), in("c1", "scout", host.Event{Answered: &all}), returned("c1", "host", "task", "Red."),
		in("c2", "counter", host.Event{Answered: &host.Answered{Text: "7", Stop: "steps"}}), returned("c2", "host", "task", "7"),
		asked("Which colour?"), {Answered: &all},
	} {
		t.event(e)
	}
	return t.Trace
}

func TestTheStepsOfSubAgentsStandInTheirCalls(t *testing.T) {
	t.Parallel()
	trace := delegating(Options{})
	golden(t, "agents.txt", written(t, trace.WriteText))
	golden(t, "agents.mmd", written(t, trace.WriteMermaid))
	svg := written(t, trace.WriteSVG)
	for _, want := range []string{"scout: call: get", "counter: result: get", "scout: answer", "own tools"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing does not tell %q", want)
		}
	}
	if len(trace.calls) != 0 {
		t.Errorf("%d calls are still open", len(trace.calls))
	}
}
