package watch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/console"
	"github.com/junction-mcp/junction/console/inspect"
	"github.com/junction-mcp/junction/console/live"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/traffic"
	"github.com/spf13/cobra"
)

// anyPort is a loopback address with any free port.
const anyPort = "127.0.0.1:0"

// consoleOptions holds the flags of console and inspect.
type consoleOptions struct {
	http      string
	noBrowser bool
	inspected *inspect.Server // server to show first; nil if the page opens its first view
}

// ConsoleCommand returns the command console.
func ConsoleCommand(a *cli.App) *cobra.Command {
	var o consoleOptions
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Watch messages, calls and servers in a browser",
		Long: `Serve a web page on this machine that shows every junction up, proxy and chat of this
user, with their servers and live messages. Junction prints a link, which admits one
browser, once. If there is a browser here, junction opens the link. Enter in the
terminal prints another link.

Exit codes:
  0    ended by Ctrl-C
  2    the command line is wrong
  3    the page cannot be served at its address`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.IgnoreInterrupt(cmd.Context(), serveConsole(cmd.Context(), a, o))
		},
	}
	o.flags(cmd)
	reach.ConfigFlags(a, cmd.Flags())
	return cmd
}

// flags defines the flags of a command.
func (o *consoleOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.http, "http", anyPort, "serve the page at `HOST:PORT`, a loopback address")
	cmd.Flags().BoolVar(&o.noBrowser, "no-browser", false, "only print the link")
}

// serveConsole serves the console until ctx is done.
func serveConsole(ctx context.Context, a *cli.App, o consoleOptions) (err error) {
	l, err := o.listen()
	if err != nil {
		return err
	}
	c := console.New()
	ring, end := keepTraffic(ctx, a)
	defer func() { err = errors.Join(err, end()) }()
	ring.Mount(c.Handle)
	inspector := consoleRoutes(a, c)
	view := "" // part of the page's address after #/; empty for the first view
	if o.inspected != nil {
		id, err := inspector.Begin(*o.inspected)
		if err != nil {
			l.Close()
			return cli.Usagef("%w", err)
		}
		view = "inspector/" + id
	}
	origin := "http://" + l.Addr().String()
	var asking sync.WaitGroup
	defer asking.Wait()
	if !o.noBrowser && a.Person != nil && account.CanOpenBrowser(a.Place) {
		link, over := c.OpenedLink(origin, view)
		a.Out.Printf("The console is at\n  %s\n", link)
		OpenLink(ctx, a, link, over, &asking)
	} else {
		a.Out.Printf("The console is at\n  %s\n", c.Link(origin, view))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a.Person != nil && !a.Person.Away() {
		a.Screen.Printf("The link admits one browser. Enter prints another one, Ctrl-C ends the console.\n")
		asking.Go(func() { printLinks(ctx, a, func() string { return c.Link(origin, view) }) })
	}
	return c.Serve(ctx, l, a.ServerLog())
}

// listen listens at the address. It returns an error unless that is a loopback address.
func (o *consoleOptions) listen() (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", o.http)
	if err != nil {
		return nil, cli.Usagef("--http: expected HOST:PORT, such as 127.0.0.1:8000: %w", err)
	}
	if !at.IP.IsLoopback() {
		return nil, cli.Usagef("--http %s is not a loopback address; the console shows all messages, so it serves this machine only (use ssh -L to reach it from another)", o.http)
	}
	l, err := net.ListenTCP("tcp", at)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--http %s: this address is in use; --http 127.0.0.1:0 takes one that is free", o.http)
	}
	if err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	return l, nil
}

// ConsoleLink returns a link to the console. The first call starts the console, which runs until
// the command ends. With open, the link is opened in a browser if there is one.
func ConsoleLink(ctx context.Context, a *cli.App, open bool) (string, error) {
	s := &a.Side
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Console == nil {
		l, err := (&consoleOptions{http: anyPort}).listen()
		if err != nil {
			return "", err
		}
		s.Console, s.Origin, s.Ended = console.New(), "http://"+l.Addr().String(), make(chan struct{})
		consoleRoutes(a, s.Console)
		ctx, s.Cancel = context.WithCancel(context.WithoutCancel(ctx))
		ring, end := keepTraffic(ctx, a)
		ring.Mount(s.Console.Handle)
		go func() {
			defer close(s.Ended)
			_ = s.Console.Serve(ctx, l, a.ServerLog())
			_ = end() // stored traffic is discarded in any case
		}()
		a.Launch.AtEnd(s)
	}
	if !open || !account.CanOpenBrowser(a.Place) {
		return s.Console.Link(s.Origin, ""), nil
	}
	link, over := s.Console.OpenedLink(s.Origin, "")
	OpenLink(ctx, a, link, over, &s.Opening)
	return link, nil
}

// printLinks prints another link each time the user presses Enter. It returns when ctx is done or
// the terminal is closed.
func printLinks(ctx context.Context, a *cli.App, link func() string) {
	for {
		if _, err := a.Person.Line(ctx, ""); err != nil {
			return
		}
		a.Out.Printf("  %s\n", link())
	}
}

// consoleRoutes adds the routes of the page's API to the console, except those of [live.Ring]. It
// returns the inspector.
func consoleRoutes(a *cli.App, c *console.Console) consoleInspector {
	inspector := NewInspector(a, c.Once)
	c.Handle("GET /instances", reply.With(func(r *http.Request) (any, error) {
		all, err := cli.Instances(r.Context(), a.Place)
		return map[string][]cli.Instance{"instances": all}, err
	}))
	c.Handle("/instances/{pid}/{rest...}", ForwardHandler(a.Place))
	c.Handle("GET /servers", reply.With(func(*http.Request) (any, error) { return inspectable(inspector.app) }))
	conversationRoutes(a, c.Handle)
	inspector.Mount(c.Handle)
	a.Launch.AtEnd(inspector)
	return inspector
}

// keepTraffic stores the messages of all processes of this user in a ring. The caller must call
// end, which discards them.
func keepTraffic(ctx context.Context, a *cli.App) (ring *live.Ring, end func() error) {
	ring = live.Open(live.Options{})
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	own := 0
	if a.Launch.Traffic != nil { // messages of this process need no socket and no JSON
		own = os.Getpid()
		watch := a.Launch.Traffic.Join(true)
		following.Go(func() {
			_ = watch(ctx, func(events []*traffic.Event) error {
				ring.Add(own, events...)
				return nil
			})
		})
	}
	following.Go(func() {
		err := FollowTraffic(ctx, a.Place, nil, TrafficFollower{
			not:   own,
			notes: true,
			busy: func(pid int) {
				a.Screen.Printf("The console does not show process %d: %d others watch it already.\n", pid, reach.MaxWatchers)
			},
			Event: func(e ShownEvent, _ bool) error {
				ring.Add(e.PID, &e.Event)
				return nil
			},
			Ended: ring.End,
		})
		if ctx.Err() == nil {
			a.Screen.Printf("The console shows no traffic: %v\n", err)
		}
	})
	return ring, func() error {
		cancel()
		following.Wait()
		return ring.Close()
	}
}
