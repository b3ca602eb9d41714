package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// as returns a client of the handler whose user has the scopes.
func as(h mcp.Handler, scopes ...string) *mcp.Client {
	return mcp.NewClient(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		authenticated := *req
		authenticated.Principal = &mcp.Principal{Subject: "ada", Scopes: scopes}
		return h.Handle(ctx, &authenticated)
	}))
}

func TestArguments(t *testing.T) {
	c := as(newHandler(&meter{calls: map[string]int{}}))
	for _, tt := range []struct{ arguments, want string }{
		{`{"text":"cpu"}`, `{"title":"cpu of organization 1, at most 10","tags":[]}`},
		{`{"text":"cpu","orgId":7,"limit":"3","tags":"a"}`, `{"title":"cpu of organization 7, at most 3","tags":["a"]}`},
		{`{"text":"cpu","orgId":"x"}`, `orgId: expected integer, got "x"`},
		{`{"text":"cpu","org":7}`, `org: unknown member, expected one of orgId, text, limit, tags`},
		{`{}`, `text: required, missing`},
	} {
		result, err := c.CallTool(t.Context(), "search", json.RawMessage(tt.arguments))
		if err != nil || result.Text() != tt.want || result.StructuredContent != nil {
			t.Errorf("%s: %q, %v, expected %q", tt.arguments, result.Text(), err, tt.want)
		}
	}
}

func TestToolsByCategoryAndUser(t *testing.T) {
	all := &meter{calls: map[string]int{}}
	for _, tt := range []struct {
		c    *mcp.Client
		want []string
	}{
		{as(newHandler(all), "admin"), []string{"delete", "search"}},
		{as(newHandler(all)), []string{"search"}},
		{as(newHandler(all, "search"), "admin"), []string{"search"}},
	} {
		var names []string
		for tool, err := range tt.c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, tool.Name)
		}
		_, err := tt.c.CallTool(t.Context(), "delete", map[string]int{"id": 1})
		if !slices.Equal(names, tt.want) || (err == nil) != slices.Contains(tt.want, "delete") {
			t.Errorf("the tools are %q and a call of delete ends with %v, expected %q", names, err, tt.want)
		}
	}
	if want := map[string]int{"delete ok": 1, "delete error": 2}; !maps.Equal(all.calls, want) {
		t.Errorf("the calls are %v, expected %v", all.calls, want)
	}
}
