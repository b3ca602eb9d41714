package lint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// What is read of a server.
const (
	// maxDefinitions is how many tools, prompts, resources or templates are read.
	maxDefinitions = 10_000
	// maxListed is how many bytes all lists of a server may have.
	maxListed = 64 << 20
	// maxCalls is how many tools are called that were not named.
	maxCalls = 50
	// maxResults is how many bytes of results are kept; after that no call is made.
	maxResults = 32 << 20
	// callTime is how long a call may take that was not named.
	callTime = 10 * time.Second
)

// Options say what Look does beyond reading lists. The zero value calls what can be called
// without harm.
type Options struct {
	// Calls are made in addition, whatever the server says of these tools; only Tool and
	// Arguments count.
	Calls []Call
	// NoCalls has no tool called but those of Calls.
	NoCalls bool
	// Breaches are what the connection met; nil if nothing heard of them.
	Breaches *Breaches
}

// Look reads what a server says of itself, and calls the tools of which it says that they
// only read, and which need no arguments. The error says why that was not possible.
func Look(ctx context.Context, c *mcp.Client, o Options) (*Seen, error) {
	seen := &Seen{Name: c.Name(), Revision: c.Revision(), Instructions: c.Instructions()}
	capable := c.Capabilities()
	left := maxListed
	into := map[string]*[]json.RawMessage{"tools": &seen.Tools, "prompts": &seen.Prompts, "resources": &seen.Resources, "resourceTemplates": &seen.Templates}
	for _, l := range revision.Lists() {
		entries := into[l.Member]
		if entries == nil || capable.List(l.Capability) == nil {
			continue
		}
		for raw, err := range c.List(ctx, l.Name, l.Member) {
			if fault, is := errors.AsType[*mcp.Error](err); is && fault.Code == mcp.CodeMethodNotFound {
				if revision.ListOf(l.Kind) == l { // of templates nothing says that there must be some
					seen.Breaches = append(seen.Breaches, Breach{fmt.Sprintf("it announces %s, but does not know %s", l.Member, l.Name),
						"a server that declares a capability answers its requests (basic/lifecycle)"})
				}
				break
			}
			late := ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded)
			if err != nil && (l.Kind == revision.OfTool || !late && !errors.As(err, new(*mcp.Error))) {
				return nil, err
			}
			if err != nil { // of something that it needs, perhaps
				seen.Unread = append(seen.Unread, err)
				break
			}
			if left -= len(raw); left < 0 || len(*entries) >= maxDefinitions {
				return nil, fmt.Errorf("server %q: %s: more than %d entries, or %d MiB of all lists", c.Name(), l.Name, maxDefinitions, maxListed>>20)
			}
			*entries = append(*entries, slices.Clone(raw))
		}
	}
	if err := seen.call(ctx, c, o); err != nil {
		return nil, err
	}
	seen.Breaches = append(seen.Breaches, o.Breaches.All()...)
	return seen, nil
}

// call makes the calls that were asked for, and those that do no harm.
func (s *Seen) call(ctx context.Context, c *mcp.Client, o Options) error {
	left := maxResults
	for _, wanted := range o.Calls {
		left -= s.make(ctx, c, Call{Tool: wanted.Tool, Arguments: wanted.Arguments})
	}
	made, wait := 0, callTime
	for _, raw := range s.Tools {
		if o.NoCalls || !IsHarmless(raw) {
			continue
		}
		if made++; made > maxCalls || left < 0 || ctx.Err() != nil {
			break
		}
		within, cancel := context.WithTimeout(ctx, wait)
		left -= s.make(within, c, Call{Tool: text(raw, "name")})
		cancel()
		if errors.Is(s.Calls[len(s.Calls)-1].Err, context.DeadlineExceeded) {
			if wait < callTime {
				break // there are up to maxCalls
			}
			wait = callTime / 5
		}
	}
	return context.Cause(ctx)
}

// make makes one call and keeps what came; it returns how many bytes that is.
func (s *Seen) make(ctx context.Context, c *mcp.Client, call Call) int {
	w := jsonrpc.NewObject(nil)
	w.String("name", call.Tool)
	if call.Arguments == nil {
		call.Arguments = json.RawMessage("{}")
	}
	w.Raw("arguments", call.Arguments)
	result, err := c.Do(ctx, "tools/call", w.Bytes())
	if err == nil {
		call.Result, err = result.Encoded()
	}
	call.Err = err
	s.Calls = append(s.Calls, call)
	return len(call.Result)
}

// IsHarmless reports whether a tool, as it was listed, can be called to see what comes back:
// the server says that it only reads, and it needs no arguments.
func IsHarmless(tool json.RawMessage) bool {
	if string(jsonrpc.Get(jsonrpc.Get(tool, "annotations"), "readOnlyHint")) != "true" {
		return false
	}
	schema := jsonrpc.Get(tool, "inputSchema")
	return isObject(schema) && !needsArguments(schema)
}

// needsArguments reports whether {} may not fit a schema: it requires something, or says more
// than what properties there are.
func needsArguments(schema json.RawMessage) bool {
	needs := false
	jsonrpc.EachElement(jsonrpc.Get(schema, "required"), func([]byte) bool { needs = true; return false })
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "not", "if", "minProperties", "$ref"} {
		needs = needs || jsonrpc.Get(schema, keyword) != nil
	}
	return needs
}
