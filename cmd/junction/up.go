package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

const (
	defaultAddress = "127.0.0.1:7717"
	// settleTimeout is how long clients wait for servers that are slow to start:
	// less than the patience of a client that probes. The rest come later.
	settleTimeout = 3 * time.Second
)

func (a *app) upCommand() *cobra.Command {
	var f front
	var noPrefix bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Serve all configured servers at one endpoint",
		Long: `Connect to every configured server and offer all their tools, resources, templates
and prompts at one endpoint, to clients of every revision. The names of tools and
prompts get the server's name in front: SERVER__TOOL.

With no configuration it serves what ships with junction: everything, and filesystem
on the current folder, read-only. Servers that a project's file defines are started
only if you agree, on the terminal or by naming the file with --config.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%s: unexpected %q", cmd.CommandPath(), args[0])
			}
			if err := f.check(); err != nil {
				return err
			}
			if f.http == "" && !f.stdio {
				f.http = defaultAddress
			}
			return a.up(cmd.Context(), f, noPrefix)
		},
	}
	f.flags(cmd.Flags(), " (default "+defaultAddress+")")
	cmd.Flags().BoolVar(&noPrefix, "no-prefix", false,
		"offer tools and prompts under the servers' own names; a server with a name that another has is refused")
	a.configFlags(cmd.Flags())
	return cmd
}

func (a *app) up(ctx context.Context, f front, noPrefix bool) error {
	var l net.Listener
	if !f.stdio {
		var err error
		if l, err = a.listen(f.http); err != nil {
			return err
		}
		defer l.Close()
	}
	set, entries, err := a.servers()
	if err != nil {
		return err
	}
	a.tellProblems(set)
	board := &board{screen: a.screen}
	g := gateway.New(gateway.Options{Name: "junction", Version: version, Logger: a.logger(), OnChange: board.changed, NoPrefix: noPrefix})
	defer g.Close()
	board.show(g)
	ofProject := false
	for _, e := range entries {
		joined := a.join(ctx, g, e)
		ofProject = ofProject || joined && e.definition != nil && e.definition.Project
	}
	settling, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	_ = g.Settle(settling) // who comes later is told when it comes
	if ctx.Err() != nil {
		return orderly(ctx, nil)
	}
	args := a.stdioArgs(set, ofProject)
	if noPrefix {
		args = append(args, "--no-prefix")
	}
	a.introduce(l, args)
	board.start()
	if f.stdio {
		return orderly(ctx, a.serveStdio(ctx, g))
	}
	return orderly(ctx, a.serveHTTP(ctx, l, g))
}

// join adds a server to the gateway; one that cannot be is told and left out.
func (a *app) join(ctx context.Context, g *gateway.Gateway, e entry) bool {
	if e.definition != nil && e.definition.Disabled {
		return false
	}
	err := a.consent(ctx, e)
	switch {
	case err != nil:
	case e.definition == nil:
		var h mcp.Handler
		if h, err = shipped(e.name, nil, false, a.logger()); err == nil {
			err = g.AddHandler(e.name, h)
		}
	default:
		a.askInputs(ctx, e)
		err = g.Add(e.name, func(ctx context.Context) (*mcp.Client, error) {
			t, err := a.resolve(ctx, e)
			if err != nil {
				return nil, err
			}
			o := a.options(t)
			o.Bridge = true
			return mcp.Dial(ctx, t.transport, o)
		})
	}
	if err != nil {
		a.screen.Printf("junction: %v\n", err)
	}
	return err == nil
}

// askInputs asks for the inputs that a server needs, before anything else is on
// the screen: the configuration remembers the answers. What is wrong with the
// rest shows when the server is connected to.
func (a *app) askInputs(ctx context.Context, e entry) {
	needs := func(variable string) bool { return strings.HasPrefix(variable, "input:") }
	if a.person != nil && slices.ContainsFunc(e.definition.Variables(), needs) {
		_, _ = e.definition.Resolve(ctx)
	}
}

// introduce says where the endpoint is and how a client gets to it; args start
// the same on standard input and output.
func (a *app) introduce(l net.Listener, args []string) {
	if l == nil {
		a.screen.Printf("junction serves on standard input and output.\n\n")
		return
	}
	url := endpoint(l)
	type server struct {
		Command string   `json:"command,omitempty"`
		Args    []string `json:"args,omitempty"`
		URL     string   `json:"url,omitempty"`
	}
	entry := func(s server) []byte {
		type servers struct {
			Junction server `json:"junction"`
		}
		line, _ := schema.Encode(nil, struct {
			Servers servers `json:"mcpServers"`
		}{servers{s}}) // strings always encode
		return line
	}
	a.screen.Printf("junction serves at %s\n\nFor a desktop client, paste\n  %s\nor, where it takes a URL,\n  %s\n\n",
		url, entry(server{Command: program(), Args: args}), entry(server{URL: url}))
}

// program is how a client can start this program. What go run made is gone when
// the client would start it.
func program() string {
	path, err := os.Executable()
	if err != nil || strings.Contains(filepath.ToSlash(path), "/go-build") {
		return "junction"
	}
	return path
}

// stdioArgs are the arguments that serve the same on standard input and output.
// A client starts the program in another folder: it must name the files of a
// project.
func (a *app) stdioArgs(set *config.Set, ofProject bool) []string {
	files := a.flags.config
	if len(files) == 0 && ofProject {
		for _, f := range set.Files {
			files = append(files, f.Path)
		}
	}
	args := []string{"up", "--stdio"}
	for _, file := range files {
		if full, err := filepath.Abs(file); err == nil {
			file = full
		}
		args = append(args, "--config", file)
	}
	return args
}

// A board shows how it stands with the servers: all of them once, and then
// whatever changes. The gateway tells it of changes before it is started, too.
type board struct {
	screen *terminal.Screen

	mu      sync.Mutex
	gateway *gateway.Gateway
	started bool
	shown   map[string]string // what was last said of a server
}

// show sets what the board shows.
func (b *board) show(g *gateway.Gateway) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gateway, b.shown = g, map[string]string{}
}

// start shows all servers.
func (b *board) start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = true
	var rows [][]string
	for _, s := range b.gateway.Status() {
		b.shown[s.Name] = standing(s)
		rows = append(rows, []string{s.Name, standing(s)})
	}
	if len(rows) == 0 {
		b.screen.Printf("There is no server to serve.\n")
	}
	b.screen.Printf("%s", terminal.Table(rows, 2, b.screen.Width()))
}

// changed shows what is different from before.
func (b *board) changed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.started {
		return
	}
	for _, s := range b.gateway.Status() {
		now := standing(s)
		if s.State == gateway.Connecting {
			if !strings.HasPrefix(b.shown[s.Name], gateway.Connected.String()) {
				continue // one more attempt is no news
			}
			now = "lost, connecting again"
		}
		if b.shown[s.Name] != now {
			b.shown[s.Name] = now
			b.screen.Printf("%s", terminal.Table([][]string{{time.Now().Format(time.TimeOnly), s.Name, now}}, 2, b.screen.Width()))
		}
	}
}

// standing says how it stands with a server.
func standing(s gateway.Status) string {
	switch {
	case s.State == gateway.Connected:
		spoken := ""
		if s.Revision != "" {
			spoken = ", revision " + s.Revision
		}
		return fmt.Sprintf("connected%s: %s, %s, %s", spoken, count(s.Tools, "tool"), count(s.Resources, "resource"), count(s.Prompts, "prompt"))
	case s.Err != nil:
		return fmt.Sprintf("%s: %v", s.State, s.Err)
	}
	return s.State.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
