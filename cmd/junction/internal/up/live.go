package up

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/live"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/traffic"
)

// A LiveUp is a gateway that the live screen shows.
type LiveUp struct {
	*Served
	ui      *live.UI
	connect strings.Builder // text about how clients connect
}

// newLive returns a live screen for v. Call it before any server is started.
func (v *Served) newLive() *LiveUp {
	l := &LiveUp{Served: v}
	l.ui = live.New(live.Options{Place: v.App.Place, In: v.App.Stdin, Out: v.App.Stdout, Gateway: l})
	v.App.Tails.Changed = l.ui.Changed
	v.board.live = true
	also := v.board.also
	v.board.also = func() {
		also()
		l.ui.Changed()
	}
	return l
}

// Collect stores text that is printed before the screen runs, until end is called. The text
// describes how clients connect.
func (l *LiveUp) Collect() (end func()) {
	if l == nil {
		return func() {}
	}
	return l.App.Screen.Divert(func(text string) { l.connect.WriteString(text) })
}

// Run shows the screen while serve runs, and ends serve when the user quits. A nil LiveUp only runs
// serve.
func (l *LiveUp) Run(ctx context.Context, serve func(ctx context.Context) error) error {
	if l == nil {
		return serve(ctx)
	}
	undo := l.App.Screen.Divert(l.ui.Print)
	defer l.App.Person.Lends(l.ui.Lend)()
	shown, end := context.WithCancel(ctx)
	serving, quit := context.WithCancelCause(context.WithoutCancel(ctx))
	over := make(chan struct{})
	var watching sync.WaitGroup
	if l.App.Launch.Traffic != nil {
		watching.Go(func() {
			_ = l.App.Launch.Traffic.Watch(shown, func(e *traffic.Event) error { // the error is only the reason why shown is done
				l.ui.Event(live.Event{Shown: true, Event: *e})
				return nil
			})
		})
	}
	go func() {
		defer close(over)
		err := l.ui.Run(shown)
		undo()
		l.App.Screen.Printf("junction served %s at %s\n", l.ui.Summary(), l.endpoint())
		quit(cmp.Or(context.Cause(ctx), err, cli.ErrInterrupted))
	}()
	err := serve(serving)
	end()
	<-over
	watching.Wait()
	return err
}

// Status implements [live.Gateway].
func (l *LiveUp) Status() live.Status {
	i := l.describe()
	s := live.Status{Endpoint: i.Endpoint, Summary: i.Summary, Remarks: i.Remarks()}
	for n, g := range l.Gateway.Members().Status() {
		if n >= len(i.Servers) || i.Servers[n].Name != g.Name {
			break // the servers changed in between, and the screen is drawn again
		}
		one := i.Servers[n]
		problem := cmp.Or(one.Careful, one.Note)
		if g.Err != nil {
			problem = why.Of(g.Err, g.Name)
		}
		if one.Remedy != "" {
			problem += "; fix: " + one.Remedy
		}
		s.Servers = append(s.Servers, live.Server{Name: one.Name, State: stateWord(g), Failed: g.State == gateway.Failed || one.Failing,
			Tools: one.Tools, Withheld: len(one.Withheld), Running: one.Running, Problem: problem})
	}
	return s
}

// Log implements [live.Gateway].
func (l *LiveUp) Log(server string) []string { return l.App.StderrOf(server).Lines() }

// Restart implements [live.Gateway].
func (l *LiveUp) Restart(server string) error {
	return l.Served.restart(server, caller{way: "on the terminal"})
}

// Unapproved implements [live.Gateway].
func (l *LiveUp) Unapproved(ctx context.Context, server string) (text, hash string, err error) {
	all, catalogue, _, err := l.unapproved(ctx)
	for _, u := range all {
		if u.Server == server {
			return u.Text(catalogue), u.Hash(), err
		}
	}
	return "", "", err
}

// Approve implements [live.Gateway].
func (l *LiveUp) Approve(ctx context.Context, server, hash string) error {
	status, err := l.approveExactly(ctx, caller{way: "on the terminal"}, server, hash)
	if status == http.StatusConflict {
		return fmt.Errorf("the definitions of %s changed meanwhile; a shows them", server)
	}
	return err
}

// Hosts implements [live.Gateway].
func (l *LiveUp) Hosts() (hosts []live.Host) {
	for _, h := range hostconfig.Hosts() {
		if len(hostconfig.Find(h, reach.HostOptions(l.App.Place))) > 0 {
			hosts = append(hosts, live.Host{Name: h.Name, Command: []string{program(), "host", "connect", h.ID}})
		}
	}
	return hosts
}

// Connect implements [live.Gateway].
func (l *LiveUp) Connect() string { return l.connect.String() }
