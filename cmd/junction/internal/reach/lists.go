package reach

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/mcp"
)

// maxDialing is how many servers are asked at the same time.
const maxDialing = 8

// A List is something that servers list.
type List struct {
	*revision.Method
	Command string
	Text    func(entries []json.RawMessage, width int) (string, error)
	// Brief is text with a line for each entry; nil where there is no such form.
	Brief func(entries []json.RawMessage, width int) (string, error)
}

// Nouns names several entries of the list.
func (l List) Nouns() string { return l.Noun + "s" }

// ShownAs returns the list with its entries shown in full, or a line each where
// there is such a form.
func (l List) ShownAs(full bool) List {
	if !full && l.Brief != nil {
		l.Text = l.Brief
		return l
	}
	l.Brief = nil
	return l
}

// A Listing is what one server listed.
type Listing struct {
	Entries []json.RawMessage
	// Remembered says that the server was not asked, and read when it was last; zero where that is not known.
	Remembered bool
	read       time.Time
	// runs is the server in a junction up; nil where none has it.
	runs *cli.RunningServer
	// Missing are servers behind this one, a gateway, whose entries are not in the list.
	Missing []absent
	Err     error
}

// A ListedShown is what a list prints of one server with --json: of its lists the one that was asked for, with all pages.
type ListedShown struct {
	Source    string            `json:"source,omitempty"` // the file that defines the server
	Disabled  bool              `json:"disabled,omitempty"`
	Error     json.RawMessage   `json:"error,omitempty"` // why there is no list
	Tools     []json.RawMessage `json:"tools,omitzero"`
	Resources []json.RawMessage `json:"resources,omitzero"`
	Templates []json.RawMessage `json:"resourceTemplates,omitzero"`
	Prompts   []json.RawMessage `json:"prompts,omitzero"`
	Skills    []json.RawMessage `json:"skills,omitzero"`
	Missing   []absent          `json:"missing,omitempty"` // servers behind this one, a gateway, that it has not reached
}

// Shown returns what a server listed, or why it could not be asked.
func (l List) Shown(got *Listing) (s ListedShown) {
	if got.Err != nil {
		s.Error = jsonrpc.Get(cli.ErrorObject(got.Err), "error")
		return s
	}
	of := map[string]*[]json.RawMessage{"tools": &s.Tools, "resources": &s.Resources, "templates": &s.Templates, "prompts": &s.Prompts, "skills": &s.Skills}
	*of[l.Command], s.Missing = append([]json.RawMessage{}, got.Entries...), got.Missing
	return s
}

// About says where a server is defined, and how many entries it has, or why none are known.
func (s ListedServer) About(p place.Place, l List) string {
	details := []string{s.Entry.Origin(p)}
	switch {
	case s.Entry.IsDisabled():
		details = append(details, "disabled")
	case errors.As(s.Listing.Err, new(*ConsentError)):
		details = append(details, "not agreed to")
	case s.Listing.Err != nil:
		details = append(details, "not connected: "+plaintext.Line(why.Of(s.Listing.Err, s.Entry.Name), cli.MaxReason))
	case s.Listing.runs.IsFailing():
		details = append(details, s.Listing.runs.About())
	default:
		details = append(details, plaintext.Count(len(s.Listing.Entries), l.Noun))
		if s.Listing.Remembered {
			details = append(details, cmp.Or(s.Listing.runs.About(), s.Entry.AtRest()+cli.AsOf(s.Listing.read)))
		}
	}
	return strings.Join(details, ", ")
}

// IsSilent reports whether nobody waited for a server any longer before it was connected, in which case nothing else is known of it.
func (s ListedServer) IsSilent() bool {
	err := s.Listing.Err
	ended := errors.Is(err, cli.ErrInterrupted) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return ended && errors.As(err, new(*cli.ConnectError))
}

// missingMeta is the member of a list's _meta by which a gateway says which servers are not in it; see package gateway.
const missingMeta = "io.github.junction-mcp/missing"

// maxMissing is how many servers are taken from it.
const maxMissing = 100

// An absent server is one whose entries the list of a gateway lacks.
type absent struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}

// noteMissing is middleware that adds to all what lists say is not in them.
func noteMissing(all *[]absent) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			result, err := next.Handle(ctx, req)
			if err == nil && strings.HasSuffix(req.Method, "/list") {
				*all = missingIn(*all, result.Meta)
			}
			return result, err
		})
	}
}

func missingIn(all []absent, meta json.RawMessage) []absent {
	list := jsonrpc.Get(meta, missingMeta)
	if len(list) == 0 || list[0] != '[' {
		return all
	}
	jsonrpc.EachElement(list, func(raw []byte) bool {
		var one absent
		one.Server, _ = jsonrpc.Unquote(jsonrpc.Get(raw, "server"))
		one.Reason, _ = jsonrpc.Unquote(jsonrpc.Get(raw, "reason"))
		if one.Server != "" && !slices.ContainsFunc(all, func(a absent) bool { return a.Server == one.Server }) {
			all = append(all, one)
		}
		return len(all) < maxMissing
	})
	return all
}
