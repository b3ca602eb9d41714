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

// Limits for the data that is read from a server.
const (
	// maxDefinitions is the largest number of entries that are read of each list.
	maxDefinitions = 10_000
	// maxListed is the largest size in bytes of all lists of a server.
	maxListed = 64 << 20
	// maxCalls is the largest number of calls that Options do not name.
	maxCalls = 50
	// maxResults is the largest size in bytes of all results. When it is reached, no further calls
	// are made.
	maxResults = 32 << 20
	// callTime is the time limit of a call that Options do not name.
	callTime = 10 * time.Second
)

// Options configure Look. With the zero value, Look calls only tools that can be called without
// harm.
type Options struct {
	// Calls are further calls, made whatever the server claims about these tools. Only Tool and
	// Arguments are used.
	Calls []Call
	// NoCalls restricts the calls to the ones in Calls.
	NoCalls bool
	// Breaches collected the breaches of the connection. It may be nil.
	Breaches *Breaches
}

// Look reads the definitions of a server. It calls the tools that are read-only, according to the
// server, and need no arguments. The error is the reason why the server could not be read.
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
				if revision.ListOf(l.Kind) == l { // no capability announces that there are templates
					seen.Breaches = append(seen.Breaches, Breach{fmt.Sprintf("it announces %s, but does not know %s", l.Member, l.Name),
						"a server that declares a capability answers its requests (basic/lifecycle)"})
				}
				break
			}
			late := ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded)
			if err != nil && (l.Kind == revision.OfTool || !late && !errors.As(err, new(*mcp.Error))) {
				return nil, err
			}
			if err != nil { // the list may need something that is not available
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

// call makes the calls in o.Calls and the harmless ones.
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
				break // there can be up to maxCalls calls that take as long
			}
			wait = callTime / 5
		}
	}
	return context.Cause(ctx)
}

// make makes one call and stores its result. It returns the size of the result in bytes.
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

// IsHarmless reports whether a listed tool can be called to see its result: the server claims that
// it is read-only, and it needs no arguments.
func IsHarmless(tool json.RawMessage) bool {
	if string(jsonrpc.Get(jsonrpc.Get(tool, "annotations"), "readOnlyHint")) != "true" {
		return false
	}
	schema := jsonrpc.Get(tool, "inputSchema")
	return isObject(schema) && !needsArguments(schema)
}

// needsArguments reports whether a schema may refuse {}: it requires a property, or has keywords
// that are not evaluated here.
func needsArguments(schema json.RawMessage) bool {
	needs := false
	jsonrpc.EachElement(jsonrpc.Get(schema, "required"), func([]byte) bool { needs = true; return false })
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "not", "if", "minProperties", "$ref"} {
		needs = needs || jsonrpc.Get(schema, keyword) != nil
	}
	return needs
}
