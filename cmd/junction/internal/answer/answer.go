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

// How much of what a server says is shown, in runes.
const (
	maxServerName = 80
	maxMessage    = 2_000
	maxURL        = 2_000
)

// A Desk is where questions are answered. The zero values of its fields answer
// as little as possible.
type Desk struct {
	// Place is where relative paths of Roots begin.
	Place place.Place
	// Screen shows what was answered without asking anybody; required.
	Screen *terminal.Screen
	// Person is asked where nothing below says the answer; nil if nobody is there.
	Person *terminal.Person
	// Elicit answers every elicitation: "accept" (forms with their defaults),
	// "decline", "cancel", or the JSON object to fill in. Empty: ask the person.
	Elicit string
	// Sample answers for the model. Empty: sampling is refused.
	Sample string
	// Roots are the folders that servers may know of; none: roots are refused.
	Roots []string
}

// Check says what is wrong with the fields that flags fill.
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

// Serve makes a client answer at this desk. server is who asks.
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

// Folders are the roots, as servers get them.
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

// Answer answers an elicitation as the flags say, or asks. Whoever ends the input in place of an answer
// dismisses it.
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

// needed is the first field of a form that must be filled in, as it has no default; empty without one.
func needed(asks json.RawMessage) string {
	fields, _ := form.Read(asks) // what cannot be read the client refuses
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

// only keeps the members that the form asks for, so that one answer can serve
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
