package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/process"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/pipe"
	"github.com/junction-mcp/junction/mcp/internal/upstream"
)

// A Command is a program that serves MCP on its standard input and output. Its fields must not
// change after the first use. It is a [mcp.Transport] that starts the program for each connection.
type Command struct {
	// Name is the program. It is a name to search for in PATH, or a path. A relative path is
	// relative to Dir.
	Name string
	// Args holds the arguments. They are passed unchanged, without a shell.
	Args []string
	// Env lists variables to add to the environment, as "key=value". If a key occurs more than
	// once, its last value counts.
	Env []string
	// Environ is the environment to add Env to. Nil means the environment of this process,
	// including any secrets.
	Environ []string
	// Dir is the working directory; empty means the directory of this process.
	Dir string
	// Grace is how long Close waits for the program in each step of ending it; the default is 2
	// seconds.
	Grace time.Duration
	// Kill, if not nil, ends Grace when it is closed: a program that is being ended is then killed
	// at once, with all its descendants.
	Kill <-chan struct{}
	// Impatient reduces Grace to 100 milliseconds for a program that did not respond before the
	// deadline of a caller or of connecting.
	Impatient bool
	// Stderr, if not nil, is called with each line of the program's standard error, one at a time.
	// Lines are cleaned for display. Stderr must not block.
	Stderr func(line string)
	// Skipped, if not nil, is called with the first 20 lines of the program's standard output that
	// are not messages, one at a time. Lines are cleaned for display. Skipped must not block.
	Skipped func(line string)
	// Launch, if not nil, starts the program in place of cmd.Start. It may change cmd, for example
	// to confine the program; see package sandbox. The function ended is called once, after the
	// program and its descendants have ended.
	Launch func(cmd *exec.Cmd) (ended func(), err error)
	// Answered, if not nil, is called with each request to the program and its result, before the
	// result is returned. It must not block, and must not change its arguments.
	Answered func(ctx context.Context, req *mcp.Request, result mcp.Result, err error)
	// Started, if not nil, is called with each started program. It must not block.
	Started func(p Program)
	// MaxMessage is the maximum size of an accepted message in bytes; the default is 16 MiB.
	MaxMessage int
	// Logger receives records of the server's faults; the default is slog.Default().
	Logger *slog.Logger
}

var _ mcp.Transport = (*Command)(nil)

// New returns a Command for a program and its arguments.
func New(name string, args ...string) *Command {
	return &Command{Name: name, Args: args}
}

// Connect implements [mcp.Transport]. It starts the program; closing the connection ends it.
func (c *Command) Connect(ctx context.Context, o mcp.ConnectOptions) (mcp.Conn, error) {
	var connected atomic.Bool
	var newest *process.Process
	conn, err := upstream.Connect(ctx, func(ctx context.Context) (link.Link, error) {
		l, p, err := c.link(ctx, &connected)
		newest = p
		return l, err
	}, o)
	connected.Store(err == nil)
	if err != nil {
		return nil, waited(newest, err)
	}
	if c.Impatient {
		conn = heard{conn, func(_ context.Context, _ *mcp.Request, _ mcp.Result, err error) {
			if errors.Is(err, context.DeadlineExceeded) {
				newest.Hurry()
			}
		}}
	}
	if c.Answered != nil {
		conn = heard{conn, c.Answered}
	}
	return conn, nil
}

// waited adds the program's standard error to an error if its cause is a deadline. The program may
// have waited for something itself.
func waited(p *process.Process, err error) error {
	if p == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if tail := lastLines(p.Stderr(), stderrTail); tail != "" {
		return saying(err, tail)
	}
	return err
}

// saying adds the end of a program's standard error to an error. Only the operator sees it: other
// users may use the program, and its output may contain their input.
func saying(err error, tail string) error {
	said := "its standard error ends with:\n" + tail
	return &mcp.PrivateError{Err: fmt.Errorf("%w; %s", err, said), Private: said, Public: "the operator's log has more"}
}

// A heard is a connection that calls answered with the result of each request.
type heard struct {
	mcp.Conn
	answered func(context.Context, *mcp.Request, mcp.Result, error)
}

func (h heard) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	result, err := h.Conn.Handle(ctx, req)
	h.answered(ctx, req, result, err)
	return result, err
}

// Unwrap returns the connection for its further methods.
func (h heard) Unwrap() mcp.Conn { return h.Conn }

// A starting is a program that may not be connected yet. When the caller gives up, Close does not
// wait for Grace.
type starting struct {
	*process.Process
	connecting context.Context
	connected  *atomic.Bool
	impatient  bool
}

func (s starting) Close() error {
	if s.connecting.Err() != nil && !s.connected.Load() {
		if s.impatient && errors.Is(context.Cause(s.connecting), context.DeadlineExceeded) {
			s.Hurry()
		}
		return s.Terminate()
	}
	return s.Process.Close()
}

// link starts the program. The context ctx limits only the start. Closing the link ends the
// program.
func (c *Command) link(ctx context.Context, connected *atomic.Bool) (link.Link, *process.Process, error) {
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("start %s: %w", c, context.Cause(ctx))
	}
	p, err := process.Start(process.Command{
		Path: c.Name, Args: c.Args, Env: c.environment(), Dir: c.Dir, Grace: c.Grace, Kill: c.Kill, OnStderr: c.Stderr, Launch: c.Launch,
	})
	if err != nil {
		return nil, nil, err
	}
	if c.Started != nil {
		c.Started(Program{p})
	}
	return pipe.New(starting{p, ctx, connected, c.Impatient}, pipe.Options{
		Name:       c.String(),
		MaxMessage: c.MaxMessage,
		Describe:   func() error { return ending(p) },
		Skipped:    c.Skipped,
		Logger:     c.Logger,
	}), p, nil
}

// A Program is a program that a Command started. It may have ended. Its methods are safe for
// concurrent use.
type Program struct{ process *process.Process }

// CPUTime returns the processor time that the program and its descendants have used so far. It
// reports false if the operating system does not provide the time.
func (p Program) CPUTime() (time.Duration, bool) { return p.process.CPUTime() }

// environment returns the program's environment. Nil means the environment of this process.
func (c *Command) environment() []string {
	if len(c.Env) == 0 {
		return c.Environ
	}
	base := c.Environ
	if base == nil {
		base = os.Environ()
	}
	return append(base[:len(base):len(base)], c.Env...)
}

const (
	exitWait   = time.Second // how long to wait for a program to exit after its output ended
	stderrTail = 8 << 10     // maximum bytes of standard error in an error
)

// ending returns an error that describes how the program ended, with its last output.
func ending(p *process.Process) error {
	wait := time.NewTimer(exitWait)
	defer wait.Stop()
	var how string
	select {
	case <-p.Exited():
		how = "it exited with status 0"
		if err := p.ExitError(); err != nil {
			how = "it " + strings.Replace(err.Error(), "killed by", "was killed by", 1)
		}
	case <-wait.C:
		how = "it is still running"
	}
	tail := lastLines(p.Stderr(), stderrTail)
	if tail == "" {
		return errors.New(how + " and wrote nothing to its standard error")
	}
	return saying(errors.New(how), tail)
}

// lastLines returns the last whole lines of text that fit into limit bytes, or the end of the last
// line.
func lastLines(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if _, lines, ok := strings.Cut(text, "\n"); ok {
		return lines
	}
	return strings.ToValidUTF8(text, "")
}
