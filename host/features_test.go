package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/model"
)

// eras are the ways in which a server can be connected: with requests to the client that come
// as results of their own, and with requests in the middle of a call.
func eras(t *testing.T, run func(t *testing.T, connect func(*mcp.Server) mcp.Handler)) {
	t.Run("in this process", func(t *testing.T) { run(t, func(s *mcp.Server) mcp.Handler { return s }) })
	for _, revision := range []string{"2025-06-18", "2025-11-25", ""} {
		t.Run("over a stream "+revision, func(t *testing.T) {
			run(t, func(s *mcp.Server) mcp.Handler {
				c, err := mcp.DialWith(t.Context(), stream.Pipe(s), mcp.ClientOptions{Bridge: true, OneClient: &mcp.Meta{Capabilities: Capabilities()}, Revision: revision})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				return c
			})
		})
	}
}

type size struct {
	Size string `json:"size"`
}

// shop is a server whose one tool asks for a size.
func shop() *mcp.Server {
	srv := mcp.NewServer("shop", "1")
	mcp.AddToolWith(srv, mcp.Tool{Name: "order", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) {
		in, err := mcp.ElicitWith[size](ctx, mcp.ElicitRequest{Message: "Which size?", Key: "size"})
		switch {
		case errors.Is(err, mcp.ErrDeclined):
			return "no order: declined", nil
		case errors.Is(err, mcp.ErrDismissed):
			return "no order: dismissed", nil
		case err != nil:
			return "", err
		}
		return "ordered " + in.Size, nil
	})
	return srv
}

func TestFormsReachTheUserAndReturn(t *testing.T) {
	accept := func(Form) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"size":"large"}`)}
	}
	tests := []struct {
		name    string
		answer  func(Form) *mcp.ElicitResult
		want    string
		outcome string
	}{
		{"filled in", accept, "ordered large", "accept"},
		{"declined", nil, "no order: declined", "decline"},
		{"dismissed", func(Form) *mcp.ElicitResult { return &mcp.ElicitResult{Action: mcp.ElicitCancel} }, "no order: dismissed", "cancel"},
	}
	eras(t, func(t *testing.T, connect func(*mcp.Server) mcp.Handler) {
		for _, test := range tests {
			s := play(t, Options{Person: &desk{elicit: test.answer}, Servers: []Server{{Name: "shop", Handler: connect(shop()), Trusted: true}}},
				scripted.Call("shop__order", ""), scripted.Say("done"))
			ask(t, s.Conversation(nil), "order it")
			if got := s.results(t)[0].Text(); got != test.want {
				t.Errorf("%s: the model reads %q, want %q", test.name, got, test.want)
			}
			if len(s.desk.forms) != 1 || s.desk.forms[0].Server != "shop" || s.desk.forms[0].Tool != "order" || s.desk.forms[0].Request.Message != "Which size?" {
				t.Errorf("%s: the person saw %+v", test.name, s.desk.forms)
			}
			asked := s.eventsOf(func(e Event) bool { return e.ServerRequest != nil })
			if len(asked) != 1 || asked[0].ServerRequest.Outcome != test.outcome || asked[0].ServerRequest.CallID != "call_1" || asked[0].Step != 1 {
				t.Errorf("%s: reported %+v", test.name, asked)
			}
		}
	})
}

func TestFormsAreDismissedWithoutAUser(t *testing.T) {
	h, err := New(Options{Model: scripted.New(scripted.Call("shop__order", ""), scripted.Say("done")), Servers: []Server{{Name: "shop", Handler: shop(), Trusted: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	c := h.Conversation(nil)
	ask(t, c, "order it")
	if got := c.Messages()[2].Parts[0].Result.Text(); got != "no order: dismissed" {
		t.Errorf("the model reads %q", got)
	}
}

func TestURLsReachTheUser(t *testing.T) {
	srv := mcp.NewServer("bank", "1")
	mcp.AddToolWith(srv, mcp.Tool{Name: "login", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) {
		result, err := mcp.ElicitRaw(ctx, mcp.ElicitRequest{Key: "login", Mode: mcp.ElicitURL, Message: "Please sign in", URL: "https://bank.example/login", ElicitationID: "e1"})
		if err != nil {
			return "", err
		}
		return result.Action, nil
	})
	s := play(t, Options{Person: &desk{elicit: func(f Form) *mcp.ElicitResult {
		if f.Request.Mode != mcp.ElicitURL || f.Request.URL != "https://bank.example/login" {
			t.Errorf("the person saw %+v", f.Request)
		}
		return &mcp.ElicitResult{Action: mcp.ElicitAccept}
	}}, Servers: []Server{{Name: "bank", Handler: srv, Trusted: true}}}, scripted.Call("bank__login", ""), scripted.Say("done"))
	ask(t, s.Conversation(nil), "log in")
	if got := s.results(t)[0].Text(); got != mcp.ElicitAccept {
		t.Errorf("the model reads %q", got)
	}
}

// poet is a server whose tool has the model write for it.
func poet(req func() mcp.CreateMessageRequest) *mcp.Server {
	srv := mcp.NewServer("poet", "1")
	mcp.AddToolWith(srv, mcp.Tool{Name: "write", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) {
		r := req()
		r.Key = "verse"
		result, err := mcp.Sample(ctx, r)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		for _, c := range result.Content {
			b.WriteString(c.Text)
			if c.ToolUse != nil {
				fmt.Fprintf(&b, "[wants %s %s as %s]", c.ToolUse.Name, c.ToolUse.Input, c.ToolUse.ID)
			}
		}
		return b.String() + " (" + result.StopReason + ")", nil
	})
	return srv
}

func plainSample() mcp.CreateMessageRequest {
	return mcp.CreateMessageRequest{MaxTokens: 100, SystemPrompt: "You rhyme.", Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text("A verse, please")}}}}
}

func TestAServerCanUseTheModel(t *testing.T) {
	eras(t, func(t *testing.T, connect func(*mcp.Server) mcp.Handler) {
		s := play(t, Options{Servers: []Server{{Name: "poet", Handler: connect(poet(plainSample)), Trusted: true}}},
			scripted.Call("poet__write", ""), scripted.Say("Roses are red."), scripted.Say("done"))
		c := s.Conversation(nil)
		answer := ask(t, c, "write")
		if got := s.results(t)[0].Text(); got != "Roses are red. (endTurn)" {
			t.Errorf("the server got %q", got)
		}
		sampled := s.model.Requests()[1]
		if sampled.System != "You rhyme." || len(sampled.Tools) != 0 || sampled.MaxTokens != 100 {
			t.Errorf("the model was asked %+v", sampled)
		}
		if len(s.desk.samplings) != 1 || s.desk.samplings[0].Server != "poet" || s.desk.samplings[0].Tool != "write" || s.desk.samplings[0].Tokens < 100 || s.desk.samplings[0].Budget != defaultSampling {
			t.Errorf("the person saw %+v", s.desk.samplings)
		}
		if answer.Totals.Requests != 3 {
			t.Errorf("%d requests were counted, want 3", answer.Totals.Requests)
		}
	})
}

func TestAServerCanHandItsOwnToolsToTheModel(t *testing.T) {
	request := func() mcp.CreateMessageRequest {
		return mcp.CreateMessageRequest{
			MaxTokens: 100, ToolChoice: &mcp.ToolChoice{Mode: "required"},
			Tools: []mcp.Tool{{Name: "look.up", Description: "Look up a word.", InputSchema: json.RawMessage(`{"type":"object"}`)}},
			Messages: []mcp.SamplingMessage{
				{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text("What rhymes with orange?")}},
				{Role: mcp.RoleAssistant, Content: mcp.SamplingContent{{Type: "tool_use", ToolUse: &mcp.ToolUse{ID: "u1", Name: "look.up", Input: json.RawMessage(`{"word":"orange"}`)}}}},
				{Role: mcp.RoleUser, Content: mcp.SamplingContent{{Type: "tool_result", ToolResult: &mcp.ToolResult{ToolUseID: "u1", Content: []mcp.Content{mcp.Text("nothing")}}}}},
			},
		}
	}
	s := play(t, Options{Servers: []Server{{Name: "poet", Handler: poet(request), Trusted: true}}},
		scripted.Call("poet__write", ""), scripted.Func(func(req *model.Request) (*model.Response, error) {
			return &model.Response{Message: model.Message{Parts: []model.Part{scripted.Calling(req.Tools[0].Name, `{"word":"door hinge"}`)}}}, nil
		}), scripted.Say("done"))
	ask(t, s.Conversation(nil), "write")
	sampled := s.model.Requests()[1]
	if len(sampled.Tools) != 1 || sampled.Choice != model.ChoiceRequired || sampled.Messages[2].Parts[0].Result.Name != sampled.Tools[0].Name {
		t.Errorf("the model was asked %+v", sampled)
	}
	if got := s.results(t)[0].Text(); !strings.Contains(got, `[wants look.up {"word":"door hinge"}`) || !strings.Contains(got, "(toolUse)") {
		t.Errorf("the server got %q", got)
	}
}

func TestSamplingIsLimited(t *testing.T) {
	long := func() mcp.CreateMessageRequest {
		r := plainSample()
		r.Messages[0].Content[0].Text = strings.Repeat("rhyme ", 2_000)
		return r
	}
	broken := func() mcp.CreateMessageRequest {
		r := plainSample()
		r.Messages = append([]mcp.SamplingMessage{{Role: mcp.RoleAssistant, Content: mcp.SamplingContent{mcp.Text("I begin")}}}, r.Messages...)
		return r
	}
	tests := []struct {
		name    string
		request func() mcp.CreateMessageRequest
		o       Options
		want    string
		outcome string
	}{
		{"the person says no", plainSample, Options{Person: &desk{sample: func(Sampling) bool { return false }}}, "the user declined", "decline"},
		{"beyond the budget", long, Options{WindowShares: WindowShares{Sampling: 500}}, "500 more tokens", "refused: "},
		{"what no provider takes", broken, Options{}, "the first must be the user's", "refused: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.o.Servers = []Server{{Name: "poet", Handler: poet(test.request), Trusted: true}}
			s := play(t, test.o, scripted.Call("poet__write", ""), scripted.Say("done"))
			ask(t, s.Conversation(nil), "write")
			if got := s.results(t)[0]; !got.IsError || !strings.Contains(got.Text(), test.want) {
				t.Errorf("the server got %q", got.Text())
			}
			if len(s.desk.samplings) == 1 != (test.outcome == "decline") || s.model.Remaining() != 0 {
				t.Errorf("the person was asked %d times", len(s.desk.samplings))
			}
			if reported := s.eventsOf(func(e Event) bool { return e.ServerRequest != nil }); len(reported) != 1 || !strings.HasPrefix(reported[0].ServerRequest.Outcome, test.outcome) {
				t.Errorf("reported %+v", reported)
			}
		})
	}
}

func TestTheBudgetOfAServerIsUsedUp(t *testing.T) {
	s := play(t, Options{WindowShares: WindowShares{Sampling: 260}, Servers: []Server{{Name: "poet", Handler: poet(plainSample), Trusted: true}}},
		scripted.Call("poet__write", ""), scripted.Say(strings.Repeat("verse ", 120)), scripted.Call("poet__write", ""), scripted.Say("done"))
	ask(t, s.Conversation(nil), "write twice")
	if got := s.results(t)[0]; !got.IsError || !strings.Contains(got.Text(), "more tokens in this conversation") {
		t.Errorf("the second request got %q", got.Text())
	}
}
