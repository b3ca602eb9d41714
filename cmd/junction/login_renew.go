package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/spf13/cobra"
)

const (
	renewCommand = "renew-login"
	// renewTime bounds the renewal of a login in a process of its own.
	renewTime = time.Minute
)

// renewApart renews the login at a server in a process of its own, which outlives this one: whoever kills this one
// in the middle does not lose the login, of which the old token may hold no more.
func renewApart(ctx context.Context, server, mark string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, renewCommand, server, mark) //nolint:noctx // it has to outlive ctx
	cmd.SysProcAttr = apart()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // it ends within renewTime
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// renewsApart reports whether a login is kept with all that is needed to renew it.
func renewsApart(entry *config.OAuth) bool {
	return entry.ClientSecret == "" && entry.KeyFile == "" && entry.Grant == "" && len(entry.Hosts) == 0
}

func (a *app) renewLoginCommand() *cobra.Command {
	return &cobra.Command{
		Use: renewCommand + " URL MARK", Short: "Renew the login at a server, for another junction", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("expected the URL of a server, and which token is to be replaced")
			}
			a.renews = true
			tokens, err := a.tokens(config.OAuth{}, nil, nil)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), renewTime, fmt.Errorf("the login was not renewed within %v", renewTime))
			defer cancel()
			return tokens.Renew(ctx, args[0], args[1])
		},
	}
}
