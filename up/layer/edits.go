package layer

import (
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway/edit"
	"github.com/junction-mcp/junction/mcp"
)

// editLists returns middleware that changes the definitions of a server as its settings require.
func editLists(_ *Stack, _ *Plan, of Server) mcp.Middleware {
	o := edit.Options{Tools: map[string]edit.Tool{}, Prompts: entries(of.own.Prompts), Resources: entries(of.own.Resources)}
	if !of.picks.All() {
		o.Keep = func(kind edit.Kind, name string) bool { return of.picks.Offers(settings.Kind(kind), name) }
	}
	if of.picks.Tagged() {
		o.Tags = func(kind edit.Kind, name string) []string { return of.picks.Tags(settings.Kind(kind), name) }
	}
	for tool, t := range of.own.Tools {
		if t.Title+t.Description != "" || len(t.Fixed)+len(t.Defaults) > 0 {
			o.Tools[tool] = edit.Tool{Title: t.Title, Description: t.Description, Fixed: t.Fixed, Defaults: t.Defaults}
		}
	}
	if o.Keep == nil && o.Tags == nil && len(o.Tools)+len(o.Prompts)+len(o.Resources) == 0 {
		return nil
	}
	return edit.Middleware(o)
}

// entries returns the changes to prompts or resources.
func entries(all map[string]settings.Entry) map[string]edit.Entry {
	changed := map[string]edit.Entry{}
	for name, e := range all {
		if c := (edit.Entry{Title: e.Title, Description: e.Description, Name: e.Name}); c != (edit.Entry{}) {
			changed[name] = c
		}
	}
	return changed
}
