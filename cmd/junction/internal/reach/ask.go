package reach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/process"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

// StartingPause is how long a start may take before the user sees that it is still running.
const StartingPause = 2 * time.Second

// A ListedServer is a server with its listing. The listing of a disabled server is empty.
type ListedServer struct {
	Entry   launch.Entry
	Listing Listing
	Open    bool // not asked yet, and nothing is remembered
}

// StoredLists returns the configuration and its servers, with the lists remembered of them. It returns
// only the servers with the given names, if there are any. With refresh, remembered lists are not
// used. It prints the problems of the configuration.
func StoredLists(ctx context.Context, a *cli.App, l List, names []string, refresh bool) (*config.Set, []ListedServer, error) {
	if err := CheckFlags(a); err != nil {
		return nil, nil, err
	}
	set, entries, err := ConfiguredServers(a)
	if err != nil {
		return nil, nil, err
	}
	if entries, err = SelectServers(entries, set, names); err != nil {
		return nil, nil, err
	}
	ReportProblems(a, set)
	if why := NoServersError("there is no server", set, entries); why != nil && len(entries) == 0 && len(set.Problems()) == 0 {
		a.Screen.Printf("junction: %v\n", why) // an empty list alone would not explain itself
	}
	store, running := a.Store(), RunningServers(ctx, a.Place)
	var all []ListedServer
	for _, e := range a.Launch.WithoutSelf(ctx, entries, nil) {
		s := ListedServer{Entry: e}
		if !e.IsDisabled() {
			known := StoredDefinitions(ctx, e, store)
			if s.Open = known == nil || refresh; !s.Open {
				s.Listing.Entries, s.Listing.Remembered, s.Listing.read = known.List(l.Name), true, known.Read
				s.Listing.runs = running.Find(e)
			}
		}
		all = append(all, s)
	}
	return set, all, nil
}

// FetchLists asks the servers whose Open is set, several at a time, and calls show for each server of
// all, in order. It asks the user for consent first; named reports whether the user named the
// servers, so that earlier refusals are asked again.
//
// AskOpen calls show once a server and all before it have answered. After [StartingPause] it prints
// the servers that still start, and no longer waits for them to keep the order. It returns the
// error of show, or the cause of ctx; after either, show is not called again.
func FetchLists(ctx context.Context, a *cli.App, l List, all []ListedServer, named bool, show func(*ListedServer) error) error {
	s := &StartList{App: a, Pending: map[string]string{}, free: make(chan struct{}, process.Starts()), Said: map[string]bool{}}
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
	came := make(chan *ListedServer) // received from until all have been sent
	dialing := make(chan struct{}, maxDialing)
	for _, one := range asked {
		go func() {
			askOne(asking, a, l, one, s, dialing)
			came <- one
		}()
	}
	ticker := time.NewTicker(StartingPause)
	defer ticker.Stop()
	defer a.Screen.Transient("")
	var fault error
	for left := len(asked); ; {
		for _, one := range order.Next() {
			if fault == nil && ctx.Err() == nil {
				a.Screen.Transient("") // show may write to the same terminal
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

// askOne fetches the list of one server. Servers that are not programs wait for a place in dialing.
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

// ResultOrder puts servers that answer in any order back into their configured order, until one of
// them takes long.
type ResultOrder struct {
	Open  []*ListedServer // not shown yet, in order
	There []*ListedServer // those of Open that have answered
	Late  bool            // servers that have not answered no longer hold back others
}

// Next removes and returns the servers that can be shown now.
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

// A StartList holds the servers that have not answered yet, and limits how many programs start at
// the same time. Its methods except Tell may be called concurrently.
type StartList struct {
	App  *cli.App
	free chan struct{}

	Said map[string]bool // servers printed so far, where standard error is not a terminal

	mu      sync.Mutex
	Pending map[string]string // what each server does: empty while it starts
}

// Waiting is the entry of a server in Pending that may not start yet.
const Waiting = "waits"

// Note sets what a server does, or removes the server if pending is false.
func (s *StartList) Note(name, text string, pending bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pending {
		s.Pending[name] = text
	} else {
		delete(s.Pending, name)
	}
}

// begin waits until a program may start. The caller must call end of the start that it returns.
func (s *StartList) begin(ctx context.Context, name string) (*listStart, error) {
	select {
	case s.free <- struct{}{}:
		s.Note(name, "", true)
		return &listStart{list: s, name: name, end: sync.OnceFunc(func() { <-s.free })}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Print prints the servers that still start. A terminal shows them in a line that goes away;
// otherwise each server is printed once.
func (s *StartList) Print() {
	starting, waiting := s.standing()
	if s.App.Screen.Terminal() {
		s.App.Screen.Transient(stillStarting(starting, waiting))
		return
	}
	changed := slices.DeleteFunc(starting, func(name string) bool { return s.Said[name] })
	for _, name := range changed {
		s.Said[name] = true
	}
	if len(changed) > 0 { // a log file keeps the earlier line
		s.App.Screen.Printf("junction: %s\n", stillStarting(changed, waiting))
	}
}

// standing returns the servers that start, each with what it does, and the number of servers that
// wait.
func (s *StartList) standing() (starting []string, waiting int) {
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

// stillStarting returns a line such as "still starting: a, b (npx installs x); 3 wait for their
// turn".
func stillStarting(starting []string, waiting int) string {
	if len(starting) == 0 {
		return ""
	}
	text := "still starting: " + strings.Join(starting, ", ")
	switch waiting {
	case 0:
		return text
	case 1:
		return text + "; 1 waits for its turn"
	}
	return fmt.Sprintf("%s; %d wait for their turn", text, waiting)
}

// A listStart is the start of one program whose lists are fetched.
type listStart struct {
	list *StartList
	name string
	end  func()
}

// Note implements [launch.Starter].
func (s *listStart) Note(text string) { s.list.Note(s.name, text, true) }

// Yield implements [launch.Starter].
func (s *listStart) Yield() { s.end() }

// dialForList connects to a server to read its lists, in the same way as junction up. With starts,
// a program waits for its turn.
func dialForList(ctx context.Context, a *cli.App, t launch.Target, starts *StartList, around ...mcp.Middleware) (*mcp.Client, error) {
	o := a.Launch.Options(t)
	o.Middleware = append(o.Middleware, around...)
	o.Bridge = true
	_, program := t.Transport.(*command.Command)
	if starts == nil {
		client, err := DialWithNotice(ctx, a, t, o)
		return client, AddRemedy(a, t, err)
	}
	if !program || !t.IsInstalled && !launch.Startable(a.Place, t.Server) {
		client, err := Dial(ctx, t.Transport, o)
		return client, AddRemedy(a, t, err)
	}
	start, err := starts.begin(ctx, t.Name)
	if err != nil {
		return nil, &cli.ConnectError{Cause: err}
	}
	defer start.end()
	if a.Launch.Timeout > 0 {
		return Dial(ctx, t.Transport, o)
	}
	client, err := launch.Dial(ctx, t.Transport, o, start, t.StartTimeout, false)
	if err != nil {
		return nil, &cli.ConnectError{Cause: err}
	}
	return client, nil
}

// FetchList fetches all pages of a list, and stores what the server offers. The list of a server
// without the feature is empty. starts may be nil.
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
