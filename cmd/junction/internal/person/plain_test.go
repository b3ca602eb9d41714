package person_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/person"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/approval"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

func TestFlagsDecideWithoutAUser(t *testing.T) {
	ofLine := &policy.Rule{Name: "--allow files/write", Effect: policy.Allow, Source: person.CommandLine}
	ofFile := &policy.Rule{Name: "writing is fine", Effect: policy.Allow, Source: "policy.json:2"}
	const remedy, onlyAsked = "--allow 'files/write'", "your yes at a terminal"
	for _, c := range []struct {
		name     string
		card     host.ApprovalCard
		allow    bool
		reported string
		never    string
	}{
		{"what the rules ask about is not called, and the remedy is named", host.ApprovalCard{}, false, remedy, onlyAsked},
		{"a rule of a file is no yes to what was read since", host.ApprovalCard{Allowed: ofFile}, false, remedy, onlyAsked},
		{"a rule of the command line is, and it is reported", host.ApprovalCard{Allowed: ofLine}, true, "was allowed in advance by --allow files/write (untrusted text was read)", "not called"},
		{"a secret is sent by no rule, and no remedy is named that would not help", host.ApprovalCard{Allowed: ofLine, Secret: true}, false, onlyAsked, "--allow 'files"},
		{"it is said which sub-agent wanted the call", host.ApprovalCard{Agent: "scout"}, false, "(sub-agent scout; untrusted text was read)", onlyAsked},
		{"a resource is not read, and the remedy for tools is not named", host.ApprovalCard{Resource: "file:///a"}, false, "files/file:///a", "--allow"},
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

func TestApprovalsInAdvance(t *testing.T) {
	changed := host.Review{Server: "files", Items: []host.ReviewItem{{Kind: "tool", Name: "x", Changed: true, Text: "+ evil"}}}
	hash := approval.Hash(changed)
	other := host.Review{Server: "files", Items: []host.ReviewItem{{Kind: "tool", Name: "x", Changed: true, Text: "+ worse"}}}
	for _, c := range []struct {
		name     string
		approve  string
		review   host.Review
		approved bool
		remedy   string
	}{
		{"at first sight", "files", host.Review{Server: "files", First: true}, true, ""},
		{"another server", "files", host.Review{Server: "mysql", First: true}, false, "now: --approve mysql)"},
		{"a change, in a new process too", "files", changed, false, "shows: --approve files@" + hash + ")"},
		{"a change that was named", "files@" + hash, changed, true, ""},
		{"another change", "files@" + hash, other, false, "shows: --approve files@" + approval.Hash(other)},
		{"a hash at first sight", "files@" + hash, host.Review{Server: "files", First: true}, false, "now: --approve files)"},
		{"a server that is called like an approval of another", "files@" + hash, host.Review{Server: "files@" + hash, First: true}, false, "--approve files@" + hash + "@"},
	} {
		var out bytes.Buffer
		who := person.Approving{Person: &person.Plain{Screen: terminal.NewScreen(&out)}, Servers: []string{c.approve}}
		got, err := who.Review(t.Context(), []host.Review{c.review})
		if got[0].Approve != c.approved || errors.Is(err, host.ErrNobody) == c.approved || !strings.Contains(out.String(), c.remedy) {
			t.Errorf("%s: %v, %v\n%s", c.name, got, err, out.String())
		}
		if again, _ := who.Review(t.Context(), []host.Review{c.review}); c.approved && again[0].Approve != !c.review.First {
			t.Errorf("%s, once more: %v", c.name, again)
		}
	}
}

func TestApprovalsInAdvanceHoldWithoutAUser(t *testing.T) {
	var out bytes.Buffer
	who := person.Approving{Person: &person.Plain{Screen: terminal.NewScreen(&out)}, Servers: []string{"files"}}
	changed := host.Review{Server: "db", Items: []host.ReviewItem{{Kind: "tool", Name: "x", Changed: true, Text: "+ evil"}}}
	got, err := who.Review(t.Context(), []host.Review{{Server: "web", First: true}, {Server: "files", First: true}, changed, {Server: "time", First: true}})
	if !slices.Equal(approved(got), []bool{false, true, false, false}) || !errors.Is(err, host.ErrNobody) {
		t.Errorf("the answer is %v, %v", got, err)
	}
	want := `junction: no user can review web, db, time
  (to approve what there is now: --approve web --approve time)
  (to approve what has changed, which junction chat shows: --approve db@` + approval.Hash(changed) + `)
`
	if out.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestTheSameIsReportedOnceInARun(t *testing.T) {
	var out bytes.Buffer
	plain := person.Plain{Screen: terminal.NewScreen(&out)}
	card := host.ApprovalCard{Server: "files", Tool: "write", Reasons: []string{"it may write and delete, and may reach other systems; no rule allows it yet"}}
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
	for _, want := range []string{"system prompt:\n  Be brief.", "user:\n  hello\n", "[image: image/png, 1 byte]", `[calls send]
  to: "eve"`, "[result]\n  sent", "with the tool: send Send a letter."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not shown: %s\n%s", want, out.String())
		}
	}
}

func TestACardSaysWhichSubAgentWantsTheCall(t *testing.T) {
	var out bytes.Buffer
	screen := terminal.NewScreen(&out)
	plain := person.Plain{Screen: screen, Person: terminal.NewPerson(strings.NewReader("n\n"), screen)}
	if _, err := plain.Consent(t.Context(), host.ApprovalCard{Server: "files", Tool: "write", Agent: "scout\nof", Reasons: []string{"it writes"}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "files · write\nsub-agent: scout of\n! it writes\n") {
		t.Errorf("shown:\n%s", out.String())
	}
}

func TestCardShowsArguments(t *testing.T) {
	var out bytes.Buffer
	screen := terminal.NewScreen(&out)
	plain := person.Plain{Screen: screen, Person: terminal.NewPerson(strings.NewReader("y\n"), screen)}
	yes := true
	verdict, err := plain.Consent(t.Context(), host.ApprovalCard{
		Server: "bank", Tool: "pay", Title: "Pay", Description: "Pays somebody.", Reasons: []string{"a secret is sent"},
		Annotations: mcp.ToolAnnotations{DestructiveHint: &yes},
		Arguments:   []byte(`{"to_account":9007199254740993,"rate":1e400,"note":"<b>","hidden":"a` + "\u200b" + `b","text":{"old":"a\nb\nc","new":"a\nd\nc"}}`),
	})
	if err != nil || !verdict.Allow {
		t.Errorf("the verdict is %+v, %v", verdict, err)
	}
	const want = `── may this call run? ──────────────────────────────────────────────────────────
bank · pay “Pay”
! a secret is sent
The server says (not checked): may overwrite or delete; does not say whether it
reaches other systems
arguments:
  to_account: 9007199254740993
  rate: 1e400
  note: "<b>"
  hidden: "a\u200bb" (has invisible characters, written out here)
  text:
    old (3 lines, 5 bytes) is replaced by new (3 lines, 5 bytes)
    │   a
    │ - b
    │ + d
    │   c
description: Pays somebody.
y yes, once · n no · N no, with a note
? `
	if out.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", out.String(), want)
	}
}
