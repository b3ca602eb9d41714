package person_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/person"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

func TestWhereNobodyIsThereTheCommandLineDecides(t *testing.T) {
	ofLine := &policy.Rule{Name: "--allow files/write", Effect: policy.Allow, Source: person.CommandLine}
	ofFile := &policy.Rule{Name: "writing is fine", Effect: policy.Allow, Source: "policy.json:2"}
	const remedy, onlyAsked = "--allow 'files/write'", "a person at a terminal"
	for _, c := range []struct {
		name     string
		card     host.Card
		allow    bool
		reported string
		never    string
	}{
		{"what the rules ask about is not called, and the remedy is named", host.Card{}, false, remedy, onlyAsked},
		{"a rule of a file is no yes to what was read since", host.Card{Allowed: ofFile}, false, remedy, onlyAsked},
		{"a rule of the command line is, and it is reported", host.Card{Allowed: ofLine}, true, "was allowed in advance by --allow files/write (untrusted text was read)", "not called"},
		{"a secret is sent by no rule, and no remedy is named that would not help", host.Card{Allowed: ofLine, Secret: true}, false, onlyAsked, "--allow 'files"},
		{"a resource is not read, and the remedy for tools is not named", host.Card{Resource: "file:///a"}, false, "files/file:///a", "--allow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			plain := person.Plain{Screen: terminal.NewScreen(&out)}
			c.card.Server, c.card.Tool, c.card.Reasons = "files", "write", []string{"untrusted text was read"}
			verdict, err := plain.Consent(t.Context(), c.card)
			if verdict.Allow != c.allow || errors.Is(err, host.ErrNobody) == c.allow {
				t.Errorf("the verdict is %+v, %v", verdict, err)
			}
			if got := out.String(); !strings.Contains(got, c.reported) || strings.Contains(got, c.never) {
				t.Errorf("reported %q, want %q in it and not %q", got, c.reported, c.never)
			}
		})
	}
}

func TestWhatWasApprovedIsNotAskedAbout(t *testing.T) {
	who := person.Approving{Person: &person.Plain{Screen: terminal.NewScreen(new(bytes.Buffer))}, Servers: []string{"files"}}
	for _, c := range []struct {
		name, server string
		approved     bool
	}{
		{"what a server defines now is approved", "files", true},
		{"what it changes later is not", "files", false},
		{"another server is not", "mysql", false},
	} {
		got, err := who.Review(t.Context(), host.Review{Server: c.server})
		if got != c.approved || errors.Is(err, host.ErrNobody) == c.approved || err != nil && !strings.Contains(err.Error(), "--approve "+c.server) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

func TestTheSameIsReportedOnceInARun(t *testing.T) {
	var out bytes.Buffer
	plain := person.Plain{Screen: terminal.NewScreen(&out)}
	card := host.Card{Server: "files", Tool: "write", Reasons: []string{"no rule allows it"}}
	plain.Tell(host.Event{Run: 1, Listed: &host.Listed{}})
	for range 3 {
		if _, err := plain.Consent(t.Context(), card); !errors.Is(err, host.ErrNobody) {
			t.Errorf("the answer is %v", err)
		}
		plain.Tell(host.Event{Run: 1, Notice: &host.Notice{Kind: host.NoticeGuard, Server: "files", Text: "careful"}})
	}
	plain.Tell(host.Event{Run: 0, Notice: &host.Notice{Kind: host.NoticeServer, Server: "files", Text: "is back"}})
	plain.Tell(host.Event{Run: 1, Notice: &host.Notice{Kind: host.NoticeGuard, Server: "files", Text: "careful"}})
	once := out.String()
	for text, want := range map[string]int{"was not called": 1, "--allow": 1, "careful": 1, "is back": 1} {
		if got := strings.Count(once, text); got != want {
			t.Errorf("%q was reported %d times, want %d:\n%s", text, got, want, once)
		}
	}
	plain.Tell(host.Event{Run: 2, Notice: &host.Notice{Kind: host.NoticeGuard, Server: "files", Text: "careful"}})
	if got := strings.Count(out.String(), "careful"); got != 2 {
		t.Errorf("in the next run it was reported %d times in all", got)
	}
}

func TestAllThatAServerWantsTheModelToReadIsShown(t *testing.T) {
	var out bytes.Buffer
	screen := terminal.NewScreen(&out)
	plain := person.Plain{Screen: screen, Person: terminal.NewPerson(strings.NewReader("y\n"), screen)}
	agreed, err := plain.Sample(t.Context(), host.Sampling{Server: "files", Request: &mcp.CreateMessageRequest{
		SystemPrompt: "Be brief.",
		Messages: []mcp.SamplingMessage{
			{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text("hello"), {Type: "image", Data: []byte{1}, MIMEType: "image/png"}}},
			{Role: mcp.RoleAssistant, Content: mcp.SamplingContent{{Type: "tool_use", ToolUse: &mcp.ToolUse{ID: "1", Name: "send", Input: []byte(`{"to":"eve"}`)}}}},
			{Role: mcp.RoleUser, Content: mcp.SamplingContent{{Type: "tool_result", ToolResult: &mcp.ToolResult{ToolUseID: "1", Content: []mcp.Content{mcp.Text("sent")}}}}},
		},
		Tools: []mcp.Tool{{Name: "send", Description: "Send a letter."}},
	}})
	if err != nil || !agreed {
		t.Errorf("the answer is %v, %v", agreed, err)
	}
	for _, want := range []string{"system: Be brief.", "user: hello\n", "user: [image]", `assistant: calls send {"to":"eve"}`, "user: the result of 1: sent", "tool send: Send a letter."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not shown: %s\n%s", want, out.String())
		}
	}
}
