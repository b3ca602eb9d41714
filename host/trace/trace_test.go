package trace

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/event"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// teller tells a trace what happens, each thing 7 ms after the other.
type teller struct {
	*Trace
	at time.Time
}

func (t *teller) tick() time.Time { t.at = t.at.Add(7 * time.Millisecond); return t.at }

func (t *teller) event(e host.Event) {
	e.At, e.Run = t.tick(), 1
	t.Event(e)
}

func (t *teller) message(server, id, call, method string, toServer bool, k event.Kind, body string) {
	t.Trace.message(frame{at: t.tick(), server: server, id: id, call: call, Step: event.Step{Kind: k, ToServer: toServer, Method: method, Body: json.RawMessage(body)}})
}

func call(id, name, arguments string) model.Part {
	return model.Part{Call: &model.Call{ID: id, Name: name, Arguments: json.RawMessage(arguments)}}
}

// script is a run with everything: two calls side by side, a question, a refusal, a failure.
func script(o Options) *Trace {
	t := &teller{New(o), noon}
	t.message("db", "1", "", "tools/list", true, event.Request, `{}`)
	t.message("db", "1", "", "tools/list", false, event.Response, `{"tools":[{"name":"query","inputSchema":{"type":"object"}}]}`)
	t.event(host.Event{Listed: &host.Listed{Native: 12, Deferred: 30, Tokens: 1800, Servers: []host.ServerTools{
		{Server: "db", State: "connected", Tools: 2, Seen: 2, Tokens: 310},
		{Server: "files", State: "connected", Tools: 40, Seen: 38, Tokens: 5200},
		{Server: "mail", State: "failed", Error: "exit status 1"},
	}}})
	first := &model.Request{System: "You are the host's model.", Messages: []model.Message{model.UserText("Which alarm types are there? Save them as CSV.")},
		Tools: []model.Tool{{Name: "db__query"}, {Name: "files__write"}}}
	t.event(host.Event{Asked: &host.Asked{Model: "gpt-example", Messages: 1, Tools: 12, Tokens: 2100, Request: first}})
	decision := &model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: "I look."},
		call("c1", "db__query", `{"sql": "SELECT type, count(*) FROM alarm GROUP BY type"}`), call("c2", "files__write", `{"path":"alarms.csv"}`), call("c3", "search_tools", `{"queries":["mail"]}`)}}
	t.event(host.Event{Decided: &host.Decided{Message: decision, Stop: model.StopCalls, StopDetail: "tool_calls", Usage: model.Usage{Input: 2104, Output: 61}, Cost: 0.0031,
		Exchanges: []model.Exchange{{Method: "POST", URL: "https://api.example/v1/chat/completions", Status: 200,
			RequestBody: []byte(`{"model":"gpt-example","api_key":"sk-abcdefghijklmnop1234","messages":[]}`), ResponseBody: []byte("data: {\"choices\":[]}\n\ndata: [DONE]")}}}})
	t.event(host.Event{Consent: &host.Consented{CallID: "c1", Server: "db", Tool: "query", Allowed: true, By: "policy", Rule: "read-only"}})
	t.event(host.Event{Consent: &host.Consented{CallID: "c2", Server: "files", Tool: "write", Allowed: true, By: "person"}})
	t.event(host.Event{Called: &host.Called{CallID: "c1", Server: "db", Tool: "query", Arguments: json.RawMessage(`{"sql": "SELECT type, count(*) FROM alarm GROUP BY type"}`)}})
	t.message("db", "2", "c1", "tools/call", true, event.Request, `{"name":"query","arguments":{"sql":"SELECT type, count(*) FROM alarm GROUP BY type"}}`)
	t.event(host.Event{Called: &host.Called{CallID: "c2", Server: "files", Tool: "write", Arguments: json.RawMessage(`{"path":"alarms.csv"}`)}})
	t.event(host.Event{Progress: &host.Progress{CallID: "c2", Server: "files", Tool: "write", Progress: 1, Total: 2, Message: "opening"}})
	t.event(host.Event{Progress: &host.Progress{CallID: "c1", Server: "db", Tool: "query", Progress: 1}})
	t.message("db", "", "c1", "notifications/progress", false, event.Notification, `{"progress":1,"progressToken":2}`)
	t.message("db", `"3"`, "c1", "elicitation/create", false, event.Request, `{"message":"Which password?","requestedSchema":{}}`)
	t.event(host.Event{ServerRequest: &host.ServerRequested{CallID: "c1", Server: "db", Method: "elicitation/create", Message: "Which password?", Outcome: "accept"}})
	t.message("db", `"3"`, "c1", "elicitation/create", true, event.Response, `{"action":"accept","content":{"password":"swordfish"}}`)
	t.event(host.Event{Called: &host.Called{CallID: "c3", Tool: "search_tools", Arguments: json.RawMessage(`{"queries":["mail"]}`)}})
	t.event(host.Event{Returned: &host.Returned{CallID: "c3", Tool: "search_tools", Duration: 300 * time.Microsecond, Text: "mail/send", Tokens: 40, Bytes: 160}})
	t.event(host.Event{Returned: &host.Returned{CallID: "c2", Server: "files", Tool: "write", Duration: 30 * time.Millisecond, IsError: true, Text: "alarms.csv: no space left on device", Tokens: 9, Bytes: 35}})
	t.message("db", "2", "c1", "tools/call", false, event.Response, `{"content":[{"type":"text","text":"fire 7\nflood 3"}]}`)
	t.event(host.Event{Returned: &host.Returned{CallID: "c1", Server: "db", Tool: "query", Duration: 41 * time.Millisecond, Text: "fire 7\nflood 3", Tokens: 5, Bytes: 61, Kept: "junction://kept/1"}})
	t.event(host.Event{Notice: &host.Notice{Kind: host.NoticeGuard, Server: "db", Text: "the result holds text of an untrusted server"}})
	t.event(host.Event{Asked: &host.Asked{Model: "gpt-example", Messages: 4, Tools: 12, Tokens: 2300}})
	t.event(host.Event{Decided: &host.Decided{Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: "Two: fire (7) and flood (3)."}}}, Stop: model.StopEnd, Usage: model.Usage{Input: 2290, Output: 20}, Cost: 0.0024}})
	t.event(host.Event{Answered: &host.Answered{Text: "Two: fire (7) and flood (3). The file could not be written.", Stop: "end", Cost: 0.0055,
		Totals: host.Totals{Usage: model.Usage{Input: 4394, Output: 81}, Cost: 0.0055, Requests: 2, Calls: 3, Asked: 1, Duration: 1234 * time.Millisecond}}})
	return t.Trace
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || got != string(want) {
		t.Errorf("%s (%v): run with -update and look at the difference; got\n%s", name, err, got)
	}
}

func written(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestARunIsReportedInEveryForm(t *testing.T) {
	t.Parallel()
	var live, narrow bytes.Buffer
	trace := script(Options{Out: &live})
	golden(t, "run.txt", live.String())
	question := "    ← person question: Which alarm types are there? Save them as CSV.\n"
	if got := written(t, trace.WriteText); strings.Replace(got, question, "", 1) != live.String() || !strings.Contains(got, question) {
		t.Errorf("afterwards it is reported differently:\n%s", got)
	}
	script(Options{Out: &narrow, Width: 60})
	golden(t, "run-60.txt", narrow.String())
	golden(t, "run.mmd", written(t, trace.WriteMermaid))
	golden(t, "run.svg", written(t, trace.WriteSVG))
}
