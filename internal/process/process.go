package process

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Command says what to start.
type Command struct {
	// Path is the program: a name that is looked up in PATH, of Env where that
	// is set, or a path. A relative path is relative to Dir.
	Path string
	Args []string // without the program's name

	Env []string // the full environment as "key=value"; nil means this process's own
	Dir string   // working directory; empty means this process's own

	Grace time.Duration   // for each step of stopping; 0 means 2 seconds
	Kill  <-chan struct{} // may be nil; once it is closed, a child that is to stop is killed without grace

	// Launch, if set, starts the command in place of its own Start, such as confined. The function that it returns is
	// called once, when the child was reaped and nothing is left of its group.
	Launch func(cmd *exec.Cmd) (ended func(), err error)

	StderrTail int // bytes of standard error kept; 0 means 16 KiB

	// OnStderr, if set, is called with each line of standard error, cleaned for
	// display and cut at 8 KiB, from one goroutine. It may take its time: lines
	// that come too fast are left out, and their number is given in a line of its
	// own. It must return, and must not call Close, which waits for it.
	OnStderr func(line string)
}

const (
	defaultGrace      = 2 * time.Second
	defaultStderrTail = 16 << 10

	// hurriedTime is the time of grace for each step after Hurry.
	hurriedTime = 100 * time.Millisecond

	// stderrWait is how long Exited waits for the end of standard error, which
	// comes at once unless another process holds it.
	stderrWait = 100 * time.Millisecond

	// killWait bounds the wait for a killed process that the kernel does not end.
	killWait = 10 * time.Second
)

// A Process is a child that was started. All methods may be called at the same
// time.
type Process struct {
	name  string
	grace time.Duration
	kill  <-chan struct{}
	cmd   *exec.Cmd
	group group
	ended func() // of Launch

	stdin          *os.File
	stdout, stderr *output

	log     *stderrLog
	logDone chan struct{} // closed when standard error was read to its end

	exited  chan struct{}
	exitErr error // set before exited is closed

	stopOnce, closeOnce sync.Once
	closing             chan struct{} // Close was called
	closed, hasty       atomic.Bool
	hurried             atomic.Bool
	closeErr            error
	running             sync.WaitGroup
}

// Start starts a command. The error names the command and says what to do.
func Start(c Command) (*Process, error) {
	path, err := lookPath(c)
	if err != nil {
		return nil, startError(c, err)
	}
	p := &Process{
		name:    filepath.Base(c.Path),
		grace:   cmp.Or(max(c.Grace, 0), defaultGrace),
		kill:    c.Kill,
		cmd:     &exec.Cmd{Path: path, Args: append([]string{c.Path}, c.Args...), Env: c.Env, Dir: c.Dir},
		logDone: make(chan struct{}),
		exited:  make(chan struct{}),
		closing: make(chan struct{}),
	}
	p.log = newStderrLog(cmp.Or(max(c.StderrTail, 0), defaultStderrTail), c.OnStderr)
	if err := p.start(c.Launch); err != nil {
		return nil, startError(c, err)
	}
	p.running.Go(p.wait)
	p.running.Go(func() {
		p.log.readFrom(p.stderr)
		close(p.logDone)
	})
	if c.OnStderr != nil {
		p.running.Go(p.log.deliver)
	}
	return p, nil
}

// start makes the pipes and starts the child on them.
func (p *Process) start(launch func(*exec.Cmd) (func(), error)) (err error) {
	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files...)
		}
	}()
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w
	}
	stdin, toStdin := pipe()
	fromStdout, stdout := pipe()
	fromStderr, stderr := pipe()
	if err != nil {
		return err
	}
	p.stdin, p.stdout, p.stderr = toStdin, newOutput(fromStdout), newOutput(fromStderr)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, stderr
	p.cmd.SysProcAttr = groupLeader()
	if launch == nil {
		launch = func(cmd *exec.Cmd) (func(), error) { return func() {}, cmd.Start() }
	}
	if p.ended, err = launch(p.cmd); err != nil {
		return err
	}
	closeAll(stdin, stdout, stderr)
	p.group = groupOf(p.cmd.Process)
	return nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// PID returns the child's process id, which is that of its group too.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr returns the end of what the child wrote to its standard error so far,
// cleaned for display, and cut at a line where it has lines.
func (p *Process) Stderr() string { return p.log.text() }

// Exited returns a channel that is closed when the child is gone and was
// reaped, and its last words on standard error are in Stderr.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitError says how the child ended: nil for status 0, and an error such as
// "exited with status 3" or "killed by SIGKILL" otherwise. It is nil until
// Exited.
func (p *Process) ExitError() error {
	select {
	case <-p.exited:
		return p.exitErr
	default:
		return nil
	}
}

// Read reads from the child's standard output. At its end the error is io.EOF:
// when the child and all who share its output have closed it or are gone, or
// at the latest a time of grace after the child exited. After Close it is
// os.ErrClosed.
func (p *Process) Read(b []byte) (int, error) {
	n, err := p.stdout.Read(b)
	switch {
	case err == nil:
		return n, nil
	case p.closed.Load():
		return n, fmt.Errorf("read from %s: %w", p.name, os.ErrClosed)
	case err == io.EOF:
		return n, io.EOF
	default:
		return n, fmt.Errorf("read from %s: %w", p.name, cause(err))
	}
}

// Write writes to the child's standard input. It waits while the child does not
// read, until Close, after which the error wraps os.ErrClosed. When the child
// is gone or reads no more, the error says how it ended, if that is known, and
// wraps io.ErrClosedPipe.
func (p *Process) Write(b []byte) (int, error) {
	n, err := p.stdin.Write(b)
	if err == nil {
		return n, nil
	}
	switch exit := p.ExitError(); {
	case p.closed.Load():
		err = os.ErrClosed
	case exit != nil:
		err = described{exit.Error(), io.ErrClosedPipe}
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed):
		err = described{"it reads no more", io.ErrClosedPipe}
	default:
		err = cause(err)
	}
	return n, fmt.Errorf("write to %s: %w", p.name, err)
}

// cause takes the operation and the file off an error of package os: the name
// of a pipe says nothing.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

// described is an error with words of its own in place of the text of the error
// that it wraps.
type described struct {
	text string
	err  error
}

func (d described) Error() string { return d.text }
func (d described) Unwrap() error { return d.err }
