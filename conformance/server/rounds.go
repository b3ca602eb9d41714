package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
)

// addRounds registers the tools and the prompt that send their requests in the result (multi
// round-trip requests). The suite defines keys and messages.
func addRounds(s *mcp.Server) {
	for _, t := range []struct {
		name, description string
		run               func(context.Context, struct{}) (string, error)
	}{
		{"test_input_required_result_elicitation", "Asks the user for a name.", greetUser},
		{"test_input_required_result_sampling", "Asks the model for a capital.", capital},
		{"test_input_required_result_list_roots", "Asks the client for its roots.", countRoots},
		{"test_input_required_result_request_state", "Asks for a confirmation, and keeps state.", confirmState},
		{"test_input_required_result_multiple_inputs", "Asks three things at once.", threeAtOnce},
		{"test_input_required_result_multi_round", "Asks twice, one after the other.", nameThenColor},
		{"test_input_required_result_tampered_state", "Keeps state that must not be changed.", confirmState},
		{"test_input_required_result_capabilities", "Asks what the client can be asked.", whatCanBeAsked},
	} {
		mcp.AddToolWith(s, about(t.name, t.description), t.run)
	}
	s.AddPrompt(mcp.Prompt{Name: "test_input_required_result_prompt", Description: "A prompt that asks the user first."}, askingPrompt)
}

// field asks the user for one value. The client sees the key of the request.
func field(ctx context.Context, key, message, name, kind string) (json.RawMessage, error) {
	form := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, name, kind, name)
	result, err := mcp.ElicitRaw(ctx, mcp.ElicitRequest{Key: key, Message: message, RequestedSchema: json.RawMessage(form)})
	if err != nil {
		return nil, err
	}
	if result.Action != mcp.ElicitAccept {
		return nil, fmt.Errorf("the user's answer: %s", result.Action)
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(result.Content, &values); err != nil {
		return nil, err
	}
	return values[name], nil
}

func text(ctx context.Context, key, message, name string) (string, error) {
	raw, err := field(ctx, key, message, name, "string")
	if err != nil {
		return "", err
	}
	var value string
	return value, json.Unmarshal(raw, &value)
}

func greetUser(ctx context.Context, _ struct{}) (string, error) {
	name, err := text(ctx, "user_name", "What is your name?", "name")
	return "Hello, " + name + "!", err
}

func capital(ctx context.Context, _ struct{}) (string, error) {
	return sampled(ctx, "capital_question", "What is the capital of France?", 100)
}

func countRoots(ctx context.Context, _ struct{}) (string, error) {
	roots, err := mcp.RootsKeyed(ctx, "client_roots")
	if err != nil {
		return "", err
	}
	out := fmt.Sprintf("Roots: %d", len(roots))
	for _, r := range roots {
		out += fmt.Sprintf("\n%s (%s)", r.URI, r.Name)
	}
	return out, nil
}

func confirmState(ctx context.Context, _ struct{}) (string, error) {
	var begun bool
	if _, err := mcp.LoadFromLastRound(ctx, "begun", &begun); err != nil {
		return "", err
	}
	if err := mcp.SaveForNextRound(ctx, "begun", true); err != nil {
		return "", err
	}
	if _, err := field(ctx, "confirm", "Please confirm", "ok", "boolean"); err != nil {
		return "", err
	}
	if !begun && mcp.RequestFrom(ctx).State != nil {
		return "", errors.New("the response came without the state of the first round")
	}
	return "state-ok", nil
}

func threeAtOnce(ctx context.Context, _ struct{}) (string, error) {
	name, nameErr := text(ctx, "user_name", "What is your name?", "name")
	greeting, greetingErr := sampled(ctx, "greeting", "Generate a greeting", 50)
	roots, rootsErr := mcp.RootsKeyed(ctx, "client_roots")
	if err := errors.Join(nameErr, greetingErr, rootsErr); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s, with %d roots", greeting, name, len(roots)), nil
}

func nameThenColor(ctx context.Context, _ struct{}) (string, error) {
	name, err := text(ctx, "step1", "Step 1: What is your name?", "name")
	if err != nil {
		return "", err
	}
	color, err := text(ctx, "step2", "Step 2: What is your favorite color?", "color")
	return fmt.Sprintf("%s likes %s", name, color), err
}

// whatCanBeAsked asks the user and the model. It omits a request if the client did not declare the
// capability for it.
func whatCanBeAsked(ctx context.Context, _ struct{}) (string, error) {
	name, nameErr := text(ctx, "user_name", "What is your name?", "name")
	greeting, greetingErr := sampled(ctx, "greeting", "Generate a greeting", 50)
	undeclared := &mcp.Error{Code: mcp.CodeMissingCapability}
	for _, err := range []error{nameErr, greetingErr} {
		if err != nil && !errors.Is(err, undeclared) {
			return "", err
		}
	}
	return greeting + " " + name, nil
}

func askingPrompt(ctx context.Context, _ map[string]string) (*mcp.GetPromptResult, error) {
	about, err := text(ctx, "user_context", "What context should the prompt use?", "context")
	if err != nil {
		return nil, err
	}
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: mcp.Text("Use this context: " + about)},
	}}, nil
}
