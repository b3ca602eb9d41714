package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/model"
)

func ask(text string) *model.Request {
	return &model.Request{Messages: []model.Message{model.UserText(text)}}
}

func TestTurnsArePlayedInOrderAndThenNoMore(t *testing.T) {
	m := scripted.New(scripted.Say("one"), scripted.Call("add", `{"a":1}`))
	if m.Remaining() != 2 {
		t.Errorf("%d turns remain of 2", m.Remaining())
	}
	first, err := m.Generate(t.Context(), ask("x"), nil)
	if err != nil || first.Message.Text() != "one" || first.Stop != model.StopEnd || first.Message.Role != model.RoleAssistant {
		t.Fatalf("the first turn is %+v, %v", first, err)
	}
	second, err := m.Generate(t.Context(), ask("y"), nil)
	if err != nil || second.Stop != model.StopCalls || len(second.Message.Calls()) != 1 {
		t.Fatalf("the second turn is %+v, %v", second, err)
	}
	if c := second.Message.Calls()[0]; c.ID != "call_1" || c.Name != "add" || string(c.Arguments) != `{"a":1}` {
		t.Errorf("the call is %+v", c)
	}
	if u := second.Usage; !u.Estimated || u.Input == 0 || u.Output == 0 || second.Model != "scripted" {
		t.Errorf("the usage is %+v, the model %q", u, second.Model)
	}
	var failed *model.Error
	if _, err := m.Generate(t.Context(), ask("z"), nil); !errors.As(err, &failed) || !strings.Contains(err.Error(), "after the last") {
		t.Errorf("a request too many: %v", err)
	}
	if m.Remaining() != 0 || len(m.Requests()) != 3 {
		t.Errorf("%d turns remain, %d requests are kept", m.Remaining(), len(m.Requests()))
	}
}

func TestPiecesAddUpToTheMessage(t *testing.T) {
	m := scripted.New(scripted.Reply(
		model.Part{Reasoning: &model.Reasoning{Text: "let me see"}},
		model.Part{Text: "I add them now."},
		scripted.Calling("add", `{"a":2,"b":40}`), scripted.Calling("now", ""),
	))
	var text, reasoning strings.Builder
	arguments, names, pieces := map[int]string{}, map[int]string{}, 0
	resp, err := m.Generate(t.Context(), ask("x"), func(d model.Delta) {
		pieces++
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
		if d.Call != nil {
			arguments[d.Call.Index] += d.Call.Arguments
			names[d.Call.Index] += d.Call.Name
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != resp.Message.Text() || reasoning.String() != "let me see" || pieces < 9 {
		t.Errorf("%d pieces: %q and %q", pieces, text.String(), reasoning.String())
	}
	for i, c := range resp.Message.Calls() {
		if names[i] != c.Name || arguments[i] != string(c.Arguments) {
			t.Errorf("call %d came as %q %q, and is %+v", i, names[i], arguments[i], c)
		}
	}
	if len(names) != 2 || arguments[1] != "{}" {
		t.Errorf("calls came as %v, %v", names, arguments)
	}
}

func TestAnInvalidRequestIsRefusedAndUsesNoTurn(t *testing.T) {
	m := scripted.New(scripted.Say("one"))
	_, err := m.Generate(t.Context(), &model.Request{}, nil)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Status != 400 || !errors.Is(err, model.ErrInvalid) {
		t.Errorf("an empty conversation: %v", err)
	}
	if _, err := m.Generate(t.Context(), nil, nil); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("no request: %v", err)
	}
	if m.Remaining() != 1 || len(m.Requests()) != 1 {
		t.Errorf("%d turns remain, %d requests are kept", m.Remaining(), len(m.Requests()))
	}
}

func TestARequestIsKeptAsItWas(t *testing.T) {
	m := scripted.Always(scripted.Say("ok"))
	req := ask("before")
	req.Tools = []model.Tool{{Name: "t", Schema: json.RawMessage(`{"a":1}`)}}
	req.Messages = append(req.Messages,
		model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Call: &model.Call{ID: "1", Name: "t", Arguments: json.RawMessage(`{"a":1}`)}}}},
		model.Message{Role: model.RoleTool, Parts: []model.Part{{Result: &model.Result{CallID: "1", Name: "t", Parts: []model.Part{{Text: "before"}}}}}})
	if _, err := m.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	req.Messages[0].Parts[0].Text = "after"
	req.Messages[1].Parts[0].Call.Arguments[5] = '2'
	req.Messages[2].Parts[0].Result.Parts[0].Text = "after"
	req.Tools[0].Schema[5] = '2'
	kept := m.Requests()[0]
	was, err := json.Marshal([]any{kept.Messages, kept.Tools})
	if err != nil || strings.Contains(string(was), "after") || strings.Contains(string(was), `"a":2`) {
		t.Errorf("kept is %s, %v", was, err)
	}
}

func TestAFunctionOfTheRequestDecides(t *testing.T) {
	m := scripted.Always(scripted.Func(func(req *model.Request) (*model.Response, error) {
		if len(req.Messages) == 1 {
			return &model.Response{Message: model.Message{Parts: []model.Part{scripted.Calling("echo", "")}}}, nil
		}
		return nil, nil
	}))
	resp, err := m.Generate(t.Context(), ask("x"), nil)
	if err != nil || len(resp.Message.Calls()) != 1 {
		t.Fatalf("%+v, %v", resp, err)
	}
	longer := ask("x")
	longer.Messages = append(longer.Messages, model.UserText("y"))
	if _, err := m.Generate(t.Context(), longer, nil); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Errorf("a turn of nothing: %v", err)
	}
}

func TestFailuresComeAsTheyWereWritten(t *testing.T) {
	limited := &model.Error{Provider: "scripted", Status: 429, Err: model.ErrRateLimited}
	m := scripted.New(scripted.Fail(limited), scripted.Break(model.ErrBroken, model.Part{Text: "half"}), scripted.Wait())
	if resp, err := m.Generate(t.Context(), ask("x"), nil); resp != nil || !errors.Is(err, model.ErrRateLimited) {
		t.Errorf("%v, %v", resp, err)
	}
	if resp, err := m.Generate(t.Context(), ask("x"), nil); !errors.Is(err, model.ErrBroken) || resp.Message.Text() != "half" {
		t.Errorf("%v, %v", resp, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error)
	go func() {
		_, err := m.Generate(ctx, ask("x"), nil)
		cancelled <- err
	}()
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request: %v", err)
	}
	if _, err := m.Generate(ctx, ask("x"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was cancelled before: %v", err)
	}
}

func TestAScriptCanBeADifferentModel(t *testing.T) {
	m := scripted.New(scripted.Say("x")).As(model.Info{Provider: "acme", Name: "big", Window: 100, Price: model.Price{Input: 1}})
	resp, err := m.Generate(t.Context(), ask("x"), nil)
	if err != nil || resp.Model != "big" || m.Info().Window != 100 {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestManyMayAskAtOnce(t *testing.T) {
	m := scripted.Always(scripted.Call("t", ""))
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]bool{}
	for range 20 {
		wg.Go(func() {
			resp, err := m.Generate(t.Context(), ask("x"), nil)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[resp.Message.Calls()[0].ID] = true
		})
	}
	wg.Wait()
	if len(ids) != 20 || len(m.Requests()) != 20 {
		t.Errorf("%d ids, %d requests", len(ids), len(m.Requests()))
	}
}
