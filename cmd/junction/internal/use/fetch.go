package use

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/process"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

// maxDialing is the maximum number of simultaneous connection attempts to servers that are not
// programs.
const maxDialing = 8

// A List describes a list that servers offer, and the command that prints it.
type List struct {
	*revision.Method
	Command string
	Text    func(entries []json.RawMessage, width int) (string, error)
	// Brief is like Text, but formats each entry in one line. It is nil if the list has no brief
	// form.
	Brief func(entries []json.RawMessage, width int) (string, error)
}

// Nouns returns the plural of the list's noun.
func (l List) Nouns() string { return l.Noun + "s" }

// ShownAs returns the list with Text set to the full or the brief form. A list without a brief form
// always has the full form.
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
	// Remembered reports whether Entries come from an earlier run. The field read is the time of
	// that run, or zero if unknown.
	Remembered bool
	read       time.Time
	// runs is the server in a running junction up, or nil if it does not run there.
	runs *cli.RunningServer
	// Missing holds the servers behind a gateway whose entries the list lacks.
	Missing []absent
	Err     error
}

// A ListedShown is the output of a list command with --json, for one server. Only the field for the
// list of that command is set.
type ListedShown struct {
	Source    string            `json:"source,omitempty"` // the file that defines the server
	Disabled  bool              `json:"disabled,omitempty"`
	Error     json.RawMessage   `json:"error,omitempty"` // reason that there is no list
	Tools     []json.RawMessage `json:"tools,omitzero"`
	Resources []json.RawMessage `json:"resources,omitzero"`
	Templates []json.RawMessage `json:"resourceTemplates,omitzero"`
	Prompts   []json.RawMessage `json:"prompts,omitzero"`
	Skills    []json.RawMessage `json:"skills,omitzero"`
	Missing   []absent          `json:"missing,omitempty"` // servers behind a gateway whose entries the list lacks
}

// Shown returns the JSON output for a listing: its entries, or its error.
func (l List) Shown(got *Listing) (s ListedShown) {
	if got.Err != nil {
		s.Error = jsonrpc.Get(cli.ErrorObject(got.Err), "error")
		return s
	}
	of := map[string]*[]json.RawMessage{"tools": &s.Tools, "resources": &s.Resources, "templates": &s.Templates, "prompts": &s.Prompts, "skills": &s.Skills}
	*of[l.Command], s.Missing = append([]json.RawMessage{}, got.Entries...), got.Missing
	return s
}

// About describes where a server is defined, and how many entries it has. If it has no list, the
// text gives the reason.
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

// missingMeta is the member of a list's _meta that names the servers missing from the list. Package
// gateway documents it.
const missingMeta = "io.github.junction-mcp/missing"

// maxMissing limits the number of servers read from missingMeta.
const maxMissing = 100

// An absent server is one whose entries are missing from the list of a gateway.
type absent struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}

// noteMissing returns middleware that adds to all the servers missing from each list.
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

// missingIn adds to all the servers that meta reports missing, without duplicates.
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

// A ListedServer is a server with its listing. The listing of a disabled server is empty.
type ListedServer struct {
	Entry   launch.Entry
	Listing Listing
	Open    bool // whether the server is still to be asked
}

// StoredLists returns the configuration and its servers, with the stored list of each server. If
// names are given, it returns only those servers. With refresh, it ignores stored lists. It prints
// the problems of the configuration.
func StoredLists(ctx context.Context, a *cli.App, l List, names []string, refresh bool) (*config.Set, []ListedServer, error) {
	if err := reach.CheckFlags(a); err != nil {
		return nil, nil, err
	}
	set, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		return nil, nil, err
	}
	if entries, err = reach.SelectServers(entries, set, names); err != nil {
		return nil, nil, err
	}
	reach.ReportProblems(a, set)
	if why := reach.NoServersError("there is no server", set, entries); why != nil && len(entries) == 0 && len(set.Problems()) == 0 {
		a.Screen.Printf("junction: %v\n", why) // explain the empty output
	}
	store, running := a.Store(), reach.RunningServers(ctx, a.Place)
	var all []ListedServer
	for _, e := range a.Launch.WithoutSelf(ctx, entries, nil) {
		s := ListedServer{Entry: e}
		if !e.IsDisabled() {
			known := reach.StoredDefinitions(ctx, e, store)
			if s.Open = known == nil || refresh; !s.Open {
				s.Listing.Entries, s.Listing.Remembered, s.Listing.read = known.List(l.Name), true, known.Read
				s.Listing.runs = running.Find(e)
			}
		}
		all = append(all, s)
	}
	return set, all, nil
}

// FetchLists asks each server in all whose field Open is set. It asks several servers at a time,
// and calls show for each server in all, in order. First, it asks the user for consent. The
// argument named reports whether the user named the servers. If so, FetchLists asks again about
// servers that the user refused earlier.
//
// FetchLists calls show for a server once that server and all before it have answered. After
// [reach.StartingPause], it prints the servers that are still starting, and gives up the order. It
// returns the error of show, or the cause of ctx. After either, it does not call show again.
func FetchLists(ctx context.Context, a *cli.App, l List, all []ListedServer, named bool, show func(*ListedServer) error) error {
	s := &StartList{App: a, Pending: map[string]string{}, free: make(chan struct{}, process.Starts()), Printed: map[string]bool{}}
	order := &ResultOrder{}
	var open, asked []*ListedServer
	var entries []launch.Entry
	for i := range all {
		one := &all[i]
		if order.Open = append(order.Open, one); !one.Open {
			order.There = append(order.There, one)
			continue
		}
		one.Open = false
		open, entries = append(open, one), append(entries, one.Entry)
	}
	for i, fault := range a.Launch.Consents(ctx, entries, named) {
		if one := open[i]; fault != nil {
			one.Listing.Err = fault
			order.There = append(order.There, one)
		} else {
			asked = append(asked, one)
			s.Pending[one.Entry.Name] = Waiting
		}
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	came := make(chan *ListedServer) // the loop below receives one value for each server in asked
	dialing := make(chan struct{}, maxDialing)
	for _, one := range asked {
		go func() {
			askOne(asking, a, l, one, s, dialing)
			came <- one
		}()
	}
	ticker := time.NewTicker(reach.StartingPause)
	defer ticker.Stop()
	defer a.Screen.Transient("")
	var fault error
	for left := len(asked); ; {
		for _, one := range order.Next() {
			if fault == nil && ctx.Err() == nil {
				a.Screen.Transient("") // clear the line, because show may write to the same terminal
				fault = show(one)
			}
		}
		if fault != nil {
			stop()
		}
		if left == 0 {
			return cmp.Or(fault, context.Cause(ctx))
		}
		select {
		case one := <-came:
			left--
			order.There = append(order.There, one)
		case <-ticker.C:
			if order.Late = true; asking.Err() == nil {
				s.Print()
			}
		}
	}
}

// askOne fetches the list of one server. A server that is not a program first waits for a free slot
// in dialing.
func askOne(ctx context.Context, a *cli.App, l List, one *ListedServer, s *StartList, dialing chan struct{}) {
	defer s.Note(one.Entry.Name, "", false)
	t, err := a.Launch.Target(ctx, one.Entry)
	if err != nil {
		one.Listing.Err = err
		return
	}
	if _, program := t.Transport.(*command.Command); !program {
		dialing <- struct{}{}
		defer func() { <-dialing }()
		s.Note(one.Entry.Name, "", true)
	}
	one.Listing = FetchList(ctx, a, l, t, s)
}

// ResultOrder restores the configured order of servers that answer in any order. It gives up the
// order once Late is set.
type ResultOrder struct {
	Open  []*ListedServer // servers not yet shown, in configured order
	There []*ListedServer // servers in Open that have answered
	Late  bool            // whether servers may be shown out of order
}

// Next removes the servers that can be shown now from Open, and returns them.
func (r *ResultOrder) Next() (ready []*ListedServer) {
	held := false
	r.Open = slices.DeleteFunc(r.Open, func(s *ListedServer) bool {
		answered := slices.Contains(r.There, s)
		held = held || !answered && !r.Late
		if held || !answered {
			return false
		}
		ready = append(ready, s)
		return true
	})
	return ready
}

// A StartList holds the servers that have not answered yet. It also limits how many programs start
// at the same time. Its methods except Print may be called concurrently.
type StartList struct {
	App  *cli.App
	free chan struct{}

	Printed map[string]bool // servers already printed; used only if standard error is not a terminal

	mu      sync.Mutex
	Pending map[string]string // state of each server, or empty while it starts
}

// Waiting is the state in Pending of a server that may not start yet.
const Waiting = "waits"

// Note sets the state of a server. If pending is false, it removes the server.
func (s *StartList) Note(name, text string, pending bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pending {
		s.Pending[name] = text
	} else {
		delete(s.Pending, name)
	}
}

// begin waits until another program may start. The caller must call end on the returned start.
func (s *StartList) begin(ctx context.Context, name string) (*listStart, error) {
	select {
	case s.free <- struct{}{}:
		s.Note(name, "", true)
		return &listStart{list: s, name: name, end: sync.OnceFunc(func() { <-s.free })}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Print prints the servers that are still starting. On a terminal, it shows them in a transient
// line. Elsewhere, it prints each server only once.
func (s *StartList) Print() {
	starting, waiting := s.states()
	if s.App.Screen.Terminal() {
		s.App.Screen.Transient(reach.StillStarting(starting, waiting))
		return
	}
	changed := slices.DeleteFunc(starting, func(name string) bool { return s.Printed[name] })
	for _, name := range changed {
		s.Printed[name] = true
	}
	if len(changed) > 0 { // the earlier line remains in a log file
		s.App.Screen.Printf("junction: %s\n", reach.StillStarting(changed, waiting))
	}
}

// states returns the starting servers, each with its state, and the number of servers that wait
// to start.
func (s *StartList) states() (starting []string, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, does := range s.Pending {
		switch does {
		case Waiting:
			waiting++
			continue
		case "":
		default:
			name += " (" + does + ")"
		}
		starting = append(starting, name)
	}
	slices.Sort(starting)
	return starting, waiting
}

// A listStart is the start of one program, for fetching its list.
type listStart struct {
	list *StartList
	name string
	end  func()
}

// Note implements [launch.Starter].
func (s *listStart) Note(text string) { s.list.Note(s.name, text, true) }

// Yield implements [launch.Starter].
func (s *listStart) Yield() { s.end() }

// dialForList connects to a server to read its lists, with the same options as junction up. If
// starts is set, a program first waits until it may start.
func dialForList(ctx context.Context, a *cli.App, t launch.Target, starts *StartList, around ...mcp.Middleware) (*mcp.Client, error) {
	o := a.Launch.Options(t)
	o.Middleware = append(o.Middleware, around...)
	o.Bridge = true
	_, program := t.Transport.(*command.Command)
	if starts == nil {
		client, err := reach.DialWithNotice(ctx, a, t, o)
		return client, reach.AddRemedy(a, t, err)
	}
	if !program || !t.IsInstalled && !launch.Startable(a.Place, t.Server) {
		client, err := launch.DialBriefly(ctx, t.Transport, o, nil, o.ConnectTimeout)
		if err != nil {
			err = &cli.ConnectError{Cause: err}
		}
		return client, reach.AddRemedy(a, t, err)
	}
	start, err := starts.begin(ctx, t.Name)
	if err != nil {
		return nil, &cli.ConnectError{Cause: err}
	}
	defer start.end()
	if a.Launch.Timeout > 0 {
		return reach.Dial(ctx, t.Transport, o)
	}
	client, err := launch.DialBriefly(ctx, t.Transport, o, start, t.StartTimeout)
	if err != nil {
		return nil, &cli.ConnectError{Cause: err}
	}
	return client, nil
}

// FetchList fetches all pages of a list, and stores the definitions of the server. If the server
// lacks the feature, the list is empty. The argument starts may be nil.
func FetchList(ctx context.Context, a *cli.App, l List, t launch.Target, starts *StartList) Listing {
	var got Listing
	client, err := dialForList(ctx, a, t, starts, noteMissing(&got.Missing))
	if err != nil {
		got.Err = err
		return got
	}
	defer client.Close()
	if !l.Core && !cli.HasList(client.Capabilities(), l.Method) {
		return got
	}
	for raw, err := range client.List(ctx, l.Name, l.Member) {
		if err != nil && !cli.HasList(client.Capabilities(), l.Method) && errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
			break
		}
		if err != nil {
			got.Err = err
			return got
		}
		got.Entries = append(got.Entries, raw)
	}
	a.RememberLists(ctx, client, t.Server, l.Name, got.Entries)
	return got
}

// IsToolSearch reports whether the names are those of a gateway that offers a search in place of
// its tools; see package gateway/search.
func IsToolSearch(names []string) bool {
	return !slices.ContainsFunc([]string{"search_tools", "describe_tool", "call_tool"}, func(name string) bool { return !slices.Contains(names, name) })
}

// DescribeTool returns the definition of a tool that a gateway does not list. If the tool is
// unknown, the error may suggest a similar name.
func DescribeTool(ctx context.Context, client *mcp.Client, name string) (json.RawMessage, error) {
	text, err := mcp.Call[string](ctx, client, "describe_tool", map[string]string{"name": name})
	if failure, failed := errors.AsType[*mcp.ToolFailure](err); failed {
		return nil, cli.Usagef("%s", plaintext.Line(failure.Result.Text(), cli.MaxLog))
	}
	if err != nil {
		return nil, err
	}
	definition := json.RawMessage(text)
	if jsonrpc.Valid(definition, jsonrpc.Limits{}) != nil || definition[0] != '{' {
		return nil, fmt.Errorf("describe_tool returned no definition of %q", name)
	}
	return definition, nil
}

// UnusableServers returns the servers with invalid entries in the configuration. Each listing holds
// the error.
func UnusableServers(set *config.Set) (all []ListedServer) {
	for _, p := range set.Problems() {
		if p.Server != "" && !slices.ContainsFunc(all, func(s ListedServer) bool { return s.Entry.Name == p.Server }) {
			all = append(all, ListedServer{Entry: launch.Entry{Name: p.Server}, Listing: Listing{Err: reach.Unusable(p, set)}})
		}
	}
	return all
}
