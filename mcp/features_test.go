package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestContentOfEveryKindArrives(t *testing.T) {
	priority := 0.5
	blocks := []mcp.Content{
		{Type: mcp.ContentText, Text: "hé\n\"", Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: &priority}, Meta: json.RawMessage(`{"a":1}`)},
		mcp.Image([]byte{0, 255, 1}, "image/png"),
		mcp.Embed(mcp.TextContents("test://t", "text/plain", "embedded")),
		mcp.Embed(mcp.BlobContents("test://b", "", []byte{9, 0})),
		mcp.Audio([]byte("RIFF"), "audio/wav"),
		mcp.Link(mcp.Resource{URI: "test://l", Name: "l", Title: "Link"}),
	}
	serve := func() mcp.Handler {
		s := mcp.NewServer("s", "1")
		mcp.AddTool(s, "all", func(context.Context, none) ([]mcp.Content, error) { return blocks, nil })
		return s
	}
	run(t, serve, noOptions, func(t *testing.T, c *mcp.Client, w way) {
		want := slices.Clone(blocks)
		if !w.since("2025-03-26") {
			want[4] = mcp.Text("[audio audio/wav]")
		}
		if !w.since("2025-06-18") {
			want[5] = mcp.Text("[resource test://l]")
		}
		result, err := c.CallTool(t.Context(), "all", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := asJSON(t, result.Content); got != asJSON(t, want) {
			t.Errorf("got  %s\nwant %s", got, asJSON(t, want))
		}
	})
}

func TestStructuredContentOfEveryTypeArrives(t *testing.T) {
	values := map[string]string{"object": `{"b":[1,{}],"a":"é"}`, "array": `[1,"two",null]`, "string": `"text"`, "number": `9007199254740993`, "bool": `false`, "null": `null`}
	serve := func() mcp.Handler {
		s := mcp.NewServer("s", "1")
		for name, value := range values {
			s.AddTool(mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: json.RawMessage(value), Content: []mcp.Content{mcp.Text(value)}}, nil
			})
		}
		return s
	}
	run(t, serve, noOptions, func(t *testing.T, c *mcp.Client, w way) {
		for name, value := range values {
			result, err := c.CallTool(t.Context(), name, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := value
			if name != "object" && !w.since(modern) {
				want = "" // legacy clients support only objects; the text is the same
			}
			if string(result.StructuredContent) != want || result.Text() != value {
				t.Errorf("%s: got %q and the text %q, want %q", name, result.StructuredContent, result.Text(), want)
			}
		}
	})
}

func TestToolDefinitionsArrive(t *testing.T) {
	yes, no := true, false
	tool := mcp.Tool{
		Name: "t", Title: "A title", Description: "what it does",
		Icons:       []mcp.Icon{{Src: "https://example.com/i.png", MIMEType: "image/png", Sizes: []string{"48x48"}, Theme: "dark"}},
		InputSchema: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"x":{"type":"integer","minimum":1}},"additionalProperties":false}`),
		Annotations: &mcp.ToolAnnotations{Title: "T", ReadOnlyHint: &yes, DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: &no},
		Meta:        json.RawMessage(`{"example.com/x":{"y":[1]}}`),
	}
	serve := func() mcp.Handler {
		s := mcp.NewServerWith("s", "1", mcp.ServerOptions{Instructions: "be kind"})
		s.AddTool(tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil })
		return s
	}
	run(t, serve, noOptions, func(t *testing.T, c *mcp.Client, _ way) {
		for got, err := range c.Tools(t.Context()) {
			if err != nil || asJSON(t, got) != asJSON(t, tool) {
				t.Errorf("%v\ngot  %s\nwant %s", err, asJSON(t, got), asJSON(t, tool))
			}
		}
		if c.Instructions() != "be kind" || c.Server() == nil || c.Server().Name != "s" {
			t.Errorf("instructions %q, server %v", c.Instructions(), c.Server())
		}
		result, err := c.CallTool(t.Context(), "t", map[string]int{"x": 0})
		if err != nil || !result.IsError {
			t.Errorf("arguments that do not fit: %v, %v", result, err)
		}
	})
}

func TestResourcesPromptsAndCompletionsArrive(t *testing.T) {
	serve := func() mcp.Handler {
		s := mcp.NewServerWith("s", "1", mcp.ServerOptions{PageSize: 2})
		for i := range 5 {
			s.AddText(mcp.Resource{URI: fmt.Sprint("test://", i), Name: fmt.Sprint(i)}, fmt.Sprint("text ", i))
		}
		s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "item://{kind}/{id}", Name: "item", Title: "Item"}, func(_ context.Context, uri string, v map[string]string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.BlobContents(uri, "x/y", []byte(v["kind"]+v["id"]))}}, nil
		})
		mcp.AddPrompt(s, "greet", func(_ context.Context, in struct{ Who string }) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "d", Messages: []mcp.PromptMessage{{Role: mcp.RoleAssistant, Content: mcp.Image([]byte(in.Who), "image/png")}}}, nil
		})
		s.AddCompletion(mcp.CompletionReference{Type: mcp.RefResource, URI: "item://{kind}/{id}"}, func(_ context.Context, req mcp.CompletionRequest) (*mcp.Completion, error) {
			return &mcp.Completion{Values: []string{req.Context.Arguments["kind"] + req.Argument.Value}, HasMore: true}, nil
		})
		return s
	}
	run(t, serve, noOptions, func(t *testing.T, c *mcp.Client, _ way) {
		ctx := t.Context()
		var uris []string
		for r, err := range c.Resources(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if uris = append(uris, r.URI); len(uris) == 4 {
				break // on the second page
			}
		}
		if fmt.Sprint(uris) != "[test://0 test://1 test://2 test://3]" {
			t.Errorf("resources %v", uris)
		}
		for r, err := range c.ResourceTemplates(ctx) {
			if err != nil || r.Title != "Item" {
				t.Errorf("template %v, %v", r, err)
			}
		}
		if r, err := c.ReadResource(ctx, "test://4"); err != nil || r.Contents[0].Text != "text 4" {
			t.Errorf("read: %v, %v", r, err)
		}
		if r, err := c.ReadResource(ctx, "item://a/7"); err != nil || string(r.Contents[0].Blob) != "a7" || r.Contents[0].MIMEType != "x/y" {
			t.Errorf("read a template: %v, %v", r, err)
		}
		var fault *mcp.Error
		if _, err := c.ReadResource(ctx, "none://"); !errors.As(err, &fault) || fault.Code != mcp.CodeInvalidParams || string(fault.Data) != `{"uri":"none://"}` {
			t.Errorf("read nothing: %v", err)
		}
		if p, err := c.GetPrompt(ctx, "greet", map[string]string{"Who": "Ada"}); err != nil || p.Description != "d" || string(p.Messages[0].Content.Data) != "Ada" {
			t.Errorf("prompt: %v, %v", p, err)
		}
		found, err := c.Complete(ctx, mcp.CompletionRequest{
			Ref:      mcp.CompletionReference{Type: mcp.RefResource, URI: "item://{kind}/{id}"},
			Argument: mcp.CompletionArgument{Name: "id", Value: "x"},
			Context:  &mcp.CompletionContext{Arguments: map[string]string{"kind": "k"}},
		})
		if err != nil || fmt.Sprint(found.Values) != "[kx]" || !found.HasMore {
			t.Errorf("completion: %v, %v", found, err)
		}
	})
}
