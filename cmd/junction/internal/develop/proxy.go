package develop

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway/eras"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/spf13/cobra"
)

const (
	// aloneTime limits how long a proxy at an address waits for its server before it listens.
	aloneTime = time.Second
	// failedTime is how long a proxy whose server failed still answers waiting clients. A client
	// whose first request fails usually sends another one.
	failedTime = time.Second
)

// ProxyCommand returns the command proxy.
func ProxyCommand(a *cli.App) *cobra.Command {
	var f up.Front
	var name string
	var fromEnv bool
	cmd := &cobra.Command{
		Use:   "proxy SERVER",
		Short: "Serve one server to clients of any revision; record it (replay plays that)",
		Long: `Connect to one server and serve it, on standard input and output (the default) or at
an address, to clients of every revision. Requests in the middle of a call,
progress, cancellation and notifications pass through. It ends when the server does.

On standard input and output there is one client. The server starts when the client
has declared its capabilities, and gets them. At an address, where several clients
share the server, it cannot ask for roots.`,
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := f.Prepare(a); err != nil {
				return err
			}
			f.Stdio = f.HTTP == ""
			a.Launch.SeveralUsers = f.KnowsCallers()
			if err := reach.StartRecording(a, "proxy", name, true); err != nil {
				return err
			}
			t, rest, err := serveProxy(ctx, a, cmd, args, fromEnv)
			if err != nil {
				return err
			}
			if name != "" {
				t.Name = name
			}
			if err := cli.NoArguments(cmd, rest); err != nil {
				return err
			}
			defer reach.ShareTraffic(ctx, a, t.Title())()
			return proxy(ctx, a, f, t)
		},
	}
	f.Define(cmd.Flags(), append(up.FrontMembers(), up.LogMembers()...)...)
	cmd.Flags().StringVar(&name, "name", "", "call the server `NAME` in recordings and in junction traffic")
	cmd.Flags().BoolVar(&fromEnv, "url-from-env", false, "take the server's URL from the variable JUNCTION_URL, and headers ('NAME: VALUE') from JUNCTION_HEADER_1 and so on")
	reach.ConnectionFlags(a, cmd.Flags())
	reach.RecordFlag(a, cmd.Flags())
	return cmd
}

// serveProxy returns the server named on the command line. With fromEnv, it takes the server from
// the environment, which other users of the machine cannot see.
func serveProxy(ctx context.Context, a *cli.App, cmd *cobra.Command, args []string, fromEnv bool) (launch.Target, []string, error) {
	if !fromEnv {
		t, rest, err := reach.Target(ctx, a, cmd, args)
		if c, is := t.Transport.(*command.Command); is && c.Stderr == nil && a.Log == nil {
			c.Stderr = func(line string) { a.Screen.Printf("%s\n", cli.MarkServerLine(line)) } // the client looks for messages of the server here
		}
		return t, rest, err
	}
	if err := reach.CheckFlags(a); err != nil {
		return launch.Target{}, nil, err
	}
	address, headers, err := hostconfig.RemoteOf(a.Getenv)
	if err != nil {
		return launch.Target{}, nil, cli.Usagef("--url-from-env: %w", err)
	}
	a.Launch.Header = append(a.Launch.Header, headers...)
	t, err := a.Launch.Address(address)
	return t, args, err
}

// proxy serves the target at an address, or to the client on standard input and output. In the
// second case, it connects when the first request arrives, because that request has the client's
// capabilities.
func proxy(ctx context.Context, a *cli.App, f up.Front, t launch.Target) error {
	up.HintStdio(a, f)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var only *mcp.Meta // metadata of the first request; set only if there is a single client
	var came atomic.Bool
	var failed atomic.Pointer[error] // reason that the server did not start
	server := eras.New(ctx, eras.Options{
		Program:  t.IsProgram(),
		Revision: cmp.Or(a.Launch.Revision, t.Revision),
		Logger:   a.Logger(),
		Dial: func(ctx context.Context, req *mcp.Request, era string) (*mcp.Client, error) {
			if why := failed.Load(); why != nil { // do not start the server again for waiting clients
				return nil, *why
			}
			if f.Stdio && only == nil {
				meta := req.Meta
				only = &meta
			}
			o := a.Launch.Options(t)
			o.Bridge, o.OneClient = true, only
			reach.SetEra(a, &o, t, era, !t.IsWeb() && eras.Of(only) == definitions.Legacy)
			c, err := reach.Dial(ctx, t.Transport, o)
			return c, reach.AddRemedy(a, t, err)
		},
		Lost: func(c *mcp.Client, err error) {
			if c != nil {
				err = &cli.ConnectError{Cause: lost(c)}
			} else if failed.Store(&err); came.Load() && !f.Stdio { // waiting clients will send another request
				time.AfterFunc(failedTime, func() { end(err) })
				return
			}
			end(err)
		},
	})
	defer server.Close()
	if !f.Stdio { // accept clients even while the server is slow to start
		connected := make(chan error, 1)
		go func() { connected <- server.Connect(ctx, nil) }() // Close waits for this goroutine
		select {
		case err := <-connected:
			if err != nil {
				return err
			}
		case <-time.After(aloneTime):
		}
	}
	return cli.IgnoreInterrupt(ctx, up.Serve(ctx, a, f, mcp.HandlerFunc(func(of context.Context, req *mcp.Request) (mcp.Result, error) {
		came.Store(true)
		result, err := server.Handle(of, req)
		if f.KnowsCallers() {
			err = mcp.RedactError(err)
		}
		return result, err
	})))
}

// lost returns an error for a lost connection.
func lost(client *mcp.Client) error {
	if err := client.Err(); err != nil {
		return fmt.Errorf("lost the connection to the server: %w", err)
	}
	return fmt.Errorf("lost the connection to the server %q", client.Name())
}
