// The demo shows the terminal interface with a session that plays a script: every
// kind of thing that can appear on the screen, without a model or a server.
//
//	go run ./host/tui/internal/demo [THEME]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

func main() {
	theme := ""
	if len(os.Args) > 1 {
		theme = os.Args[1]
	}
	ui, err := tui.New(tui.Options{Theme: theme, Greeting: "**Junction**: a demo. Ask anything; `/help` lists the keys.", NoColor: os.Getenv("NO_COLOR") != ""})
	if err == nil {
		err = ui.Run(context.Background(), &session{ui: ui})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// session plays the script.
type session struct {
	ui      *tui.UI
	entries []host.Entry
}

const answer = "# The result\n\nThe sum of *two* and **forty** is `42`. See [the manual](https://example.com/manual).\n\n" +
	"| tool | calls | what it is for |\n|:--|--:|---|\n| add | 1 | adds two numbers and explains at length how it came to its result |\n| echo | 0 | says it again |\n\n" +
	"- first\n  - nested, with a long text that has to be wrapped somewhere because it does not fit on a line\n- second\n\n" +
	"```go\nfunc main() {\n\tfmt.Println(2 + 40)\n}\n```\n\n> Quoted \x1b[31mhostile\u202e text.\n"

// Ask plays a run.
func (s *session) Ask(ctx context.Context, q host.Question) error {
	s.tell(host.Event{Asked: &host.Asked{Model: "demo", Messages: 1, Tools: 3}}, time.Second)
	for _, word := range []string{"The person wants a sum. ", "I have a tool for that. ", "I will ask first."} {
		s.tell(host.Event{Delta: &model.Delta{Reasoning: word}}, 400*time.Millisecond)
	}
	arguments := json.RawMessage(`{"a":2,"b":40,"note":"line one\nline two\u200b with something invisible","options":{"exact":true,"units":["m","km"]}}`)
	yes, no := true, false
	verdict, err := s.ui.Consent(ctx, host.Card{
		CallID: "1", Server: "everything", Tool: "add", Title: "Add numbers", Description: "Adds two numbers.", Arguments: arguments,
		Annotations: mcp.ToolAnnotations{ReadOnlyHint: &yes, OpenWorldHint: &no},
		Reasons:     []string{"text of an untrusted server (web) was read before"},
		Always: []host.AlwaysRule{
			{Label: "this tool with these arguments", Rule: policy.Rule{Effect: policy.Allow, Server: "everything", Tool: "add", When: "args.a == 2"}},
			{Label: "this tool with any arguments", Rule: policy.Rule{Effect: policy.Allow, Server: "everything", Tool: "add"}},
		},
	})
	if err != nil {
		return err
	}
	s.tell(host.Event{Consent: &host.Consented{CallID: "1", Server: "everything", Tool: "add", Allowed: verdict.Allow, By: "person", Reason: verdict.Note}}, 0)
	if verdict.Allow {
		s.call(ctx, arguments)
	}
	for i := 0; i < len(answer) && ctx.Err() == nil; i += 7 {
		s.tell(host.Event{Delta: &model.Delta{Text: answer[i:min(len(answer), i+7)]}}, 20*time.Millisecond)
	}
	s.tell(host.Event{Answered: &host.Answered{Stop: "end"}}, 0)
	return ctx.Err()
}

// call plays a call in which the server asks for something.
func (s *session) call(ctx context.Context, arguments json.RawMessage) {
	s.tell(host.Event{Called: &host.Called{CallID: "1", Server: "everything", Tool: "add", Title: "Add numbers", Arguments: arguments}}, 0)
	for i := range 10 {
		s.tell(host.Event{Progress: &host.Progress{CallID: "1", Progress: float64(i), Total: 10, Message: "adding"}}, 150*time.Millisecond)
	}
	form := json.RawMessage(`{"type":"object","required":["name"],"properties":{"name":{"type":"string","title":"Your name","minLength":2},
		"size":{"type":"string","enum":["small","large"]},"colours":{"type":"array","items":{"anyOf":[{"const":"r","title":"red"},{"const":"g","title":"green"}]}},
		"sure":{"type":"boolean","default":true}}}`)
	result, err := s.ui.Elicit(ctx, host.Form{Server: "everything", Tool: "add", Request: mcp.ElicitRequest{Message: "Who is asking?", RequestedSchema: form}})
	if err != nil {
		return
	}
	s.tell(host.Event{ServerRequest: &host.ServerRequested{CallID: "1", Server: "everything", Method: "elicitation/create", Message: "Who is asking?", Outcome: result.Action}}, 0)
	s.tell(host.Event{Returned: &host.Returned{CallID: "1", Server: "everything", Tool: "add", Duration: 1500 * time.Millisecond, Text: "42\n" + string(result.Content) + "\n3\n4\n5\n6", Tokens: 12, Bytes: 30}}, 0)
}

func (s *session) tell(e host.Event, pause time.Duration) {
	s.ui.Event(e)
	time.Sleep(pause)
}

// What else the screen needs.

func (s *session) Model() model.Info { return model.Info{Name: "demo", Provider: "script"} }
func (s *session) Servers() []host.ServerTools {
	return []host.ServerTools{{Server: "everything", State: host.StateConnected, Tools: 5, Seen: 3, Tokens: 900}, {Server: "web", State: host.StateFailed, Error: "the command is not found"}}
}
func (s *session) Tools() []host.ToolInfo {
	return []host.ToolInfo{{ToolRef: host.ToolRef{Server: "everything", Tool: "add"}, Title: "Add numbers", State: host.ToolSent}}
}
func (s *session) Prompts() []host.PromptRef {
	return []host.PromptRef{{Server: "everything", Prompt: &mcp.Prompt{Name: "greet", Title: "A greeting", Arguments: []mcp.PromptArgument{{Name: "name", Required: true}}}}}
}
func (s *session) Resources() []host.ResourceRef {
	return []host.ResourceRef{{Server: "everything", Resource: &mcp.Resource{URI: "demo://text", Title: "A text"}}}
}
func (s *session) Templates() []host.TemplateRef {
	return []host.TemplateRef{{Server: "everything", Template: &mcp.ResourceTemplate{URITemplate: "demo://{id}"}}}
}
func (s *session) Complete(context.Context, string, mcp.CompletionRequest) (*mcp.Completion, error) {
	return &mcp.Completion{Values: []string{"Ada", "Grace"}}, nil
}
func (s *session) Ledger() host.Ledger {
	return host.Ledger{Window: 32_000, Used: 2_345, Parts: []host.LedgerPart{{Kind: "system", Name: "system prompt", Tokens: 345}, {Kind: "tools", Name: "everything", Tokens: 2_000, Deferred: 700}}}
}
func (s *session) Totals() host.Totals {
	return host.Totals{Usage: model.Usage{Input: 1_200, Output: 300}, Cost: 0.0123, Requests: 2, Calls: 1}
}
func (s *session) Plan() host.Plan { return host.Plan{} }
func (s *session) ChangePlan(func(host.Plan) (host.Plan, error)) (host.Plan, error) {
	return host.Plan{}, errors.New("a demo has no plans")
}
func (s *session) Propose(context.Context, string) (host.Plan, error) {
	return host.Plan{}, errors.New("a demo has no plans")
}
func (s *session) Execute(context.Context, func(host.Plan)) error { return nil }
func (s *session) ReviewAgain(string) error                       { return nil }
func (s *session) Restart(string) error                           { return nil }
func (s *session) SetOff(string, bool) error                      { return nil }
func (s *session) Trust(string, bool) error                       { return nil }
func (s *session) Distrust(string) error                          { return nil }
func (s *session) Stderr(string) []string                         { return []string{"ready"} }
func (s *session) Approvals() []guard.Approval                    { return nil }
func (s *session) Withdraw(guard.Approval) error                  { return nil }
func (s *session) Tasks() []host.Task                             { return nil }
func (s *session) CancelTask(context.Context, int) error          { return nil }
func (s *session) LeaveTask(int) error                            { return nil }
func (s *session) WatchTasks(context.Context)                     {}
func (s *session) Keep(string) error                              { return nil }
func (s *session) Compact(context.Context) error                  { return nil }
func (s *session) Saved() tui.Saved                               { return tui.Saved{ID: "abcd1234", Title: "A demo"} }
func (s *session) Entries() []host.Entry                          { return s.entries }
func (s *session) New(context.Context) error                      { s.entries = nil; return nil }
func (s *session) Fork(context.Context) error                     { return nil }
func (s *session) Rewind(context.Context, int) error              { return nil }
func (s *session) Name(context.Context, string) error             { return nil }
func (s *session) Export(context.Context, string) (string, error) { return "", tui.ErrNotKept }
func (s *session) Resume(context.Context, string) error {
	question := model.UserText("What did I ask before?")
	s.entries = []host.Entry{{Message: &question}, {Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: "*Nothing*, so far."}}}}}
	return nil
}
func (s *session) List(context.Context) ([]tui.Saved, error) {
	return []tui.Saved{{ID: "abcd1234", Title: "A demo", Questions: 1, Changed: time.Now()}}, nil
}
