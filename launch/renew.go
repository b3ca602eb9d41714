package launch

import (
	"context"
	"os"
	"time"

	"github.com/junction-mcp/junction/config"
)

const (
	// RenewCommand is the hidden command that renews a login.
	RenewCommand = "renew-login"
	// RenewTime bounds the renewal of a login in a process of its own.
	RenewTime = time.Minute
)

// renewApart renews the login at a server in a process of its own, which outlives this one: whoever kills this one
// in the middle does not lose the login, of which the old token may hold no more.
func (l *Launcher) renewApart(ctx context.Context, server, mark string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := l.Place.Command(context.WithoutCancel(ctx), self, RenewCommand, server, mark)
	cmd.SysProcAttr = apart()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // it ends within RenewTime
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
