package layer

import (
	"context"
	"fmt"
	"sync"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// readRules reads the rules of the whole gateway and of the profiles.
func readRules(stack *Stack, p *Plan) error {
	s := p.Settings
	p.Books = map[string]*rules.Book{}
	if s.Policy != "" {
		book, err := rules.ReadBook(stack.Place, stack.Ignored, s.Policy)
		if err != nil {
			return err
		}
		p.Books[""] = book
	}
	for name, profile := range s.Profiles {
		book := p.Books[""]
		if profile.Policy != "" {
			var err error
			if book, err = rules.ReadBook(stack.Place, stack.Ignored, s.PolicyFiles(name)...); err != nil {
				return fmt.Errorf("profile %q: %w", name, err)
			}
		}
		if book != nil {
			p.Books[name] = book
		}
	}
	return nil
}

// removed returns the rules for calls to a profile that was removed after the call came. They deny
// all calls.
var removed = sync.OnceValue(func() *rules.Book {
	p, err := policy.Compile([]policy.Rule{{Effect: policy.Deny, Reason: "the profile was removed"}}, policy.Options{})
	if err != nil {
		panic(err) // a test covers it
	}
	return &rules.Book{Policy: p}
})

// book returns the rules for a request, or nil.
func (s *Stack) book(ctx context.Context) *rules.Book {
	p, profile := s.plan.Load(), profileOf(ctx)
	if _, found := p.Settings.Profiles[profile]; profile != "" && !found {
		return removed()
	}
	return p.Books[profile]
}

// decide returns middleware that applies the rules to the requests to one server.
func decide(s *Stack, p *Plan, of Server) mcp.Middleware {
	if len(p.Books) == 0 {
		return nil
	}
	return rules.Middleware(rules.Options{
		Policy: func(ctx context.Context) *policy.Policy {
			if book := s.book(ctx); book != nil {
				return book.Policy
			}
			return nil
		},
		Profile: profileOf, Approvals: true,
		Server: of.Name, Origin: policy.OriginOf(of.Command), Shadow: p.Settings.Shadow,
		Trusted: func(ctx context.Context) bool {
			book := s.book(ctx)
			return book != nil && policy.Vouches(book.Trusted, of.Name, of.Command, !of.OfProject)
		},
	})
}

// deniedIn returns a function that reports whether the rules of a profile always deny a tool. Such
// a tool is in no list, and the error of a call to it names the rule's reason.
func (p *Plan) deniedIn(g *gateway.Gateway, profile string) func(gateway.Entry) bool {
	book := p.Books[profile]
	return func(e gateway.Entry) bool {
		t, listed := g.Tool(e.Exposed)
		return e.Kind == "tool" && book != nil && listed && !p.Settings.Shadow && book.Policy.Hides(t.Server, t.Name, rules.Annotations(t.Definition))
	}
}

// denied returns the error for a tool that the rules of a profile always deny, and nil for other
// tools.
func (p *Plan) denied(g *gateway.Gateway, profile, exposed string) error {
	book := p.Books[profile]
	server, tool := g.Destination(exposed)
	if book == nil || p.Settings.Shadow || server == "" {
		return nil
	}
	in := policy.Input{Method: "tools/call", Server: server, Tool: tool, Profile: profile}
	if known, _, _ := g.Definitions(server); known != nil {
		for _, raw := range known.Tools {
			if name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name")); name == tool {
				in.Annotations = rules.Annotations(raw)
			}
		}
	}
	return rules.Refusal(context.Background(), book.Policy, in, exposed)
}

// RulesUseGroups reports whether a rule depends on the groups of callers.
func (p *Plan) RulesUseGroups() bool {
	for _, b := range p.Books {
		if b != nil && b.UsesGroups() {
			return true
		}
	}
	return false
}
