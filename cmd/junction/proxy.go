package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/spf13/cobra"
)

func (a *app) proxyCommand() *cobra.Command {
	var f front
	var name string
	var fromEnv bool
	cmd := &cobra.Command{
		Use:   "proxy SERVER",
		Short: "Serve a server to clients of any revision and transport",
		Long: `Connect to one server and serve it, on standard input and output (the default) or at
an address, to clients of every revision: requests in the middle of a call,
progress, cancellation and notifications go through. It ends when the server does.

On standard input and output there is one client: the server gets what that
client can be asked, and started when the client has said so. At an address,
where several clients share the server, it cannot ask for roots.`,
		ValidArgsFunction: a.suggestServers,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := f.check(); err != nil {
				return err
			}
			if err := a.startLog(); err != nil {
				return err
			}
			f.stdio = f.http == ""
			if err := a.startRecording("proxy", name, true); err != nil {
				return err
			}
			t, rest, err := a.proxied(ctx, cmd, args, fromEnv)
			if err != nil {
				return err
			}
			if name != "" {
				t.name = name
			}
			if err := noMore(cmd, rest); err != nil {
				return err
			}
			defer a.shareTraffic(ctx, t.title())()
			return a.proxy(ctx, f, t)
		},
	}
	f.flags(cmd.Flags(), "")
	cmd.Flags().StringVar(&name, "name", "", "call the server `NAME` in recordings and in junction traffic")
	cmd.Flags().BoolVar(&fromEnv, "url-from-env", false, "take the server's URL from the variable JUNCTION_URL, and headers ('NAME: VALUE') from JUNCTION_HEADER_1 and so on")
	a.connectionFlags(cmd.Flags())
	a.recordFlag(cmd.Flags())
	a.logFlags(cmd.Flags())
	return cmd
}

// proxied is the server that the command line means, or the environment: there, other users of the machine do not see it.
func (a *app) proxied(ctx context.Context, cmd *cobra.Command, args []string, fromEnv bool) (target, []string, error) {
	if !fromEnv {
		t, rest, err := a.target(ctx, cmd, args)
		if c, is := t.transport.(*command.Command); is && c.Stderr == nil && a.log == nil {
			c.Stderr = func(line string) { a.screen.Printf("%s\n", asServers(line)) } // where the client looks for it
		}
		return t, rest, err
	}
	if err := a.checkFlags(); err != nil {
		return target{}, nil, err
	}
	address, headers, err := hostconfig.RemoteOf(os.Getenv)
	if err != nil {
		return target{}, nil, usagef("--url-from-env: %w", err)
	}
	a.flags.header = append(a.flags.header, headers...)
	t, err := a.url(address)
	return t, args, err
}

// proxy serves the target: at an address to any number of clients, or to the one on standard input and output, for which
// it is connected to with the first request, which says what the client can be asked.
func (a *app) proxy(ctx context.Context, f front, t target) error {
	a.hintStdio(f)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	connecting := make(chan struct{}, 1) // holds a token while nobody connects
	connecting <- struct{}{}
	var client atomic.Pointer[mcp.Client]
	var watched <-chan struct{}
	connect := func(ctx context.Context, only *mcp.Meta) (*mcp.Client, error) {
		select {
		case <-connecting:
			defer func() { connecting <- struct{}{} }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if c := client.Load(); c != nil {
			return c, nil
		}
		o := a.options(t)
		o.Bridge, o.OneClient = true, only
		c, err := dial(ctx, t.transport, o)
		if err != nil {
			end(err)
			return nil, err
		}
		watched = watch(ctx, c, end)
		client.Store(c)
		return c, nil
	}
	if !f.stdio {
		if _, err := connect(ctx, nil); err != nil {
			return err
		}
	}
	err := orderly(ctx, a.serve(ctx, f, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		c := client.Load()
		if c == nil {
			var err error
			meta := req.Meta
			if c, err = connect(ctx, &meta); err != nil {
				return mcp.Result{}, err
			}
		}
		result, err := c.Handle(ctx, req)
		if f.knowsCallers() {
			err = mcp.PublicError(err)
		}
		return result, err
	})))
	end(nil)
	<-connecting
	if c := client.Load(); c != nil {
		c.Close()
		<-watched
	}
	return err
}

// watch ends the command when the server is gone; what it returns is closed
// when nothing is watched any more.
func watch(ctx context.Context, client *mcp.Client, end context.CancelCauseFunc) <-chan struct{} {
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-client.Done():
			end(&connectError{lost(client)})
		case <-ctx.Done():
		}
	}()
	return watched
}

// lost says that the server behind is gone.
func lost(client *mcp.Client) error {
	if err := client.Err(); err != nil {
		return fmt.Errorf("the connection to the server is lost: %w", err)
	}
	return fmt.Errorf("the connection to the server %q is lost", client.Name())
}
