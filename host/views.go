package host

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp/apps"
)

// Limits of what is read of one server's views, each time that its lists are read.
const (
	maxViews     = 32
	maxViewBytes = 16 << 20
	viewTime     = 5 * time.Second // for all of them
)

// A view is a document that a tool's results can be shown in (MCP Apps), as the person is asked about it.
type view struct {
	definition guard.Definition
	findings   []guard.Finding // in its text, where it is new or changed
}

// readViews reads the views of tools, so that a change of one is a change of a definition. Those of a server that is
// trusted, which nobody is asked about, are not read. One that cannot be read is not approved, and looked at the next time.
func (s *server) readViews(ctx context.Context, tools []*tool) []*view {
	if s.trusted() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, viewTime)
	defer cancel()
	var all []*view
	var seen []string
	size := 0
	for _, t := range tools {
		uri := t.link.URI
		if uri == "" || slices.Contains(seen, uri) || len(seen) == maxViews {
			continue
		}
		seen = append(seen, uri)
		document, err := apps.Read(ctx, s.client, uri)
		if err != nil {
			s.host.log.Debug("a view cannot be read", "server", s.Name, "tool", t.Name, "error", err)
			continue
		}
		if size += len(document.HTML); size > maxViewBytes {
			s.host.log.Debug("views are not read", "server", s.Name, "tool", t.Name, "error", fmt.Sprintf("they have more than %d MiB", maxViewBytes>>20))
			break
		}
		all = append(all, s.view(uri, document))
	}
	return all
}

func (s *server) view(uri string, document *apps.View) *view {
	encoded, _ := schema.Encode(nil, document) // without the HTML, which is texts, it always encodes
	v := &view{definition: guard.Definition{
		Kind: guard.View, Server: s.Name, Name: uri, Schema: encoded,
		Text: fmt.Sprintf("%d bytes of HTML, sha256:%x", len(document.HTML), sha256.Sum256([]byte(document.HTML))),
	}}
	if !s.pinned(v.definition) {
		v.findings = s.host.texts().Scan(document.HTML, guard.Where{Part: guard.InResource, Server: s.Name, Field: "html"})
	}
	return v
}

// viewFindings are what is suspicious about the text of a view.
func (s *server) viewFindings(uri string) []guard.Finding {
	for _, v := range s.current().views {
		if v.definition.Name == uri {
			return v.findings
		}
	}
	return nil
}
