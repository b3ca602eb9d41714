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
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
)

// maxDialing is the number of servers connected to at the same time.
const maxDialing = 8

// A List describes a list that servers have, and the command that prints it.
type List struct {
	*revision.Method
	Command string
	Text    func(entries []json.RawMessage, width int) (string, error)
	// Brief is like Text with one line for each entry; nil if the list has no such form.
	Brief func(entries []json.RawMessage, width int) (string, error)
}

// Nouns returns the plural of the list's noun.
func (l List) Nouns() string { return l.Noun + "s" }

// ShownAs returns the list printed in full, or with one line for each entry if it has that form.
func (l List) ShownAs(full bool) List {
	if !full && l.Brief != nil {
		l.Text = l.Brief
		return l
	}
	l.Brief = nil
	return l
}

// A Listing is the outcome of listing one server.
type Listing struct {
	Entries []json.RawMessage
	// Remembered reports that Entries were stored before. read is the time they were read; zero if
	// unknown.
	Remembered bool
	read       time.Time
	// runs is the server in a running junction up, or nil.
	runs *cli.RunningServer
	// Missing holds the servers behind a gateway whose entries are not in the list.
	Missing []absent
	Err     error
}

// A ListedShown is the output of a list command for one server with --json. Only the list of the
// command is set.
type ListedShown struct {
	Source    string            `json:"source,omitempty"` // the file that defines the server
	Disabled  bool              `json:"disabled,omitempty"`
	Error     json.RawMessage   `json:"error,omitempty"` // why there is no list
	Tools     []json.RawMessage `json:"tools,omitzero"`
	Resources []json.RawMessage `json:"resources,omitzero"`
	Templates []json.RawMessage `json:"resourceTemplates,omitzero"`
	Prompts   []json.RawMessage `json:"prompts,omitzero"`
	Skills    []json.RawMessage `json:"skills,omitzero"`
	Missing   []absent          `json:"missing,omitempty"` // servers behind this gateway whose entries are not in the list
}

// Shown returns the output for a listing: its entries or its error.
func (l List) Shown(got *Listing) (s ListedShown) {
	if got.Err != nil {
		s.Error = jsonrpc.Get(cli.ErrorObject(got.Err), "error")
		return s
	}
	of := map[string]*[]json.RawMessage{"tools": &s.Tools, "resources": &s.Resources, "templates": &s.Templates, "prompts": &s.Prompts, "skills": &s.Skills}
	*of[l.Command], s.Missing = append([]json.RawMessage{}, got.Entries...), got.Missing
	return s
}

// About returns where a server is defined and the number of its entries, or why it has none.
func (s ListedServer) About(p place.Place, l List) string {
	details := []string{s.Entry.Origin(p)}
	switch {
	case s.Entry.IsDisabled():
		details = append(details, "disabled")
	case errors.As(s.Listing.Err, new(*launch.ConsentError)):
		details = append(details, "not agreed to")
	case s.Listing.Err != nil:
		details = append(details, "not connected: "+plaintext.Line(why.Of(s.Listing.Err, s.Entry.Name), cli.MaxReason))
	case s.Listing.runs.IsFailing():
		details = append(details, s.Listing.runs.StateText())
	default:
		details = append(details, plaintext.Count(len(s.Listing.Entries), l.Noun))
		if s.Listing.Remembered {
			details = append(details, cmp.Or(s.Listing.runs.StateText(), s.Entry.IdleText()+cli.AgeText(s.Listing.read)))
		}
	}
	return strings.Join(details, ", ")
}

// IsSilent reports whether the command stopped waiting before the server was connected.
func (s ListedServer) IsSilent() bool {
	err := s.Listing.Err
	ended := errors.Is(err, cli.ErrInterrupted) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return ended && errors.As(err, new(*cli.ConnectError))
}

// missingMeta is the member of a list's _meta that names the servers missing from it; see package
// gateway.
const missingMeta = "io.github.junction-mcp/missing"

// maxMissing limits the servers read from it.
const maxMissing = 100

// An absent server is one whose entries are missing from the list of a gateway.
type absent struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}

// noteMissing returns middleware that collects the servers missing from lists in all.
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

// missingIn returns all with the servers that meta names as missing, each once.
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
