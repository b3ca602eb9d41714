package tui

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// hostile sets the clipboard, clears the screen, reverses text and hides some.
const hostile = "\x1b]52;c;aGk=\x07\x1b[2J\u202eabc\u200b\r\ndef\x00\u009b31m\U000e0041\xff"

// hostileSession says it everywhere.
func hostileSession() *scripted {
	quoted := `{"` + "a\\u001b[2J" + `":"\u001b]0;x\u0007\u202e"}`
	question := model.UserText(hostile)
	return &scripted{
		info:    model.Info{Name: hostile, Provider: hostile, Language: true},
		servers: []host.ServerTools{{Server: hostile, State: hostile, Error: hostile, Tools: 2}, {Server: "ev", State: host.StateConnected}},
		tools:   []host.ToolInfo{{ToolRef: host.ToolRef{Server: hostile, Tool: hostile}, Title: hostile, State: hostile}},
		prompts: []host.PromptRef{{Server: "ev", Prompt: &mcp.Prompt{Name: hostile, Title: hostile}}},
		found:   []host.ResourceRef{{Server: "ev", Resource: &mcp.Resource{URI: hostile, Name: hostile, Title: hostile}}},
		ledger:  host.WindowUse{Window: 10, Used: 5, Parts: []host.WindowPart{{Kind: hostile, Name: hostile, Tokens: 5}}},
		saved:   Saved{ID: hostile, Title: hostile},
		list:    []Saved{{ID: hostile, Title: hostile}},
		entries: []host.Entry{{Message: &question}, {Note: hostile}, {Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{
			{Text: hostile}, {Call: &model.Call{ID: "0", Name: hostile, Arguments: object(quoted)}}}}},
			{Message: &model.Message{Role: model.RoleTool, Parts: []model.Part{{Result: &model.Result{CallID: "0", Parts: []model.Part{{Text: hostile}}}}}}}},
		fail: &hostileError{},
	}
}

type hostileError struct{}

func (*hostileError) Error() string { return hostile }

// hostileRun says it in every event.
func hostileRun(st *stage) func(context.Context, host.Question) error {
	return func(context.Context, host.Question) error {
		st.tell(host.Event{Listed: &host.Listed{Servers: st.session.servers}}, host.Event{Asked: &host.Asked{Model: hostile}},
			host.Event{Delta: &model.Delta{Reasoning: hostile}}, text(hostile+"\n\n```"+hostile+"\n"+hostile+"\n```\n\n["+hostile+"]("+hostile+")"),
			host.Event{Delta: &model.Delta{Call: &model.CallDelta{Name: hostile}}},
			host.Event{Consent: &host.Consented{CallID: "1", Server: hostile, Tool: hostile, By: hostile, Rule: hostile, Reason: hostile}},
			host.Event{Called: &host.Called{CallID: "1", Server: hostile, Tool: hostile, Title: hostile, Arguments: object(hostile)}},
			host.Event{Progress: &host.Progress{CallID: "1", Progress: 1, Message: hostile}},
			host.Event{Log: &host.Logged{Server: hostile, Level: hostile, Logger: hostile, Data: object(hostile)}},
			host.Event{ServerRequest: &host.ServerRequested{Server: hostile, Method: hostile, Message: hostile, Outcome: hostile}},
			host.Event{Notice: &host.Notice{Kind: hostile, Text: hostile}})
		time.Sleep(time.Second)
		st.tell(host.Event{Returned: &host.Returned{CallID: "1", Server: hostile, Tool: hostile, Text: strings.Repeat(hostile+"\n", 9), Kept: hostile, Media: []model.Media{{Type: hostile}}}},
			host.Event{Answered: &host.Answered{Stop: hostile, Error: hostile}})
		return &hostileError{}
	}
}

// hostileCards say it in every card.
func hostileCards(st *stage) []func(ctx context.Context) (bool, error) {
	h := hostile
	return []func(ctx context.Context) (bool, error){
		func(ctx context.Context) (bool, error) {
			_, err := st.ui.Consent(ctx, host.ApprovalCard{Server: h, Tool: h, Title: h, Description: h, Arguments: object(h), Reasons: []string{h}, Resource: h,
				Always: []host.AlwaysRule{{Label: h, Rule: policy.Rule{Server: h, Tool: h, When: h}}}})
			return false, err
		},
		func(ctx context.Context) (bool, error) {
			_, err := st.ui.Review(ctx, []host.Review{{Server: h, Items: []host.ReviewItem{{Kind: h, Name: h, Text: h, Findings: []guard.Finding{{Where: h, Excerpt: h, Why: h}}}}}})
			return false, err
		},
		func(ctx context.Context) (bool, error) {
			return st.ui.Sample(ctx, host.Sampling{Server: h, Tool: h, Warnings: []string{h}, Request: &mcp.CreateMessageRequest{SystemPrompt: h,
				Messages: []mcp.SamplingMessage{{Role: mcp.Role(h), Content: mcp.SamplingContent{{Type: h}, mcp.Text(h), mcp.Image(nil, h)}}}, Tools: []mcp.Tool{{Name: h, Description: h}}}})
		},
		func(ctx context.Context) (bool, error) {
			form := `{"properties":{"\u001b[2J":{"type":"string","title":"\u202e\u001b","description":"\u001b","default":"\u001b[1m"},"b":{"type":"string","oneOf":[{"const":"\u001b","title":"\u009b"}]}}}`
			_, err := st.ui.Elicit(ctx, host.Form{Server: h, Tool: h, Request: mcp.ElicitRequest{Message: h, RequestedSchema: object(form)}, Warnings: []string{h}})
			return false, err
		},
		func(ctx context.Context) (bool, error) {
			_, err := st.ui.Elicit(ctx, host.Form{Server: h, Request: mcp.ElicitRequest{Mode: mcp.ElicitURL, Message: h, URL: "https://a\u202e.example/\u200b"}})
			return false, err
		},
	}
}

func TestHostileTextNeverReachesTheTerminal(t *testing.T) {
	session := hostileSession()
	play(t, session, 50, 24, func(st *stage) {
		session.ask = hostileRun(st)
		st.keys("<ctrl+t>x<enter>")
		st.wait(2 * time.Second)
		for _, keys := range []string{"<f2>", "<f3>", "<f4>", "<ctrl+o><enter>", "<ctrl+o><down><enter>", "<ctrl+r>", "<ctrl+f>abc", "/tools<enter>", "/resume<enter>", "/save<enter>", "/model<enter>", "/resume x<enter>", "/e", "@e"} {
			st.keys(keys + "<esc><esc><ctrl+u>")
		}
		st.send(tea.PasteMsg{Content: hostile})
		for _, ask := range hostileCards(st) {
			_, _, cancel := asks(st, ask)
			if len(st.screen.cards) != 1 {
				t.Fatal("no card")
			}
			st.keys("<down><end>a<esc>")
			cancel()
		}
		theme := st.screen.theme
		for _, l := range st.screen.paper.transcript {
			line := bare(theme.Paint(l.Cut(50)))
			if strings.ContainsFunc(line, func(r rune) bool { return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) }) {
				t.Errorf("printed %q", line)
			}
		}
	})
}
