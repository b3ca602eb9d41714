package main

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

func (a *app) proxyCommand() *cobra.Command {
	var f front
	cmd := &cobra.Command{
		Use:   "proxy SERVER",
		Short: "Serve a server to clients of any revision and transport",
		Long: `Connect to one server and serve it, on standard input and output (the default) or at
an address, to clients of every revision: questions in the middle of a call,
progress, cancellation and news go through. It ends when the server does.`,
		ValidArgsFunction: a.suggestServers,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := f.check(); err != nil {
				return err
			}
			f.stdio = f.http == ""
			t, rest, err := a.target(ctx, cmd, args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return usagef("%s: unexpected %q", cmd.CommandPath(), rest[0])
			}
			return a.proxy(ctx, f, t)
		},
	}
	f.flags(cmd.Flags(), "")
	a.connectionFlags(cmd.Flags())
	return cmd
}

func (a *app) proxy(ctx context.Context, f front, t target) error {
	o := a.options(t)
	o.Bridge = true
	client, err := dial(ctx, t.transport, o)
	if err != nil {
		return err
	}
	defer client.Close()
	a.hintStdio(f)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-client.Dead():
			end(&connectError{lost(client)})
		case <-ctx.Done():
		}
	}()
	err = orderly(ctx, a.serve(ctx, f, client))
	end(nil)
	<-watched
	return err
}

// lost says that the server behind is gone.
func lost(client *mcp.Client) error {
	if err := client.Err(); err != nil {
		return fmt.Errorf("the connection to the server is lost: %w", err)
	}
	return fmt.Errorf("the connection to the server %q is lost", client.Name())
}
