package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/schema"
)

const methodComplete = "completion/complete"

// maxCompletions is the maximum number of values in a result (schema.ts CompleteResult).
const maxCompletions = 100

// A CompletionReference identifies the prompt or resource template that an argument belongs to. A
// prompt is identified by name, a resource template by its URI template.
type CompletionReference struct {
	Type string `json:"type"` // "ref/prompt" or "ref/resource"
	Name string `json:"name,omitempty"`
	URI  string `json:"uri,omitempty"`
}

// Values of Type in a [CompletionReference].
const (
	RefPrompt   = "ref/prompt"
	RefResource = "ref/resource"
)

// A CompletionRequest requests completions for an argument that the user is typing
// (server/utilities/completion).
type CompletionRequest struct {
	Ref      CompletionReference `json:"ref"`
	Argument CompletionArgument  `json:"argument"`
	Context  *CompletionContext  `json:"context,omitempty"`
}

// A CompletionArgument is an argument, with the text that the user has typed for it so far.
type CompletionArgument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A CompletionContext contains the arguments that already have values.
type CompletionContext struct {
	Arguments map[string]string `json:"arguments,omitempty"`
}

// A Completion is the result of a CompletionRequest. At most 100 values are sent; further ones are
// dropped.
type Completion struct {
	Values  []string `json:"values"`
	Total   *int     `json:"total,omitempty"` // total number of values, if known
	HasMore bool     `json:"hasMore,omitempty"`
}

// A Completer returns completions for one reference.
type Completer func(ctx context.Context, req CompletionRequest) (*Completion, error)

// CompleteFrom returns a Completer that completes arguments from fixed values. The map words
// contains the values of each argument by name. A value matches if it begins with the typed text,
// regardless of case.
func CompleteFrom(words map[string][]string) Completer {
	return func(_ context.Context, req CompletionRequest) (*Completion, error) {
		c := &Completion{}
		for _, word := range words[req.Argument.Name] {
			if typed := req.Argument.Value; len(word) >= len(typed) && strings.EqualFold(word[:len(typed)], typed) {
				c.Values = append(c.Values, word)
			}
		}
		return c, nil
	}
}

// AddCompletion registers a Completer for the arguments of a prompt or a resource template. The
// prompt or template must be registered first. AddCompletion panics if an argument is invalid, and
// if the reference already has a Completer.
func (s *Server) AddCompletion(ref CompletionReference, complete Completer) {
	must(s.registerCompletion(ref, complete, adding))
}

// SetCompletion is like [Server.AddCompletion], for registrations at run time. It replaces the
// reference's Completer, and returns an error instead of panicking.
func (s *Server) SetCompletion(ref CompletionReference, complete Completer) error {
	return s.registerCompletion(ref, complete, setting)
}

func (s *Server) registerCompletion(ref CompletionReference, complete Completer, how registration) error {
	name := ref.Name + ref.URI
	switch {
	case ref.Type != RefPrompt && ref.Type != RefResource:
		return fmt.Errorf("completion of %q: the type is %q: use RefPrompt or RefResource", name, ref.Type)
	case ref.Type == RefPrompt && ref.URI != "", ref.Type == RefResource && ref.Name != "":
		return fmt.Errorf("completion of %q: a prompt has a Name, a resource template a URI: omit the other", name)
	case complete == nil:
		return fmt.Errorf("completion of %q: the completer is nil", name)
	case !s.completable(ref):
		return fmt.Errorf("completion of %q: there is no such prompt or resource template: register it first", name)
	}
	if !s.completers.put(&entry{name: completionKey(ref), feature: complete}, how) {
		return taken("completion of", name, "SetCompletion")
	}
	return nil
}

func completionKey(ref CompletionReference) string { return ref.Type + " " + ref.Name + ref.URI }

// complete handles completion/complete. For a reference that exists but has no Completer, it
// returns an empty list.
func (s *Server) complete(ctx context.Context, req *Request) (Result, error) {
	var c CompletionRequest
	if err := schema.DecodeLoose(req.Params, &c); err != nil {
		return Result{}, Errorf(CodeInvalidParams, "%v", err)
	}
	if c.Ref.Type != RefPrompt && c.Ref.Type != RefResource {
		return Result{}, Errorf(CodeInvalidParams, "ref.type: expected %q or %q, got %q", RefPrompt, RefResource, c.Ref.Type)
	}
	completion := &Completion{}
	if complete, ok := find[Completer](&s.completers, completionKey(c.Ref)); ok {
		found, err := complete(ctx, c)
		if err != nil {
			return Result{}, err
		}
		if found != nil {
			completion = found
		}
	} else if !s.completable(c.Ref) {
		return Result{}, Errorf(CodeInvalidParams, "ref: unknown %s %q", c.Ref.Type, c.Ref.Name+c.Ref.URI)
	}
	return Result{Value: completeResult{completion.limited()}}, nil
}

func (s *Server) completable(ref CompletionReference) bool {
	if ref.Type == RefPrompt {
		return s.prompts.has(ref.Name)
	}
	return s.templates.has(ref.URI) || s.resources.has(ref.URI)
}

func (c *Completion) limited() *Completion {
	if c.Values == nil {
		c = &Completion{Values: []string{}, Total: c.Total, HasMore: c.HasMore}
	}
	if len(c.Values) <= maxCompletions {
		return c
	}
	total := len(c.Values)
	if c.Total != nil {
		total = max(total, *c.Total)
	}
	return &Completion{Values: c.Values[:maxCompletions], Total: &total, HasMore: true}
}

type completeResult struct {
	Completion *Completion `json:"completion"`
}
