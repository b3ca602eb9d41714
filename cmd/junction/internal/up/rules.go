package up

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// readRules reads the rules of the whole gateway and of the profiles.
func readRules(_ *Layers, a *cli.App, now *Arrangement) error {
	s := now.Settings
	now.books = map[string]*rules.Book{}
	if s.Policy != "" {
		book, err := policies.ReadRules(a, s.Policy)
		if err != nil {
			return err
		}
		now.books[""] = book
	}
	for name, p := range s.Profiles {
		book := now.books[""]
		if p.Policy != "" {
			var err error
			if book, err = policies.ReadRules(a, s.PolicyFiles(name)...); err != nil {
				return fmt.Errorf("profile %q: %w", name, err)
			}
		}
		if book != nil {
			now.books[name] = book
		}
	}
	return nil
}

// denyRemoved makes the rules of profiles that there are not any more.
func (y *Layers) denyRemoved(*cli.App) (err error) {
	y.Removed = new(rules.Book)
	y.Removed.Policy, err = policy.Compile([]policy.Rule{{Effect: policy.Deny, Reason: "the profile was removed"}}, policy.Options{})
	return err
}

// book are the rules for a request; nil if there are none. Those of a profile that was removed since the request came to it let
// nothing through.
func (y *Layers) book(ctx context.Context) *rules.Book {
	now, profile := y.Now.Load(), profileOf(ctx)
	if _, there := now.Settings.Profiles[profile]; profile != "" && !there {
		return y.Removed
	}
	return now.books[profile]
}

// rules has the rules decide about the requests to one server.
func (y *Layers) rules(now *Arrangement, e LayeredServer) mcp.Middleware {
	if len(now.books) == 0 {
		return nil
	}
	command := e.Command()
	return rules.Middleware(rules.Options{
		Policy: func(ctx context.Context) *policy.Policy {
			if book := y.book(ctx); book != nil {
				return book.Policy
			}
			return nil
		},
		Profile: profileOf,
		Server:  e.Name, Origin: policy.OriginOf(command), Shadow: now.Settings.Shadow,
		Trusted: func(ctx context.Context) bool {
			book := y.book(ctx)
			return book != nil && policy.Vouches(book.Trusted, e.Name, command, !e.OfProject())
		},
	})
}

// hides reports the tools that the rules of a profile always deny. No list has them, and a call of one gets the reason from the rules.
func (now *Arrangement) hides(g *gateway.Gateway, profile string) func(gateway.Entry) bool {
	book := now.books[profile]
	return func(e gateway.Entry) bool {
		t, listed := g.Tool(e.Exposed)
		return e.Kind == "tool" && book != nil && listed && !now.Settings.Shadow && book.Policy.Hides(t.Server, t.Name, rules.Annotations(t.Definition))
	}
}

// denied is the error of a call of a tool that the rules of a profile deny in any case; nil for other tools.
func (now *Arrangement) denied(g *gateway.Gateway, profile, exposed string) error {
	book := now.books[profile]
	server, tool := g.Destination(exposed)
	if book == nil || now.Settings.Shadow || server == "" {
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
