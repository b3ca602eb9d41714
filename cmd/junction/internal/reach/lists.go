package reach

import (
	"encoding/json"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
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
