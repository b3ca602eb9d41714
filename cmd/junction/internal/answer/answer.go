package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/form"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// Maximum lengths of texts from a server, in runes.
const (
	maxServerName = 80
	maxMessage    = 2_000
	maxURL        = 2_000
)

// A Desk answers the requests that servers send to the client. Fields with zero values answer as
// little as possible.
type Desk struct {
	// Place resolves relative paths in Roots.
	Place place.Place
	// Screen shows the answers given without asking the user. It is required.
	Screen *terminal.Screen
	// Person is the user, for questions that no field below answers. It is nil without a terminal.
	Person *terminal.Person
	// Elicit is the answer to every elicitation: "accept" (forms with their defaults), "decline",
	// "cancel", or the JSON object to fill in. If it is empty, the user is asked.
	Elicit string
	// Sample is the text that answers every sampling request. If it is empty, sampling is refused.
	Sample string
	// Roots lists the folders that servers learn about. If it is empty, roots are refused.
	Roots []string
}

// Check reports errors in the fields that command-line flags set.
func (d *Desk) Check() error {
	switch d.Elicit {
	case "", mcp.ElicitAccept, mcp.ElicitDecline, mcp.ElicitCancel:
	default:
		if fault := jsonrpc.Valid([]byte(d.Elicit), jsonrpc.Limits{}); fault != nil || d.Elicit[0] != '{' {
			return fmt.Errorf("--elicit: expected accept, decline, cancel or a JSON object, got %.40q", d.Elicit)
		}
	}
	for _, root := range d.Roots {
		if info, err := os.Stat(d.Place.Path(root)); err != nil || !info.IsDir() {
			return fmt.Errorf("--root %s: expected a folder", root)
		}
	}
	return nil
}

// Serve makes a client answer the requests of the given server through this desk.
func (d *Desk) Serve(o *mcp.ClientOptions, server string) {
	server = plaintext.Line(server, maxServerName)
	o.ElicitURL = true
	o.OnElicit = func(ctx context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return d.Answer(ctx, host.Form{Server: server, Request: req})
	}
	if d.Sample != "" {
		o.OnSample = func(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.SamplingContent{mcp.Text(d.Sample)}, Model: "canned", StopReason: "endTurn"}, nil
		}
	}
	if len(d.Roots) > 0 {
		o.OnRoots = func(context.Context) ([]mcp.Root, error) { return d.Folders() }
	}
}

// Folders returns the roots in the form that servers receive.
func (d *Desk) Folders() ([]mcp.Root, error) {
	var roots []mcp.Root
	for _, dir := range d.Roots {
		full, err := d.Place.Abs(dir)
		if err != nil {
			return nil, err
		}
		roots = append(roots, mcp.Root{URI: filename.URL(full), Name: filepath.Base(full)})
	}
	return roots, nil
}

// Answer answers an elicitation according to Elicit, or asks the user. If the user ends the input
// without an answer, the elicitation is cancelled.
func (d *Desk) Answer(ctx context.Context, f host.Form) (*mcp.ElicitResult, error) {
	if d.Elicit == "" && d.Person != nil {
		result, err := tui.NewLines(d.Person, nil).Elicit(ctx, f)
		if errors.Is(err, terminal.ErrNoAnswer) {
			return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
		}
		return result, err
	}
	server, req := plaintext.Line(f.Server, maxServerName), f.Request
	for _, warning := range f.Warnings {
		d.Screen.Printf("junction: careful: %s\n", plaintext.Line(warning, maxMessage))
	}
	isURL := req.Mode == mcp.ElicitURL
	switch {
	case d.Elicit == "":
		d.report(server, req, "declined: no terminal to ask on; --elicit answers without one")
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	case d.Elicit[0] != '{':
		what := "answered: " + d.Elicit
		if lacks := needed(req.RequestedSchema); d.Elicit == mcp.ElicitAccept && lacks != "" {
			what += fmt.Sprintf(`, but the form needs %s, which has no default; give it with --elicit '{%q: …}'`, lacks, lacks)
		}
		d.report(server, req, what)
		result := &mcp.ElicitResult{Action: d.Elicit}
		if result.Action == mcp.ElicitAccept && !isURL {
			result.Content = json.RawMessage(`{}`) // the client fills in the defaults
		}
		return result, nil
	case isURL:
		d.report(server, req, "declined: --elicit with an object answers only forms, and this is a web page; --elicit accept agrees to both")
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	d.report(server, req, "answered with --elicit")
	content, err := only(json.RawMessage(d.Elicit), req.RequestedSchema)
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, err
}

// needed returns the first required field of a form that has no default. It returns the empty
// string if there is none.
func needed(asks json.RawMessage) string {
	fields, _ := form.Read(asks) // the client refuses invalid forms itself
	for _, f := range fields {
		if f.Required && f.Default == nil {
			return plaintext.Line(f.Name, 80)
		}
	}
	return ""
}

func (d *Desk) report(server string, req mcp.ElicitRequest, what string) {
	d.Screen.Printf("%s asks: %s\n  %s\n", server, plaintext.Line(req.Message, 500), what)
	if req.URL != "" {
		d.Screen.Printf("  page: %s\n", plaintext.Line(req.URL, maxURL))
	}
}

// only removes from content the members that the form does not ask for. Thus one answer can serve
// several forms.
func only(content, asks json.RawMessage) (json.RawMessage, error) {
	fields, err := form.Read(asks)
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%v", err)
	}
	asked := map[string]bool{}
	for _, f := range fields {
		asked[f.Name] = true
	}
	var drop []string
	jsonrpc.EachMember(content, func(quoted, _ []byte) bool {
		if name, _ := jsonrpc.Unquote(quoted); !asked[name] {
			drop = append(drop, name)
		}
		return true
	})
	return jsonrpc.Without(content, drop...), nil
}
