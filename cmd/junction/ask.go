package main

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

// startingPause is how long nothing is said of servers that start.
const startingPause = 2 * time.Second

// A listedServer is one server with what it lists. One that is switched off lists
// nothing, and was not asked.
type listedServer struct {
	entry   cli.Entry
	listing listing
	open    bool // it was not asked yet, and nothing is remembered of it
}

// recall returns the configuration, and its servers, or those with these names, with what is
// remembered of them, unless all are to be asked. What is wrong with it is said.
func recall(ctx context.Context, a *cli.App, l list, names []string, refresh bool) (*config.Set, []listedServer, error) {
	if err := checkFlags(a); err != nil {
		return nil, nil, err
	}
	set, entries, err := configuredServers(a)
	if err != nil {
		return nil, nil, err
	}
	if entries, err = chosen(entries, set, names); err != nil {
		return nil, nil, err
	}
	reportProblems(a, set)
	if why := nothing("there is no server", set, entries); why != nil && len(entries) == 0 && len(set.Problems()) == 0 {
		a.Screen.Printf("junction: %v\n", why) // an empty list would say nothing
	}
	store, running := a.Store(), runningServers(ctx, a.Place)
	var all []listedServer
	for _, e := range withoutSelf(ctx, a, entries, nil) {
		s := listedServer{entry: e}
		if !e.IsDisabled() {
			known := remembered(ctx, e, store)
			if s.open = known == nil || refresh; !s.open {
				s.listing.entries, s.listing.remembered, s.listing.read = known.List(l.Name), true, known.Read
				s.listing.runs = running.Of(e)
			}
		}
		all = append(all, s)
	}
	return set, all, nil
}

// askOpen asks the servers that nothing is remembered of, several at a time, and shows all in their order; consent
// is asked for first; named says that the person asks for them by their names. Each is shown when it has answered and the one before it is shown;
// who takes long is named meanwhile, and shown behind the others. The error is that of show, or why ctx is done, after which none is shown.
func askOpen(ctx context.Context, a *cli.App, l list, all []listedServer, named bool, show func(*listedServer) error) error {
	s := &startList{app: a, pending: map[string]string{}, free: make(chan struct{}, process.Starts()), said: map[string]bool{}}
	order := &arrivals{}
	var open, asked []*listedServer
	var entries []cli.Entry
	for i := range all {
		one := &all[i]
		if order.open = append(order.open, one); !one.open {
			order.there = append(order.there, one)
			continue
		}
		one.open = false
		open, entries = append(open, one), append(entries, one.entry)
	}
	for i, fault := range consents(ctx, a, entries, named) {
		if one := open[i]; fault != nil {
			one.listing.err = fault
			order.there = append(order.there, one)
		} else {
			asked = append(asked, one)
			s.pending[one.entry.Name] = waits
		}
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	came := make(chan *listedServer) // which is read until all did
	dialing := make(chan struct{}, maxDialing)
	for _, one := range asked {
		go func() {
			askOne(asking, a, l, one, s, dialing)
			came <- one
		}()
	}
	ticker := time.NewTicker(startingPause)
	defer ticker.Stop()
	defer a.Screen.Transient("")
	var fault error
	for left := len(asked); ; {
		for _, one := range order.next() {
			if fault == nil && ctx.Err() == nil {
				a.Screen.Transient("") // what is shown may go to the same terminal
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
			order.there = append(order.there, one)
		case <-ticker.C:
			if order.late = true; asking.Err() == nil {
				s.tell()
			}
		}
	}
}

// askOne asks one server, when it is its turn.
func askOne(ctx context.Context, a *cli.App, l list, one *listedServer, s *startList, dialing chan struct{}) {
	defer s.note(one.entry.Name, "", false)
	t, err := resolve(ctx, a, one.entry)
	if err != nil {
		one.listing.err = err
		return
	}
	if _, program := t.Transport.(*command.Command); !program {
		dialing <- struct{}{}
		defer func() { <-dialing }()
		s.note(one.entry.Name, "", true)
	}
	one.listing = fetchList(ctx, a, l, t, s)
}

// arrivals has servers that answer in any order follow each other as they are configured, as long as none takes long.
type arrivals struct {
	open  []*listedServer // that were not shown, in order
	there []*listedServer // of these, those that answered
	late  bool            // one that has not answered holds back no other any more
}

// next takes out the servers that can be shown now.
func (r *arrivals) next() (ready []*listedServer) {
	held := false
	r.open = slices.DeleteFunc(r.open, func(s *listedServer) bool {
		answered := slices.Contains(r.there, s)
		held = held || !answered && !r.late
		if held || !answered {
			return false
		}
		ready = append(ready, s)
		return true
	})
	return ready
}

// A startList knows which of the servers that are asked have not answered yet, and
// lets only some programs start at the same time.
type startList struct {
	app  *cli.App
	free chan struct{}

	said map[string]bool // servers that were named where there is no terminal

	mu      sync.Mutex
	pending map[string]string // what each does
}

// waits is what a server does that may not start yet.
const waits = "waits"

func (s *startList) note(name, text string, pending bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pending {
		s.pending[name] = text
	} else {
		delete(s.pending, name)
	}
}

// begin waits until a program may start.
func (s *startList) begin(ctx context.Context, name string) (*listStart, error) {
	select {
	case s.free <- struct{}{}:
		s.note(name, "", true)
		return &listStart{list: s, name: name, end: sync.OnceFunc(func() { <-s.free })}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// tell says which servers still start.
func (s *startList) tell() {
	starting, waiting := s.standing()
	if s.app.Screen.Terminal() {
		s.app.Screen.Transient(stillStarting(starting, waiting))
		return
	}
	changed := slices.DeleteFunc(starting, func(name string) bool { return s.said[name] })
	for _, name := range changed {
		s.said[name] = true
	}
	if len(changed) > 0 { // a file keeps what was said before
		s.app.Screen.Printf("junction: %s\n", stillStarting(changed, waiting))
	}
}

// standing returns the servers that start, with what they do, and how many wait.
func (s *startList) standing() (starting []string, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, does := range s.pending {
		switch does {
		case waits:
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

// stillStarting is such as "still starting: a, b (npx installs x); 3 wait for their turn".
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

// A listStart is the start of one program that is asked for its lists.
type listStart struct {
	list *startList
	name string
	end  func()
}

func (s *listStart) Note(text string) { s.list.note(s.name, text, true) }
func (s *listStart) Yield()           { s.end() }

// dialForList connects to a server to read its lists, as junction up would. Programs
// that are asked with others wait for their turn.
func dialForList(ctx context.Context, a *cli.App, t launch.Target, starts *startList, around ...mcp.Middleware) (*mcp.Client, error) {
	o := options(a, t)
	o.Middleware = append(o.Middleware, around...)
	o.Bridge = true
	_, program := t.Transport.(*command.Command)
	if starts == nil {
		client, err := dialShown(ctx, a, t, o)
		return client, remedied(a, t, err)
	}
	if !program || !t.IsInstalled && !startable(a.Place, t.Server) {
		client, err := dial(ctx, t.Transport, o)
		return client, remedied(a, t, err)
	}
	start, err := starts.begin(ctx, t.Name)
	if err != nil {
		return nil, &cli.ConnectError{Cause: err}
	}
	defer start.end()
	if a.Launch.Timeout > 0 {
		return dial(ctx, t.Transport, o)
	}
	client, err := dialWatched(ctx, t.Transport, o, start, t.StartTimeout, false)
	if err != nil {
		return nil, &cli.ConnectError{Cause: err}
	}
	return client, nil
}

// fetchList lists all pages, and remembers what the server offers. A server that does not
// offer the feature has none.
func fetchList(ctx context.Context, a *cli.App, l list, t launch.Target, starts *startList) listing {
	var got listing
	client, err := dialForList(ctx, a, t, starts, noteMissing(&got.missing))
	if err != nil {
		got.err = err
		return got
	}
	defer client.Close()
	if !l.Core && !cli.Declares(client.Capabilities(), l.Method) {
		return got
	}
	for raw, err := range client.List(ctx, l.Name, l.Member) {
		if err != nil && !cli.Declares(client.Capabilities(), l.Method) && errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
			break
		}
		if err != nil {
			got.err = err
			return got
		}
		got.entries = append(got.entries, raw)
	}
	a.Learn(ctx, client, t.Server, l.Name, got.entries)
	return got
}
