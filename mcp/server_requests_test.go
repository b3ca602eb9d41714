package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

type everyField struct {
	Name   string   `json:"name"`
	Age    int      `json:"age" default:"30"`
	Score  float64  `json:"score,omitempty"`
	Agree  bool     `json:"agree"`
	Colour string   `json:"colour" enum:"red,blue"`
	Many   []string `json:"many,omitempty" enum:"a,b"`
}

// asking returns a server whose tools send every kind of request to the client.
func asking() mcp.Handler {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "form", func(ctx context.Context, _ none) (string, error) {
		answer, err := mcp.Elicit[everyField](ctx, "fill in")
		switch {
		case errors.Is(err, mcp.ErrDeclined):
			return "declined", nil
		case errors.Is(err, mcp.ErrDismissed):
			return "dismissed", nil
		}
		return fmt.Sprintf("%+v", answer), err
	})
	mcp.AddTool(s, "page", func(ctx context.Context, _ none) (string, error) {
		result, err := mcp.ElicitRaw(ctx, mcp.ElicitRequest{Mode: mcp.ElicitURL, Message: "go", URL: "https://example.com/x"})
		if err != nil {
			return "", err
		}
		return result.Action, nil
	})
	mcp.AddTool(s, "model", func(ctx context.Context, _ none) (string, error) {
		result, err := mcp.Sample(ctx, mcp.CreateMessageRequest{
			MaxTokens: 9, SystemPrompt: "short", ToolChoice: &mcp.ToolChoice{Mode: "required"},
			Tools:    []mcp.Tool{{Name: "look", InputSchema: json.RawMessage(`{"type":"object"}`)}},
			Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text("a"), mcp.Text("b")}}},
		})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(result.StopReason, " ", result.Content[0].ToolUse.Name, " ", string(result.Content[0].ToolUse.Input)), nil
	})
	mcp.AddTool(s, "roots", func(ctx context.Context, _ none) (string, error) {
		roots, err := mcp.Roots(ctx)
		return fmt.Sprint(len(roots), roots[:min(1, len(roots))]), err
	})
	return s
}

func answering(action string) mcp.ClientOptions {
	return mcp.ClientOptions{
		ElicitURL: true, SampleTools: true,
		OnElicit: func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if action != mcp.ElicitAccept || req.URL != "" {
				return &mcp.ElicitResult{Action: action}, nil
			}
			return &mcp.ElicitResult{Action: action, Content: json.RawMessage(`{"name":"Ada","score":1.5,"agree":true,"colour":"blue","many":["b"]}`)}, nil
		},
		OnSample: func(_ context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			if len(req.Tools) != 1 || req.ToolChoice.Mode != "required" || len(req.Messages[0].Content) != 2 || req.MaxTokens != 9 || req.SystemPrompt != "short" {
				return nil, fmt.Errorf("asked %+v", req)
			}
			use := mcp.Content{Type: mcp.ContentToolUse, ToolUse: &mcp.ToolUse{ID: "1", Name: req.Tools[0].Name, Input: json.RawMessage(`{"at":"it"}`)}}
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", StopReason: "toolUse", Content: mcp.SamplingContent{use}}, nil
		},
		OnRoots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///a", Name: "A"}}, nil },
	}
}

func TestAToolCanAskTheClientForEverything(t *testing.T) {
	accept := func() mcp.ClientOptions { return answering(mcp.ElicitAccept) }
	run(t, asking, accept, func(t *testing.T, c *mcp.Client, w way) {
		want := map[string]string{"roots": "1 [{file:///a A []}]"}
		if w.since("2025-06-18") {
			want["form"] = "{Name:Ada Age:30 Score:1.5 Agree:true Colour:blue Many:[b]}"
		}
		if w.since(newestLegacy) {
			want["page"], want["model"] = "accept", `toolUse look {"at":"it"}`
		}
		for tool, text := range want {
			if result, err := c.CallTool(t.Context(), tool, nil); err != nil || result.IsError || result.Text() != text {
				t.Errorf("%s: %q, %v; want %q", tool, result.Text(), err, text)
			}
		}
	})
}

func TestAUserCanSayNo(t *testing.T) {
	for action, want := range map[string]string{mcp.ElicitDecline: "declined", mcp.ElicitCancel: "dismissed"} {
		t.Run(action, func(t *testing.T) {
			run(t, asking, func() mcp.ClientOptions { return answering(action) }, func(t *testing.T, c *mcp.Client, w way) {
				if !w.since("2025-06-18") {
					return
				}
				if result, err := c.CallTool(t.Context(), "form", nil); err != nil || result.Text() != want {
					t.Errorf("%q, %v; want %q", result.Text(), err, want)
				}
			})
		})
	}
}

func TestAClientThatCannotBeAskedGetsAnError(t *testing.T) {
	run(t, asking, noOptions, func(t *testing.T, c *mcp.Client, _ way) {
		for _, tool := range []string{"form", "page", "model", "roots"} {
			var fault *mcp.Error
			if _, err := c.CallTool(t.Context(), tool, nil); !errors.As(err, &fault) {
				t.Errorf("%s: %v, want an error of the protocol", tool, err)
			}
		}
	})
}
