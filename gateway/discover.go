package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/changes"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

// maxInstructions is the maximum number of bytes of a member's instructions that the gateway sends
// to clients.
const maxInstructions = 4 << 10

// discover returns the description of the gateway. The members change, so it declares every
// capability that a member could have.
func (g *Gateway) discover(has func(*member) bool) (mcp.Result, error) {
	self, err := json.Marshal(mcp.Implementation{Name: g.options.Name, Version: g.options.Version})
	if err != nil {
		return mcp.Result{}, err
	}
	return g.introduction(self, g.instructions(has))
}

// introduction returns the result of server/discover. The description self may be nil.
func (g *Gateway) introduction(self json.RawMessage, instructions string) (mcp.Result, error) {
	d := mcp.DiscoverResult{
		SupportedVersions: revision.Modern(),
		Capabilities: mcp.ServerCapabilities{
			Completions: &struct{}{},
			Logging:     &struct{}{},
			Extensions:  map[string]json.RawMessage{skills.Extension: json.RawMessage(`{"directoryRead":true}`)},
		},
		Instructions: instructions,
	}
	for _, list := range revision.Changes() {
		d.Capabilities.Declare(list.Capability)
	}
	meta := map[string]any{changes.MarkKey: g.changes.Mark(), gatewaysKey: g.gateways()}
	if self != nil {
		meta[revision.MetaServerInfo] = self
	}
	encoded, err := json.Marshal(meta)
	if err != nil {
		return mcp.Result{}, err
	}
	return mcp.Result{Value: d, Meta: encoded}, nil
}

// instructions joins the instructions of the members for which has reports true, each under its
// name.
func (g *Gateway) instructions(has func(*member) bool) string {
	var b strings.Builder
	for _, m := range g.all() {
		m.mu.RLock()
		known := m.known
		m.mu.RUnlock()
		if known == nil || known.Instructions == "" || !has(m) {
			continue
		}
		text := known.Instructions
		if len(text) > maxInstructions {
			text = strings.ToValidUTF8(text[:maxInstructions], "") + " […]"
		}
		title := m.name
		if prefix := m.prefix(); prefix != "" {
			title += " (tools " + prefix + "…)"
		}
		b.WriteString("# " + title + "\n" + text + "\n\n")
	}
	return strings.TrimSpace(b.String())
}

// complete passes completion/complete on to the member that has the prompt or template in ref.
func (g *Gateway) complete(ctx context.Context, req *mcp.Request, offers *choice) (mcp.Result, error) {
	ref := jsonrpc.Get(req.Params, "ref")
	refType, _ := jsonrpc.Unquote(jsonrpc.Get(ref, "type"))
	switch refType {
	case mcp.RefPrompt:
		name, _ := jsonrpc.Unquote(jsonrpc.Get(ref, "name"))
		m, original, err := g.find(ctx, promptKind, name)
		if err != nil {
			return mcp.Result{}, err
		}
		if m == nil || !offers.has(promptKind, name, m, original) {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "ref: unknown prompt %q", name)
		}
		renamed := jsonrpc.With(ref, "name", jsonrpc.AppendString(nil, original))
		return m.ask(ctx, req, req.WithParams(jsonrpc.With(req.Params, "ref", renamed)))
	case mcp.RefResource:
		uri, _ := jsonrpc.Unquote(jsonrpc.Get(ref, "uri"))
		if err := g.await(ctx); err != nil {
			return mcp.Result{}, err
		}
		offer := g.current()
		for _, k := range []kind{templateKind, resourceKind} {
			f, ok := offer.found[k.Name][uri]
			if !ok || !offers.has(k, uri, f.member, f.original) {
				continue
			}
			renamed := req
			if f.original != uri {
				renamed = req.WithParams(jsonrpc.With(req.Params, "ref", jsonrpc.With(ref, "uri", jsonrpc.AppendString(nil, f.original))))
			}
			return f.member.ask(ctx, req, renamed)
		}
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "ref: unknown resource template %q", uri)
	}
	return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "ref.type: expected %q or %q, got %q", mcp.RefPrompt, mcp.RefResource, refType)
}
