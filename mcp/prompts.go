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

// A PromptArgument is one argument of a prompt. The value of an argument is always text.
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

// A GetPromptResult is a prompt with its arguments filled in.
type GetPromptResult struct {
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// AppendJSON appends the result as JSON, without Meta.
func (r *GetPromptResult) AppendJSON(dst []byte) ([]byte, error) {
	w := jsonrpc.NewObject(dst)
	if r.Description != "" {
		w.String("description", r.Description)
	}
	w.Array("messages")
	for i := range r.Messages {
		m := &r.Messages[i]
		w.ObjectElement()
		w.String("role", string(m.Role))
		if err := w.Encoded("content", m.Content.AppendJSON); err != nil {
			return nil, err
		}
		w.End()
	}
	return w.Bytes(), nil
}

// A PromptHandler returns a prompt with its arguments filled in. All required arguments are
// present. An error that is not an [*Error] becomes an internal error.
type PromptHandler func(ctx context.Context, arguments map[string]string) (*GetPromptResult, error)

// A prompt is a registered prompt.
type prompt struct {
	arguments []PromptArgument
	get       PromptHandler
}

// AddPrompt registers a prompt whose arguments are known only at run time, with its handler. It
// panics if the prompt is invalid or the name is in use.
func (s *Server) AddPrompt(p Prompt, get PromptHandler) { must(s.registerPrompt(p, get, adding)) }

// SetPrompt registers a prompt from data, and replaces a prompt with the same name. It returns an
// error if the prompt is invalid.
func (s *Server) SetPrompt(p Prompt, get PromptHandler) error {
	return s.registerPrompt(p, get, setting)
}

func (s *Server) registerPrompt(p Prompt, get PromptHandler, how registration) error {
	if err := checkPrompt(p, get); err != nil {
		return fmt.Errorf("prompt %q: %w", p.Name, err)
	}
	listed, err := schema.Encode(nil, p)
	if err != nil {
		return fmt.Errorf("prompt %q: %w", p.Name, err)
	}
	if !s.prompts.put(&entry{name: p.Name, listed: listed, feature: &prompt{p.Arguments, get}}, how) {
		return taken("prompt", p.Name, "SetPrompt")
	}
	return nil
}

func checkPrompt(p Prompt, get PromptHandler) error {
	if err := checkName(p.Name); err != nil {
		return err
	}
	if get == nil {
		return errors.New("the handler is nil")
	}
	seen := map[string]bool{}
	for _, a := range p.Arguments {
		if a.Name == "" || seen[a.Name] {
			return fmt.Errorf("argument %q: the name is empty or taken: give each argument a name of its own", a.Name)
		}
		seen[a.Name] = true
	}
	return nil
}

// AddPrompt registers f as a prompt. The fields of In become the arguments of the prompt. An
// argument gets its name, its tags `doc` and `title`, and whether it is required from the field.
// All fields must be strings. AddPrompt panics if In is not a struct of strings, or if the name is
// in use.
func AddPrompt[In any](s *Server, name string, f func(context.Context, In) (*GetPromptResult, error)) {
	AddPromptWith(s, Prompt{Name: name}, f)
}

// AddPromptWith is like [AddPrompt], for a prompt with a title, a description and other members.
// The field Arguments must be nil, as In determines the arguments.
func AddPromptWith[In any](s *Server, p Prompt, f func(context.Context, In) (*GetPromptResult, error)) {
	if p.Arguments != nil {
		panic(fmt.Sprintf("mcp: prompt %q: Arguments are set, but are derived from %v: omit them, or use Server.AddPrompt", p.Name, reflect.TypeFor[In]()))
	}
	if f == nil {
		panic(fmt.Sprintf("mcp: prompt %q: the function is nil", p.Name))
	}
	arguments, err := promptArguments[In](s)
	if err != nil {
		panic(fmt.Sprintf("mcp: prompt %q: %v", p.Name, err))
	}
	p.Arguments = arguments
	s.AddPrompt(p, func(ctx context.Context, arguments map[string]string) (*GetPromptResult, error) {
		var in In
		data, err := schema.Encode(nil, arguments)
		if err != nil {
			return nil, err
		}
		if err := s.codecs.DecodeLoose(data, &in); err != nil {
			return nil, Errorf(CodeInvalidParams, "prompt %q: %v", p.Name, err)
		}
		return f(ctx, in)
	})
}

// promptArguments returns the arguments of a prompt from the schema of In.
func promptArguments[In any](s *Server) ([]PromptArgument, error) {
	inferred, err := inferObject(reflect.TypeFor[In](), s.options.TypeSchemas, s.codecs)
	if err != nil {
		return nil, err
	}
	var arguments []PromptArgument
	for p := range schema.Look(inferred).Properties() {
		if p.Text("type") != "string" {
			return nil, fmt.Errorf("argument %s: the value of a prompt's argument is text; make the field a string", p.Name)
		}
		arguments = append(arguments, PromptArgument{Name: p.Name, Required: p.Required, Title: p.Text("title"), Description: p.Text("description")})
	}
	return arguments, nil
}

// RemovePrompt removes prompts by name. It ignores unknown names.
func (s *Server) RemovePrompt(names ...string) {
	s.prompts.remove(names...)
}

// getPrompt handles prompts/get.
func (s *Server) getPrompt(ctx context.Context, req *Request) (Result, error) {
	p, ok := find[*prompt](&s.prompts, req.Name)
	if !ok {
		return Result{}, Errorf(CodeInvalidParams, "unknown prompt %q; prompts/list names those that exist", req.SentName())
	}
	arguments, err := promptValues(req.Arguments)
	if err != nil {
		return Result{}, Errorf(CodeInvalidParams, "prompt %q: %v", req.Name, err)
	}
	for _, a := range p.arguments {
		if _, given := arguments[a.Name]; a.Required && !given {
			return Result{}, Errorf(CodeInvalidParams, "prompt %q: argument %q is required and missing", req.Name, a.Name)
		}
	}
	result, err := p.get(ctx, arguments)
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
		if string(value) == "null" {
			return true // treated as absent
		}
		if !ok {
			err = fmt.Errorf("argument %q: expected a string, got %.80s", name, value)
			return false
		}
		values[name] = text
		return true
	})
	return values, err
}
