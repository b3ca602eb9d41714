package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

// startingPause is how long nothing is said of servers that start.
const startingPause = 2 * time.Second

// A listedServer is one server with what it lists. One that is switched off lists
// nothing, and was not asked.
type listedServer struct {
	entry   entry
	listing listing
	open    bool // it was not asked yet, and nothing is remembered of it
}

// recall returns the configuration, and its servers, or those with these names, with what is
// remembered of them, unless all are to be asked. What is wrong with it is said.
func (a *app) recall(ctx context.Context, l list, names []string, refresh bool) (*config.Set, []listedServer, error) {
	if err := a.checkFlags(); err != nil {
		return nil, nil, err
	}
	set, entries, err := a.servers()
	if err != nil {
		return nil, nil, err
	}
	if entries, err = chosen(entries, set, names); err != nil {
		return nil, nil, err
	}
	a.reportProblems(set)
	a.reportEmpty(set, entries)
	store := a.store()
	var all []listedServer
	for _, e := range a.withoutSelf(ctx, entries, nil) {
		s := listedServer{entry: e}
		if !e.isDisabled() {
			known := remembered(ctx, e, store)
			if s.open = known == nil || refresh; !s.open {
				s.listing.entries, s.listing.remembered = *l.of(known), true
			}
		}
		all = append(all, s)
	}
	return set, all, nil
}

// askOpen asks the servers that nothing is remembered of, several at a time; consent
// is asked for first; named says that the person asks for them by their names. Who takes long is
// named meanwhile. The error is why ctx is done.
func (a *app) askOpen(ctx context.Context, l list, all []listedServer, named bool) error {
	s := &startList{app: a, pending: map[string]string{}, free: make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))}
	var asked, open []*listedServer
	var entries []entry
	for i := range all {
		if all[i].open {
			all[i].open = false
			open, entries = append(open, &all[i]), append(entries, all[i].entry)
		}
	}
	for i, fault := range a.consents(ctx, entries, named) {
		if open[i].listing.err = fault; fault == nil {
			asked = append(asked, open[i])
			s.pending[open[i].entry.name] = waits
		}
	}
	ended := make(chan struct{})
	var telling, asking sync.WaitGroup
	telling.Go(func() { s.tell(ctx, ended) })
	dialing := make(chan struct{}, maxDialing)
	for _, one := range asked {
		asking.Go(func() {
			t, err := a.resolve(ctx, one.entry)
			if err != nil {
				one.listing.err = err
			} else {
				if _, program := t.transport.(*command.Command); !program {
					dialing <- struct{}{}
					defer func() { <-dialing }()
					s.note(one.entry.name, "", true)
				}
				one.listing = a.fetch(ctx, l, t, s)
			}
			s.note(one.entry.name, "", false)
		})
	}
	asking.Wait()
	close(ended)
	telling.Wait()
	return context.Cause(ctx)
}

// A startList knows which of the servers that are asked have not answered yet, and
// lets only some programs start at the same time.
type startList struct {
	app  *app
	free chan struct{}

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

// tell says which servers still start, until ended is closed or nobody wants them any more.
func (s *startList) tell(ctx context.Context, ended <-chan struct{}) {
	ticker := time.NewTicker(startingPause)
	defer ticker.Stop()
	defer s.app.screen.Transient("")
	said := map[string]bool{}
	for {
		select {
		case <-ticker.C:
		case <-ended:
			return
		case <-ctx.Done():
			return
		}
		starting, waiting := s.standing()
		if s.app.screen.Terminal() {
			s.app.screen.Transient(stillStarting(starting, waiting))
			continue
		}
		changed := slices.DeleteFunc(starting, func(name string) bool { return said[name] })
		for _, name := range changed {
			said[name] = true
		}
		if len(changed) > 0 { // a file keeps what was said before
			s.app.screen.Printf("junction: %s\n", stillStarting(changed, waiting))
		}
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
func (a *app) dialForList(ctx context.Context, t target, starts *startList, around ...mcp.Middleware) (*mcp.Client, error) {
	o := a.options(t)
	o.Middleware = append(o.Middleware, around...)
	o.Bridge = true
	_, program := t.transport.(*command.Command)
	if starts == nil || !program || !t.isInstalled && !startable(t.server) {
		client, err := dial(ctx, t.transport, o)
		return client, a.remedied(t, err)
	}
	start, err := starts.begin(ctx, t.name)
	if err != nil {
		return nil, &connectError{err}
	}
	defer start.end()
	if a.flags.timeout > 0 {
		return dial(ctx, t.transport, o)
	}
	client, err := dialWatched(ctx, t.transport, o, start, t.startTimeout, false)
	if err != nil {
		return nil, &connectError{err}
	}
	return client, nil
}

// fetch lists all pages, and remembers what the server offers. A server that does not
// offer the feature has none.
func (a *app) fetch(ctx context.Context, l list, t target, starts *startList) listing {
	var got listing
	client, err := a.dialForList(ctx, t, starts, noteMissing(&got.missing))
	if err != nil {
		got.err = err
		return got
	}
	defer client.Close()
	if l.declared && !l.has(client.Capabilities()) {
		return got
	}
	for raw, err := range client.List(ctx, l.method, l.member) {
		if err != nil && !l.has(client.Capabilities()) && errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
			break
		}
		if err != nil {
			got.err = err
			return got
		}
		got.entries = append(got.entries, raw)
	}
	if t.server != nil {
		if store := a.store(); store != nil {
			ctx, cancel := context.WithTimeout(ctx, learnTime)
			defer cancel()
			a.learn(ctx, client, memoryOf(store, t.server, ""), l.method, got.entries)
		}
	}
	return got
}

// listAll lists what every configured server has, or those with these names; about says where each is defined, too, and of those
// that are switched off that they are. The error says that some could not be asked, and was reported.
func (a *app) listAll(ctx context.Context, l list, names []string, refresh, about bool) error {
	set, all, err := a.recall(ctx, l, names, refresh)
	if err != nil {
		return err
	}
	if !about {
		all = slices.DeleteFunc(all, func(s listedServer) bool { return !s.open && !s.listing.remembered }) // switched off
	}
	if err := a.askOpen(ctx, l, all, len(names) > 0); err != nil {
		return err
	}
	switch {
	case !a.flags.json:
		err = a.printAll(l, all)
	case about:
		err = a.printJSON(l, all, about)
	default:
		err = a.printJSON(l, append(unusableServers(set), all...), about)
	}
	if err != nil {
		return err
	}
	if a.reportFailed(all) || a.faulty && len(names) == 0 {
		return errReported
	}
	return nil
}

// printAll prints what servers list for people.
func (a *app) printAll(l list, all []listedServer) error {
	for i, s := range all {
		if i > 0 {
			a.out.Printf("\n")
		}
		a.out.Printf("━━ %s  (%s)\n", plaintext.Line(s.entry.name, 80), plaintext.Line(s.about(l), 300))
		if err := a.printList(l, s.entry.name, s.listing.entries); err != nil {
			return err
		}
	}
	if l.brief != nil {
		a.screen.Printf("(--long shows them in full; junction %s SERVER TOOL shows one.)\n", l.name)
	}
	return nil
}

// about says where a server is defined, and how many entries it has, or why none are known.
func (s listedServer) about(l list) string {
	details := []string{s.entry.origin()}
	switch {
	case s.entry.isDisabled():
		details = append(details, "disabled")
	case errors.As(s.listing.err, new(*consentError)):
		details = append(details, "not agreed to")
	case s.listing.err != nil:
		details = append(details, "not connected")
	default:
		details = append(details, plaintext.Count(len(s.listing.entries), strings.TrimSuffix(l.what, "s")))
	}
	if s.listing.remembered {
		details = append(details, "remembered")
	}
	return strings.Join(details, ", ")
}

// reportFailed says in one line each why servers could not be asked, and reports
// whether there are any.
func (a *app) reportFailed(all []listedServer) (failed bool) {
	for _, s := range all {
		if s.listing.err == nil {
			continue
		}
		failed = true
		a.screen.Printf("junction: %s\n", a.failure(s))
	}
	return failed
}

// failure is the line that says why a server could not be asked; with --verbose all
// that is known.
func (a *app) failure(s listedServer) string {
	err := s.listing.err
	ended := errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	switch {
	case a.flags.verbose, errors.As(err, new(*consentError)):
		return err.Error()
	case ended && errors.As(err, new(*connectError)):
		return "still starting: " + s.entry.name
	}
	return fmt.Sprintf("server %q: %s", s.entry.name, reason(err, s.entry.name))
}
