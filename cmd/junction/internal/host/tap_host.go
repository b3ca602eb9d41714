package host

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

// hostTime is the time that a host has to end after junction signals it.
const hostTime = 10 * time.Second

// runHost runs the command of a host on this terminal until it ends. Ctrl-C goes to the host.
func (p *tap) runHost(ctx context.Context, command []string) error {
	if p.record == "" {
		p.Screen.Printf("To see its messages, run junction traffic in another terminal.\n")
	}
	p.Stops.Set(func() bool { return true })
	defer p.Stops.Set(func() bool { return false })
	cmd := p.Command(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, p.Stdout, p.Stderr
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil { // Windows does not support SIGTERM
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = hostTime
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &ended):
		code := ended.ExitCode()
		if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = 128 + int(status.Signal()) // the exit code that shells use
		}
		return &cli.ExitError{Code: code}
	case err != nil:
		return fmt.Errorf("%s cannot be run: %w", command[0], err)
	}
	return nil
}
