package host

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/model"
)

// An offer is what a server has. It is replaced as a whole.
type offer struct {
	tools        []*tool
	prompts      []*mcp.Prompt
	resources    []*mcp.Resource
	templates    []*mcp.ResourceTemplate
	skills       []*skills.Skill // those of its list, and those that the model found by their URIs
	instructions string
	views        []*view
	info         *mcp.Implementation
	has          mcp.ServerCapabilities
}

// read makes an offer of what the server lists. Its views are read from it.
func (s *server) read(ctx context.Context, d *definitions.Definitions) offer {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	listed := decoded[mcp.Tool](s, "tools/list", d.Tools)
	tools := make([]*tool, 0, len(listed))
	seen := make(map[string]bool, len(listed))
	names := model.NewNames() // of this list only, so that a server that always has other names fills nothing
	for _, t := range listed {
		if t != nil && t.Name != "" && !seen[t.Name] { // of two with one name the first counts
			seen[t.Name] = true
			tools = append(tools, s.tool(t, names))
		}
	}
	fresh := offer{
		prompts: decoded[mcp.Prompt](s, "prompts/list", d.Prompts), resources: decoded[mcp.Resource](s, "resources/list", d.Resources),
		templates: decoded[mcp.ResourceTemplate](s, "resources/templates/list", d.Templates), tools: tools,
		instructions: d.Instructions,
	}
	if d.Capabilities != nil {
		_ = schema.DecodeLoose(d.Capabilities, &fresh.has) // what cannot be read is not offered
	}
	if info := new(mcp.Implementation); d.Server != nil && schema.DecodeLoose(d.Server, info) == nil {
		fresh.info = info
	}
	fresh.skills = s.readSkills(ctx, decoded[skills.Skill](s, skills.MethodList, d.Skills))
	fresh.views = s.readViews(ctx, fresh.tools)
	return fresh
}

// decoded decodes a list. An entry that cannot be read does not hide the others.
func decoded[T any](s *server, method string, list []json.RawMessage) []*T {
	var all []*T
	for _, raw := range list {
		entry := new(T)
		if err := schema.DecodeLoose(raw, entry); err != nil {
			s.host.log.Debug("an entry of a list cannot be read", "server", s.Name, "method", method, "error", err)
			continue
		}
		all = append(all, entry)
	}
	return all
}
