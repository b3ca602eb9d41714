package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

const (
	methodPromptsList = "prompts/list"
	methodPromptsGet  = "prompts/get"
)

// A Prompt is a template of messages that a user can choose (server/prompts).
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Icons       []Icon           `json:"icons,omitempty"`
	Meta        json.RawMessage  `json:"_meta,omitzero"`
}

// A PromptArgument is one argument of a prompt; its value is text always.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// A PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
}

// A GetPromptResult is a prompt filled in.
type GetPromptResult struct {
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// AppendJSON appends the result as JSON, without Meta.
func (r *GetPromptResult) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, '{')
	if r.Description != "" {
		dst = append(jsonrpc.AppendString(append(dst, `"description":`...), r.Description), ',')
	}
	dst = append(dst, `"messages":[`...)
	var err error
	for i := range r.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		m := &r.Messages[i]
		dst = append(jsonrpc.AppendString(append(dst, `{"role":`...), string(m.Role)), `,"content":`...)
		if dst, err = m.Content.AppendJSON(dst); err != nil {
			return nil, err
		}
		dst = append(dst, '}')
	}
	return append(dst, ']', '}'), nil
}

// A PromptHandler fills a prompt in. arguments holds the required ones for sure.
// An error that is no [*Error] is answered as an internal error.
type PromptHandler func(ctx context.Context, arguments map[string]string) (*GetPromptResult, error)

// A prompt is a registered prompt.
type prompt struct {
	arguments []PromptArgument
	get       PromptHandler
}

// AddPrompt registers a prompt and what fills it in.
func (s *Server) AddPrompt(p Prompt, get PromptHandler) error {
	if err := checkName(p.Name); err != nil {
		return fmt.Errorf("prompt: %w", err)
	}
	listed, err := schema.Encode(nil, p)
	if err != nil {
		return fmt.Errorf("prompt %q: %w", p.Name, err)
	}
	s.prompts.set(&entry[prompt]{name: p.Name, listed: listed, feature: prompt{p.Arguments, get}})
	s.news.listChanged(newsPrompts)
	return nil
}

// AddPrompt registers f as a prompt whose arguments are the fields of In, all of
// them strings: their names, `doc` and `title` tags, and whether they are
// required, make the prompt's arguments. It panics where In is anything else.
// with, at most one, gives title, description and the rest.
func AddPrompt[In any](s *Server, name string, f func(context.Context, In) (*GetPromptResult, error), with ...Prompt) {
	var p Prompt
	if len(with) > 0 {
		p = with[0]
	}
	p.Name = name
	var err error
	if p.Arguments, err = promptArguments[In](); err != nil {
		panic(fmt.Sprintf("mcp: prompt %q: %v", name, err))
	}
	if err := s.AddPrompt(p, func(ctx context.Context, arguments map[string]string) (*GetPromptResult, error) {
		var in In
		data, err := schema.Encode(nil, arguments)
		if err != nil {
			return nil, err
		}
		if err := schema.DecodeLoose(data, &in); err != nil {
			return nil, Errorf(CodeInvalidParams, "prompt %q: %v", name, err)
		}
		return f(ctx, in)
	}); err != nil {
		panic(fmt.Sprintf("mcp: %v", err))
	}
}

// promptArguments reads the arguments of a prompt off the inferred schema.
func promptArguments[In any]() ([]PromptArgument, error) {
	inferred, err := inferObject(reflect.TypeFor[In]())
	if err != nil {
		return nil, err
	}
	required := map[string]bool{}
	jsonrpc.EachElement(jsonrpc.Get(inferred, "required"), func(value []byte) bool {
		name, _ := jsonrpc.Unquote(value)
		required[name] = true
		return true
	})
	var arguments []PromptArgument
	jsonrpc.EachMember(jsonrpc.Get(inferred, "properties"), func(quoted, property []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		if string(jsonrpc.Get(property, "type")) != `"string"` {
			err = fmt.Errorf("argument %s: the value of a prompt's argument is text; make the field a string", name)
			return false
		}
		a := PromptArgument{Name: name, Required: required[name]}
		a.Title, _ = jsonrpc.Unquote(jsonrpc.Get(property, "title"))
		a.Description, _ = jsonrpc.Unquote(jsonrpc.Get(property, "description"))
		arguments = append(arguments, a)
		return true
	})
	return arguments, err
}

// RemovePrompt takes prompts out; unknown ones are ignored.
func (s *Server) RemovePrompt(names ...string) {
	if s.prompts.remove(names...) {
		s.news.listChanged(newsPrompts)
	}
}

// getPrompt answers prompts/get.
func (s *Server) getPrompt(ctx context.Context, req *Request) (Result, error) {
	e := s.prompts.read("prompts", s.pageSize).byName[req.Name]
	if e == nil {
		return Result{}, Errorf(CodeInvalidParams, "unknown prompt %q; prompts/list names those that exist", req.Name)
	}
	arguments, err := promptValues(req.Arguments)
	if err != nil {
		return Result{}, Errorf(CodeInvalidParams, "prompt %q: %v", req.Name, err)
	}
	for _, a := range e.feature.arguments {
		if _, given := arguments[a.Name]; a.Required && !given {
			return Result{}, Errorf(CodeInvalidParams, "prompt %q: argument %q is required and missing", req.Name, a.Name)
		}
	}
	result, err := e.feature.get(ctx, arguments)
	if err != nil {
		return Result{}, err
	}
	if result == nil {
		result = &GetPromptResult{}
	}
	return Result{Value: result, Meta: result.Meta}, nil
}

func promptValues(raw json.RawMessage) (map[string]string, error) {
	values := map[string]string{}
	if len(raw) == 0 || string(raw) == "null" {
		return values, nil
	}
	if raw[0] != '{' {
		return nil, errors.New("arguments: expected an object with string values")
	}
	var err error
	jsonrpc.EachMember(raw, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		text, ok := jsonrpc.Unquote(value)
		if !ok {
			err = fmt.Errorf("argument %q: expected a string, got %.80s", name, value)
			return false
		}
		values[name] = text
		return true
	})
	return values, err
}
