package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
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

// read reads what the server offers.
func (s *server) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var fresh offer
	if err := s.discover(ctx, &fresh); err != nil {
		return err
	}
	var err error
	var tools []*mcp.Tool
	if tools, err = collect[mcp.Tool](ctx, s, "tools/list", "tools"); err != nil {
		return fmt.Errorf("server %q: its tools: %w", s.Name, err)
	}
	if fresh.prompts, err = collect[mcp.Prompt](ctx, s, "prompts/list", "prompts"); err != nil {
		return fmt.Errorf("server %q: its prompts: %w", s.Name, err)
	}
	if fresh.resources, err = collect[mcp.Resource](ctx, s, "resources/list", "resources"); err != nil {
		return fmt.Errorf("server %q: its resources: %w", s.Name, err)
	}
	if fresh.templates, err = collect[mcp.ResourceTemplate](ctx, s, "resources/templates/list", "resourceTemplates"); err != nil {
		return fmt.Errorf("server %q: its resource templates: %w", s.Name, err)
	}
	if fresh.skills, err = s.readSkills(ctx, &fresh); err != nil {
		return fmt.Errorf("server %q: its skills: %w", s.Name, err)
	}
	fresh.tools = s.tools(tools)
	fresh.views = s.readViews(ctx, fresh.tools)
	s.replace(fresh)
	return nil
}

// collect reads a list, bounded. A server that does not have such things has none. An entry that
// cannot be read does not hide the others.
func collect[T any](ctx context.Context, s *server, method, list string) ([]*T, error) {
	var all []*T
	size := 0
	for raw, err := range s.client.List(ctx, method, list) {
		if err != nil && mcp.ErrorOf(err).Code == mcp.CodeMethodNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		switch size += len(raw); {
		case len(all) == maxToolsListed:
			return nil, fmt.Errorf("there are more than %d", maxToolsListed)
		case size > maxListed:
			return nil, fmt.Errorf("they have more than %d MiB", maxListed>>20)
		}
		entry := new(T)
		if err := schema.DecodeLoose(slices.Clone(raw), entry); err != nil { // its page can be much larger
			s.host.log.Debug("an entry of a list cannot be read", "server", s.Name, "method", method, "error", err)
			continue
		}
		all = append(all, entry)
	}
	return all, nil
}

// discover reads what the server says of itself.
func (s *server) discover(ctx context.Context, into *offer) error {
	result, err := s.client.Do(ctx, "server/discover", nil)
	if err != nil {
		return fmt.Errorf("server %q: %w", s.Name, err)
	}
	body, err := result.Encoded()
	if err != nil {
		return fmt.Errorf("server %q: what it says of itself: %w", s.Name, err)
	}
	into.instructions, _ = jsonrpc.Unquote(jsonrpc.Get(json.RawMessage(body), "instructions"))
	if raw := jsonrpc.Get(json.RawMessage(body), "capabilities"); raw != nil {
		_ = schema.DecodeLoose(raw, &into.has) // what cannot be read is not offered
	}
	var info mcp.Implementation
	if raw := jsonrpc.Get(result.Meta, revision.MetaServerInfo); raw != nil && schema.DecodeLoose(raw, &info) == nil {
		into.info = &info
	}
	return nil
}
