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
	// Path is the program: either a name, which is searched in the PATH of Env or of this process,
	// or a path. A relative path is relative to Dir.
	Path string
	Args []string // arguments without the program's name

	Env []string // complete environment as "key=value"; nil means the environment of this process
	Dir string   // working directory; empty means the working directory of this process

	Grace time.Duration   // grace period before each step of ending the child; 0 means 2 seconds
	Kill  <-chan struct{} // may be nil; once it is closed, a child that is being ended is killed without a grace period

	// Launch, if set, starts cmd in place of cmd.Start, for example in a sandbox. The returned
	// function is called once, after the child was reaped and when its group is empty.
	Launch func(cmd *exec.Cmd) (ended func(), err error)

	StderrTail int // number of bytes of standard error that are kept; 0 means 16 KiB

	// OnStderr, if set, is called with each line of standard error. Lines are cleaned for display
	// and cut at 8 KiB. All calls are made by one goroutine. OnStderr may block. Lines that arrive
	// too fast are dropped, and their number is reported in a line of its own. OnStderr must return
	// in the end. It must not call Close, because Close waits for it.
	OnStderr func(line string)
}

const (
	defaultGrace      = 2 * time.Second
	defaultStderrTail = 16 << 10

	// hurriedTime is the maximum grace period of each step after Hurry.
	hurriedTime = 100 * time.Millisecond

	// stderrWait is the maximum time that Exited waits for the end of standard error. Usually there
	// is nothing to wait for, unless another process keeps standard error open.
	stderrWait = 100 * time.Millisecond

	// killWait is the maximum time to wait for a killed process that the kernel does not end.
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

// Start starts a command. The error contains the command and a remedy.
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

// start creates the pipes and starts the child.
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

// PID returns the child's process id, which is also the id of its group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr returns the last output of the child on standard error, cleaned for display. It begins at
// the start of a line, if possible.
func (p *Process) Stderr() string { return p.log.text() }

// Exited returns a channel that is closed when the child was reaped and Stderr contains its last
// output.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitError returns nil if the child exited with status 0. Otherwise it returns an error such as
// "exited with status 3" or "killed by SIGKILL". It returns nil while the channel of Exited is
// open.
func (p *Process) ExitError() error {
	select {
	case <-p.exited:
		return p.exitErr
	default:
		return nil
	}
}

// Read reads from the child's standard output. It returns io.EOF when the child and all processes
// that share its output have closed it or ended. It returns io.EOF at the latest when a grace
// period has passed after the child exited. After Close the error wraps os.ErrClosed.
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

// Write writes to the child's standard input. It blocks while the child does not read. After Close
// the error wraps os.ErrClosed. If the child has ended or closed its standard input, the error
// wraps io.ErrClosedPipe and contains the child's exit status, if known.
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

// cause removes the operation and the file name from an error of package os, because names of pipes
// mean nothing to users.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

// described is an error whose text replaces the text of the wrapped error.
type described struct {
	text string
	err  error
}

func (d described) Error() string { return d.text }
func (d described) Unwrap() error { return d.err }
