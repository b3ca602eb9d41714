package tui

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

// of is an event of the sub-agent that carries out a call.
func of(call, agent string, e host.Event) host.Event {
	return host.Event{Child: &host.ChildEvent{CallID: call, Agent: agent, Event: e}}
}

func began(id, server, tool, arguments string) host.Event {
	return host.Event{Called: &host.Called{CallID: id, Server: server, Tool: tool, Arguments: object(arguments)}}
}

func ended(id, server, tool, text string, took time.Duration) host.Event {
	return host.Event{Returned: &host.Returned{CallID: id, Server: server, Tool: tool, Text: text, Duration: took}}
}

// Its name stands there before anything is heard of it.
func TestANewSubAgentIsShownWithItsName(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = func(ctx context.Context, _ host.Question) error { <-ctx.Done(); return ctx.Err() }
		st.keys("look<enter>")
		st.tell(began("1", "host", "task", `{"name":"scout","task":"find \"tea\""}`), began("2", "host", "task", `{"tools":[]}`))
		st.settle()
		st.holds("● host · task scout 0 ms  find \"tea\"\n● host · task 0 ms  {\"tools\":[]}\n")
	})
}

func TestCallsThatDidNotRunAreAmongTheCalls(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = func(ctx context.Context, _ host.Question) error { <-ctx.Done(); return ctx.Err() }
		st.keys("look<enter>")
		decided := func(id, name, arguments string) host.Event {
			return host.Event{Decided: &host.Decided{Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Call: &model.Call{ID: id, Name: name, Arguments: object(arguments)}}}}}}
		}
		no := host.Event{Consent: &host.Consented{CallID: "1", Server: "files", Tool: "write", By: "person"}}
		st.tell(decided("1", "files__write", `{"path":"/a"}`), no, began("2", "host", "task", `{"task":"look"}`), of("2", "scout", decided("1", "files__write", `{"path":"/b"}`)), of("2", "scout", no))
		st.settle()
		st.keys("<ctrl+o>")
		st.holds("✗ files · write did not run  {\"path\":\"/a\"}")
		st.holds("✗ scout: files · write did not run  {\"path\":\"/b\"}")
		st.keys("<down><down><enter>")
		st.holds("did not run: you said no\narguments\n  path: \"/a\"")
	})
}

func TestASubAgentsCallsStandBelowItsOwn(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = func(ctx context.Context, _ host.Question) error { <-ctx.Done(); return ctx.Err() }
		st.keys("look<enter>")
		st.tell(host.Event{Decided: &host.Decided{Message: &model.Message{Role: model.RoleAssistant}}},
			began("1", "host", "task", `{"task":"look"}`), began("2", "host", "task", `{"task":"count"}`),
			of("1", "scout", text("I look.")),
			of("1", "scout", began("1", "files", "read", `{"path":"a"}`)),
			of("1", "scout", ended("1", "files", "read", "long text", 2*time.Second)),
			of("2", "counter", began("1", "db", "count", `{}`)),
			of("1", "scout", host.Event{Consent: &host.Consented{CallID: "2", Server: "files", Tool: "write", By: "person"}}),
			of("1", "scout", began("1", "web", "get", `{"url":"b"}`)),
			of("1", "scout", of("1", "inner", began("7", "x", "y", `{}`))),
			of("1", "scout", host.Event{Notice: &host.Notice{Kind: host.NoticeLimit, Text: "the run was ended"}}),
			of("1", "scout", host.Event{Answered: &host.Answered{Text: "Seen.", Stop: "end"}}),
			of("none", "stray", began("1", "web", "get", `{}`)))
		st.settle()
		st.holds(`
● host · task scout 0 ms  look
  │ ✓ files · read 2.0 s  {"path":"a"}
  │ ✗ files · write did not run; you said no
  │ ● web · get inner 0 ms  {"url":"b"}
  │   │ ● x · y 0 ms
● host · task counter 0 ms  count
  │ ● db · count 0 ms`)
		st.printedText("! sub-agent scout: the run was ended")
		st.tell(of("1", "scout", ended("1", "web", "get", "page", time.Second)), ended("1", "host", "task", "Seen.", 4*time.Second))
		st.settle()
		st.printedText(`
✓ host · task scout 4.0 s  look
  │ ✓ files · read 2.0 s  {"path":"a"}
  │ ✗ files · write did not run; you said no
  │ ✓ web · get inner 1.0 s  {"url":"b"}
  │   │ ● x · y 0 ms
  Seen.`)
		st.keys("<ctrl+o>")
		st.holds("✓ scout: files · read")
		st.keys("<esc>")
		for i := range 9 {
			id := fmt.Sprint(i)
			st.tell(of("2", "counter", began(id, "db", "count", `{}`)), of("2", "counter", ended(id, "db", "count", "1", time.Second)))
		}
		st.tell(ended("2", "host", "task", "9", time.Second), host.Event{Answered: &host.Answered{Stop: "steps"}})
		st.settle()
		st.printedText("  │ … 3 earlier calls (Ctrl+O shows them)\n  │ ✓ db · count 1.0 s")
	})
}

func TestTheStepsOfASubAgentAreTraced(t *testing.T) {
	session := &scripted{ask: func(ctx context.Context, _ host.Question) error { <-ctx.Done(); return ctx.Err() }}
	play(t, session, 80, 24, func(st *stage) {
		st.keys("look<enter>")
		st.tell(of("1", "scout", began("1", "files", "read", `{}`)))
		st.settle()
		st.printedText("  4 sub-agent scout: tools/call files · read {}")
	}, func(o *Options) { o.Trace = true })
}
