package model_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

func calling(id, name, arguments string) model.Part {
	return model.Part{Call: &model.Call{ID: id, Name: name, Arguments: json.RawMessage(arguments)}}
}

func resulting(id, name, text string) model.Part {
	return model.Part{Result: &model.Result{CallID: id, Name: name, Parts: []model.Part{{Text: text}}}}
}

func assistant(parts ...model.Part) model.Message {
	return model.Message{Role: model.RoleAssistant, Parts: parts}
}

func results(parts ...model.Part) model.Message {
	return model.Message{Role: model.RoleTool, Parts: parts}
}

func TestCheckOfAConversation(t *testing.T) {
	ask := model.UserText("add 2 and 40")
	call, result := calling("c1", "add", `{"a":2,"b":40}`), resulting("c1", "add", "42")
	for _, test := range []struct {
		name     string
		messages []model.Message
		want     string // part of the error; empty if the request is valid
	}{
		{"a question is valid", []model.Message{ask}, ""},
		{"a call with its result is valid", []model.Message{ask, assistant(call), results(result)}, ""},
		{"two calls may have their results in one message", []model.Message{ask, assistant(call, calling("c2", "add", "{}")), results(resulting("c2", "add", "0"), result)}, ""},
		{"two calls may have their results in two messages", []model.Message{ask, assistant(call, calling("c2", "add", "{}")), results(result), results(resulting("c2", "add", "0"))}, ""},
		{"a result may be empty", []model.Message{ask, assistant(call), results(model.Part{Result: &model.Result{CallID: "c1", Name: "add"}})}, ""},
		{"a result may be nothing but space", []model.Message{ask, assistant(call), results(resulting("c1", "add", "\n"))}, ""},
		{"a pause is gone on with", []model.Message{ask, assistant(model.Part{Opaque: &model.Opaque{Provider: "p", Raw: json.RawMessage(`{}`)}})}, ""},
		{"nothing to answer is refused", nil, "no messages"},
		{"the first message is the user's", []model.Message{assistant(model.Part{Text: "hi"}), ask}, "first must be the user's"},
		{"the last message is not the assistant's", []model.Message{ask, assistant(model.Part{Text: "hi"})}, "is the assistant's"},
		{"a call without a result is refused at the end", []model.Message{ask, assistant(call)}, "is the assistant's"},
		{"a call without a result is refused before the next question", []model.Message{ask, assistant(call), ask}, `call "c1" of "add" has no result before message 2`},
		{"a result must come right behind its call", []model.Message{ask, assistant(call), ask, results(result)}, "has no result before"},
		{"one of two results is missing", []model.Message{ask, assistant(call, calling("c2", "add", "{}")), results(result)}, `call "c2" of "add" has no result`},
		{"a result without a call is refused", []model.Message{ask, results(result)}, "which is not there"},
		{"a second result is refused", []model.Message{ask, assistant(call), results(result, result)}, "second result"},
		{"a result is of the tool that was called", []model.Message{ask, assistant(call), results(resulting("c1", "sub", "42"))}, `is of "add"`},
		{"an id is used once", []model.Message{ask, assistant(call), results(result), assistant(call), results(result)}, "two calls"},
		{"an id is not empty", []model.Message{ask, assistant(calling("", "add", "{}")), results(result)}, "no id"},
		{"a result names its call", []model.Message{ask, assistant(call), results(resulting("", "add", "x"))}, "names no call"},
		{"arguments are an object", []model.Message{ask, assistant(calling("c1", "add", `[1]`)), results(result)}, "not a JSON object"},
		{"arguments are complete", []model.Message{ask, assistant(calling("c1", "add", `{"a":`)), results(result)}, "not a JSON object"},
		{"arguments are not nil", []model.Message{ask, assistant(calling("c1", "add", "")), results(result)}, "not a JSON object"},
		{"a called name is portable", []model.Message{ask, assistant(calling("c1", "a.b", "{}")), results(resulting("c1", "a.b", "x"))}, "not every provider"},
		{"a message has parts", []model.Message{{Role: model.RoleUser}}, "no parts"},
		{"a part is not empty", []model.Message{{Role: model.RoleUser, Parts: []model.Part{{}}}}, "0 fields"},
		{"a part is one thing", []model.Message{{Role: model.RoleUser, Parts: []model.Part{{Text: "a", Media: &model.Media{}}}}}, "2 fields"},
		{"a text is more than space", []model.Message{model.UserText(" \n")}, "nothing but space"},
		{"a text is UTF-8", []model.Message{model.UserText("a\xff")}, "not UTF-8"},
		{"media has data", []model.Message{{Role: model.RoleUser, Parts: []model.Part{{Media: &model.Media{Type: "image/png"}}}}}, "no type or no data"},
		{"a user does not call", []model.Message{{Role: model.RoleUser, Parts: []model.Part{call}}}, "cannot hold it"},
		{"a tool does not talk", []model.Message{ask, assistant(call), results(result, model.Part{Text: "and"})}, "cannot hold it"},
		{"roles are the three there are", []model.Message{{Role: "system", Parts: []model.Part{{Text: "x"}}}}, "no role"},
		{"what a result holds is text or media", []model.Message{ask, assistant(call), results(model.Part{Result: &model.Result{CallID: "c1", Name: "add", Parts: []model.Part{{}}}})}, "neither text nor media"},
		{"extra members are JSON", []model.Message{{Role: model.RoleUser, Parts: ask.Parts, Extra: map[string]map[string]json.RawMessage{"p": {"x": json.RawMessage(`{`)}}}}, `extra member "x"`},
		{"an opaque block is JSON", []model.Message{{Role: model.RoleUser, Parts: []model.Part{{Opaque: &model.Opaque{Raw: json.RawMessage(`{`)}}}}}, "opaque block"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checked(t, &model.Request{Messages: test.messages}, test.want)
		})
	}
}

func TestCheckOfToolsAndOptions(t *testing.T) {
	tool := model.Tool{Name: "files__read-file_2", Schema: json.RawMessage(`{"type":"object"}`)}
	schema := func(text string) []model.Tool { return []model.Tool{{Name: "t", Schema: json.RawMessage(text)}} }
	for _, test := range []struct {
		name string
		req  model.Request
		want string
	}{
		{"tools are valid with a schema and without", model.Request{Tools: []model.Tool{tool, {Name: "_x"}}, CachedTools: 2, Choice: model.ChoiceRequired}, ""},
		{"a schema need not say its type", model.Request{Tools: schema(`{}`)}, ""},
		{"a name is unique", model.Request{Tools: []model.Tool{tool, tool}}, "there twice"},
		{"a name has no dot", model.Request{Tools: []model.Tool{{Name: "a.b"}}}, "not every provider"},
		{"a name begins with a letter", model.Request{Tools: []model.Tool{{Name: "2a"}}}, "not every provider"},
		{"a name begins with no dash", model.Request{Tools: []model.Tool{{Name: "-a"}}}, "not every provider"},
		{"a name has at most 64 characters", model.Request{Tools: []model.Tool{{Name: strings.Repeat("a", 65)}}}, "not every provider"},
		{"a name is not empty", model.Request{Tools: []model.Tool{{}}}, "not every provider"},
		{"a description is UTF-8", model.Request{Tools: []model.Tool{{Name: "t", Description: "\xff"}}}, "not UTF-8"},
		{"a schema is JSON", model.Request{Tools: schema(`{"type":`)}, "not a JSON object"},
		{"a schema is an object", model.Request{Tools: schema(`true`)}, "not a JSON object"},
		{"arguments are an object", model.Request{Tools: schema(`{"type":"array"}`)}, `of type "array"`},
		{"a call cannot be required without tools", model.Request{Choice: model.ChoiceRequired}, "no tools"},
		{"a choice is one of three", model.Request{Choice: "auto"}, `choice "auto"`},
		{"no more tools are cached than there are", model.Request{CachedTools: 1}, "1 of 0 tools"},
		{"a limit is not negative", model.Request{MaxTokens: -1}, "limit of tokens"},
		{"the system prompt is UTF-8", model.Request{System: "\xff"}, "system prompt"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.req.Messages = []model.Message{model.UserText("hi")}
			checked(t, &test.req, test.want)
		})
	}
	checked(t, nil, "there is none")
}

func checked(t *testing.T, req *model.Request, want string) {
	t.Helper()
	err := model.Check(req)
	switch {
	case want == "" && err != nil:
		t.Errorf("a valid request is refused: %v", err)
	case want != "" && !errors.Is(err, model.ErrInvalid):
		t.Errorf("the error %v is no ErrInvalid", err)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("the error is %q; want %q in it", err, want)
	}
}
