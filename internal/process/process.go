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

// Command describes a program to start.
type Command struct {
	// Path is the program: a name that is searched in PATH, of Env if that is set, or a path. A
	// relative path is relative to Dir.
	Path string
	Args []string // without the program's name

	Env []string // complete environment as "key=value"; nil means this process's own
	Dir string   // working directory; empty means this process's own

	Grace time.Duration   // for each step of stopping; 0 means 2 seconds
	Kill  <-chan struct{} // may be nil; once closed, a child that is to stop is killed without grace

	// Launch, if set, starts the command instead of its own Start, for example confined. The
	// function that it returns is called once, after the child was reaped and its group is empty.
	Launch func(cmd *exec.Cmd) (ended func(), err error)

	StderrTail int // bytes of standard error kept; 0 means 16 KiB

	// OnStderr, if set, is called with each line of standard error, cleaned for display and cut at
	// 8 KiB, from one goroutine. It may block: lines that come too fast are dropped, and a separate
	// line has their number. It must return, and must not call Close, which waits for it.
	OnStderr func(line string)
}

const (
	defaultGrace      = 2 * time.Second
	defaultStderrTail = 16 << 10

	// hurriedTime is the grace period of each step after Hurry.
	hurriedTime = 100 * time.Millisecond

	// stderrWait limits how long Exited waits for the end of standard error. The end comes at once
	// unless another process holds it.
	stderrWait = 100 * time.Millisecond

	// killWait limits the wait for a killed process that the kernel does not end.
	killWait = 10 * time.Second
)

// A Process is a started child. All methods are safe for concurrent use.
type Process struct {
	name  string
	grace time.Duration
	kill  <-chan struct{}
	cmd   *exec.Cmd
	group group
	ended func() // returned by Launch

	stdin          *os.File
	stdout, stderr *output

	log     *stderrLog
	logDone chan struct{} // closed at the end of standard error

	exited  chan struct{}
	exitErr error // set before exited is closed

	stopOnce, closeOnce sync.Once
	closing             chan struct{} // closed by Close
	closed, hasty       atomic.Bool
	hurried             atomic.Bool
	closeErr            error
	running             sync.WaitGroup
}

// Start starts a command. The error names the command and contains a remedy.
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

// start makes the pipes and starts the child.
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

// PID returns the child's process id, which is also that of its group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr returns the end of the child's standard error so far, cleaned for display. It starts at a
// line, if there are lines.
func (p *Process) Stderr() string { return p.log.text() }

// Exited returns a channel that is closed when the child was reaped and Stderr holds its last
// output.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitError returns how the child ended: nil for status 0, and an error such as "exited with status
// 3" or "killed by SIGKILL" otherwise. It is nil until Exited.
func (p *Process) ExitError() error {
	select {
	case <-p.exited:
		return p.exitErr
	default:
		return nil
	}
}

// Read reads from the child's standard output. At its end the error is io.EOF. The end comes when
// the child and all processes that share its output have closed it or ended. It comes at the latest
// a grace period after the child exited. After Close the error is os.ErrClosed.
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

// Write writes to the child's standard input. It blocks while the child does not read, until Close,
// after which the error wraps os.ErrClosed. If the child has ended or closed its input, the error
// contains how it ended, if known, and wraps io.ErrClosedPipe.
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

// cause removes the operation and the file from an error of package os, since the names of pipes
// are meaningless.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

// described is an error with its own text instead of that of the wrapped error.
type described struct {
	text string
	err  error
}

func (d described) Error() string { return d.text }
func (d described) Unwrap() error { return d.err }
