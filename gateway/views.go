package gateway

import (
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/apps"
)

// A tool names a view, the document that shows its results, by the URI of a resource (extension
// io.modelcontextprotocol/ui). The resource need not be listed. A URI that another member also has
// is renamed, as for any resource. Otherwise a host would show the results of one server's tool in
// the document of another server.

// exposeViews assigns URIs for clients to the unlisted views of a member.
func (n *naming) exposeViews(m *member) {
	if n.kind.Name != resourceKind.Name {
		return
	}
	for _, e := range m.listing(toolKind).entries {
		if f, listed := n.found[e.view]; e.view == "" || listed && f.member == m {
			continue
		}
		if _, shared := n.found[m.ownURI(e.view)]; !shared {
			n.expose(m, listed{name: e.view})
		}
	}
}

// renameView changes the URI of a tool's view to the one that clients know.
func (o *offer) renameView(m *member, e *listed) {
	if e.view == "" {
		return
	}
	if known := o.clientURI(m, e.view, newMatching()); known != e.view {
		e.raw = jsonrpc.With(e.raw, "_meta", apps.Link{URI: known}.In(jsonrpc.Get(e.raw, "_meta")))
	}
}
