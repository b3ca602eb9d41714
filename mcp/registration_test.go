package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// panicOf runs f and returns the value of its panic as text.
func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

func nothing(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil }

func readNothing(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
	return nil, nil
}

func promptNothing(context.Context, map[string]string) (*mcp.GetPromptResult, error) { return nil, nil }

func completeNothing(context.Context, mcp.CompletionRequest) (*mcp.Completion, error) {
	return nil, nil
}

func idle[In any](context.Context, In) (string, error) { return "", nil }

func TestAddPanicsAtAMistakeAndNamesTheRemedy(t *testing.T) {
	type city struct {
		Name string `json:"name"`
	}
	object := json.RawMessage(`{"type":"object"}`)
	for _, test := range []struct {
		name string
		add  func(*mcp.Server)
		want []string
	}{
		{"a nil function", func(s *mcp.Server) { mcp.AddTool[city, string](s, "t", nil) }, []string{`tool "t"`, "nil"}},
		{"a nil handler", func(s *mcp.Server) { s.AddTool(mcp.Tool{Name: "t"}, nil) }, []string{`tool "t"`, "nil"}},
		{"a nil prompt handler", func(s *mcp.Server) { s.AddPrompt(mcp.Prompt{Name: "p"}, nil) }, []string{`prompt "p"`, "nil"}},
		{"a nil prompt function", func(s *mcp.Server) { mcp.AddPrompt[city](s, "p", nil) }, []string{`prompt "p"`, "nil"}},
		{"a nil reader", func(s *mcp.Server) { s.AddResource(mcp.Resource{URI: "test://a", Name: "a"}, nil) }, []string{"test://a", "nil"}},
		{"a nil reader of a template", func(s *mcp.Server) {
			s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "test://{a}", Name: "a"}, nil)
		}, []string{"test://{a}", "nil"}},
		{"no name", func(s *mcp.Server) { mcp.AddTool(s, "", idle[city]) }, []string{"name is empty"}},
		{"a name with a space", func(s *mcp.Server) { s.AddTool(mcp.Tool{Name: "bad name!"}, nothing) }, []string{`' '`, "use letters"}},
		{"a long name", func(s *mcp.Server) { mcp.AddTool(s, strings.Repeat("x", 129), idle[city]) }, []string{"at most 128"}},
		{"a tool twice", func(s *mcp.Server) { mcp.AddTool(s, "there", idle[city]) }, []string{`tool "there" is registered already`, "SetTool"}},
		{"a prompt twice", func(s *mcp.Server) { s.AddPrompt(mcp.Prompt{Name: "there"}, promptNothing) }, []string{"registered already", "SetPrompt"}},
		{"a resource twice", func(s *mcp.Server) { s.AddText(mcp.Resource{URI: "test://there", Name: "there"}, "") }, []string{"registered already", "SetResource"}},
		{"a template twice", func(s *mcp.Server) {
			s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "test://{there}", Name: "there"}, readNothing)
		}, []string{"registered already", "SetResourceTemplate"}},
		{"a URI without a scheme", func(s *mcp.Server) { s.AddText(mcp.Resource{URI: "/a", Name: "a"}, "") }, []string{"no scheme", "notes://a"}},
		{"a resource without a name", func(s *mcp.Server) { s.AddText(mcp.Resource{URI: "test://a"}, "") }, []string{"name is empty"}},
		{"a prompt's arguments twice", func(s *mcp.Server) {
			mcp.AddPromptWith(s, mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "name"}}}, func(context.Context, city) (*mcp.GetPromptResult, error) { return nil, nil })
		}, []string{"Arguments", "are derived from mcp_test.city"}},
		{"two arguments of one name", func(s *mcp.Server) {
			s.AddPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}, {Name: "a"}}}, promptNothing)
		}, []string{`argument "a"`}},
		{"a nil completer", func(s *mcp.Server) {
			s.AddCompletion(mcp.CompletionReference{Type: mcp.RefPrompt, Name: "there"}, nil)
		}, []string{`"there"`, "nil"}},
		{"an unknown kind of reference", func(s *mcp.Server) {
			s.AddCompletion(mcp.CompletionReference{Type: "rEf", Name: "there"}, completeNothing)
		}, []string{`"rEf"`, "RefPrompt"}},
		{"a reference with a name too many", func(s *mcp.Server) {
			s.AddCompletion(mcp.CompletionReference{Type: mcp.RefPrompt, Name: "there", URI: "test://{there}"}, completeNothing)
		}, []string{"omit the other"}},
		{"a prompt that does not exist", func(s *mcp.Server) {
			s.AddCompletion(mcp.CompletionReference{Type: mcp.RefPrompt, Name: "greet"}, completeNothing)
		}, []string{`"greet"`, "register it first"}},
		{"a template that does not exist", func(s *mcp.Server) {
			s.AddCompletion(mcp.CompletionReference{Type: mcp.RefResource, URI: "test://{x}"}, completeNothing)
		}, []string{"test://{x}", "register it first"}},
		{"a schema that does not fit In", func(s *mcp.Server) {
			mcp.AddToolWith(s, mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"nome":{"type":"string"}}}`)}, idle[city])
		}, []string{"input schema", `"nome"`, "mcp_test.city"}},
		{"a schema of another type than In", func(s *mcp.Server) {
			mcp.AddToolWith(s, mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"integer"}}}`)}, idle[city])
		}, []string{"input schema", "name", "integer", "string"}},
		{"a schema that is not valid", func(s *mcp.Server) {
			s.AddTool(mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":7}`)}, nothing)
		}, []string{"input schema"}},
		{"an output schema that is not valid", func(s *mcp.Server) {
			s.AddTool(mcp.Tool{Name: "t", InputSchema: object, OutputSchema: json.RawMessage(`{"type":7}`)}, nothing)
		}, []string{"output schema"}},
		{"a default that is no duration", func(s *mcp.Server) {
			mcp.AddTool(s, "t", idle[struct {
				A time.Duration `default:"3600000000000"`
			}])
		}, []string{"A", "default", "duration"}},
		{"a default that is no time", func(s *mcp.Server) {
			mcp.AddTool(s, "t", idle[struct {
				A time.Time `default:"yesterday"`
			}])
		}, []string{"A", "default", "time"}},
		{"a tag of another library", func(s *mcp.Server) {
			mcp.AddTool(s, "t", idle[struct {
				City string `json:"city" jsonschema:"the city"`
			}])
		}, []string{"City", "tag jsonschema", "use doc"}},
		{"a tag that looks right", func(s *mcp.Server) {
			mcp.AddTool(s, "t", idle[struct {
				City string `json:"city" description:"the city"`
			}])
		}, []string{"tag description", "use doc"}},
		{"a keyword as a tag", func(s *mcp.Server) {
			mcp.AddTool(s, "t", idle[struct {
				N int `minimum:"3"`
			}])
		}, []string{"N", "tag minimum", "use min"}},
		{"a tag that is misspelled", func(s *mcp.Server) {
			mcp.AddTool(s, "t", idle[struct {
				N int `requird:"true"`
			}])
		}, []string{"tag requird", "required"}},
		{"no name of the server", func(*mcp.Server) { mcp.NewServer("", "1") }, []string{"name"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := mcp.NewServer("s", "1")
			mcp.AddTool(s, "there", idle[city])
			s.AddPrompt(mcp.Prompt{Name: "there"}, promptNothing)
			s.AddText(mcp.Resource{URI: "test://there", Name: "there"}, "")
			s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "test://{there}", Name: "there"}, readNothing)
			got := panicOf(func() { test.add(s) })
			if !strings.HasPrefix(got, "mcp: ") {
				t.Fatalf("panic %q", got)
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q does not say %q", got, want)
				}
			}
		})
	}
}

func TestSetReplacesAndReturnsErrors(t *testing.T) {
	s := mcp.NewServer("s", "1")
	s.AddTool(mcp.Tool{Name: "t"}, nothing)
	s.AddPrompt(mcp.Prompt{Name: "p"}, promptNothing)
	s.AddText(mcp.Resource{URI: "test://a", Name: "a"}, "")
	s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "test://{a}", Name: "a"}, readNothing)
	for name, err := range map[string]error{
		"tool":                        s.SetTool(mcp.Tool{Name: "t", Description: "another"}, nothing),
		"tool named by somebody else": s.SetTool(mcp.Tool{Name: "日本 tool"}, nothing),
		"prompt":                      s.SetPrompt(mcp.Prompt{Name: "p"}, promptNothing),
		"resource":                    s.SetResource(mcp.Resource{URI: "test://a", Name: "b"}, readNothing),
		"template":                    s.SetResourceTemplate(mcp.ResourceTemplate{URITemplate: "test://{a}", Name: "b"}, readNothing),
		"completion":                  s.SetCompletion(mcp.CompletionReference{Type: mcp.RefPrompt, Name: "p"}, completeNothing),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"tool":       s.SetTool(mcp.Tool{Name: "x"}, nil),
		"name":       s.SetTool(mcp.Tool{Name: "a\nb"}, nothing),
		"prompt":     s.SetPrompt(mcp.Prompt{Name: "x"}, nil),
		"resource":   s.SetResource(mcp.Resource{URI: "a", Name: "b"}, readNothing),
		"template":   s.SetResourceTemplate(mcp.ResourceTemplate{URITemplate: "test://{", Name: "b"}, readNothing),
		"completion": s.SetCompletion(mcp.CompletionReference{Type: "x", Name: "p"}, completeNothing),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSettingTheSameAgainIsNotAChange(t *testing.T) {
	s := mcp.NewServer("s", "1")
	s.AddTool(mcp.Tool{Name: "t"}, nothing)
	c := mcp.NewClient(s)
	defer c.Close()
	changes := func() string {
		r, err := c.Do(t.Context(), "server/discover", nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Meta)
	}
	for _, test := range []struct {
		description string
		change      bool
	}{{"", false}, {"new", true}, {"new", false}} {
		before := changes()
		if err := s.SetTool(mcp.Tool{Name: "t", Description: test.description}, nothing); err != nil {
			t.Fatal(err)
		}
		if after := changes(); before != after != test.change {
			t.Errorf("description %q: %s, then %s", test.description, before, after)
		}
	}
}
