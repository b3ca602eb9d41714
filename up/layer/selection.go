package layer

import (
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/mcp"
)

// readSelections reads the selections of each server.
func readSelections(_ *Stack, p *Plan) error {
	p.readPicks()
	return nil
}

func (p *Plan) readPicks() {
	p.picks = map[string]*settings.Selection{}
	for name := range p.Settings.Servers {
		p.picks[name] = p.Settings.Select(name)
	}
}

// selectPart returns middleware that restricts the gateway to the entries of a profile or a server.
func selectPart(_ *Stack, p *Plan, part Part) mcp.Middleware {
	var s gateway.Selection
	switch {
	case part.Server != "":
		s.Servers = []string{part.Server}
	case p.roles != nil:
		return p.selectByRole(part)
	case part.Profile != "":
		s = gateway.Selection{Servers: part.settings.Servers, Keep: p.selectedIn(part.Profile), Hide: p.deniedIn(part.Gateway, part.Profile)}
	default:
		return nil
	}
	return func(mcp.Handler) mcp.Handler { return part.Gateway.Only(s) }
}

// selectedIn returns a function that reports whether a profile contains an entry.
func (p *Plan) selectedIn(profile string) func(gateway.Entry) bool {
	of := p.Settings.Profiles[profile]
	patterns := of.Patterns()
	return func(e gateway.Entry) bool { return p.picksOf(patterns, e) }
}

// picksOf reports whether patterns select an entry.
func (p *Plan) picksOf(patterns *settings.Patterns, e gateway.Entry) bool {
	kind := settings.ResourceKind
	switch e.Kind {
	case "tool":
		kind = settings.ToolKind
	case "prompt":
		kind = settings.PromptKind
	}
	var tags []string
	if picks := p.picks[e.Server]; picks != nil {
		tags = picks.Tags(kind, e.Name)
	}
	if p.Settings.Of(e.Server).MaxResult > 0 && results.Is(e.Server, e.Name) { // results of the server's tools
		return true
	}
	names := []string{e.Exposed}
	if kind == settings.ResourceKind { // patterns also match the server's own URI
		names = append(names, e.Name)
	}
	return patterns.Pick(kind, tags, names...)
}
