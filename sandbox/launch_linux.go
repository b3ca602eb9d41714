package sandbox

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// controlFile is the launcher's end of the channel.
const controlFile = 3

// Main must be called first thing in the main function of a program that calls [Sandbox.Start]: that starts the same
// program again, and Main then confines it, starts the server in it, and does not return. Otherwise it returns at once.
func Main() {
	if len(os.Args) == 1 && os.Args[0] == launcherName {
		os.Exit(launch())
	}
}

// launch is the first process of a sandbox. What it gives up, it gives up on the one thread that then starts the program, so that
// the program can neither signal nor look into the others, which wait for its end and for that of the parent.
func launch() int {
	runtime.LockOSThread()
	unix.CloseOnExec(controlFile)
	control, err := newChannel(os.NewFile(controlFile, "control"))
	if err != nil {
		return 125
	}
	o, err := control.receiveOrder()
	if err != nil {
		return fail(control, "order", err)
	}
	confine := o.confine
	if o.Bare {
		confine = o.confineBare
	}
	if step, err := confine(control); err != nil {
		return fail(control, step, err)
	}
	if o.Path == "" {
		control.send(report{Step: "started"}, nil)
		return 0
	}
	if o.Watch {
		if err := o.sendListener(control); err != nil {
			return fail(control, "watch", err)
		}
	}
	// Whatever signal the group gets is the program's matter.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals)
	go func() {
		for range signals {
		}
	}()
	child, err := os.StartProcess(o.Path, o.Argv, &os.ProcAttr{Env: o.Env, Dir: o.Dir, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return fail(control, "start", err)
	}
	os.Stdin.Close()
	os.Stdout.Close()
	if control.send(report{Step: "started"}, nil) != nil {
		return 125
	}
	go func() {
		control.receive() // the parent says nothing more: it is gone
		if o.Bare {
			endChildren()
		}
		os.Exit(125)
	}()
	code := reap(child.Pid)
	if o.Bare {
		endChildren()
	}
	return code
}

// fail reports an error to the parent.
func fail(control channel, step string, err error) int {
	r := report{Step: step, Error: err.Error()}
	errors.As(err, &r.Errno)
	control.send(r, nil)
	return 125
}

// reap waits for all processes that come to this one, and returns how the program itself ended.
func reap(program int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 125
		case pid == program && status.Signaled():
			return 128 + int(status.Signal())
		case pid == program && status.Exited():
			return status.ExitStatus()
		}
	}
}

// confine gives up what the program shall not have. It returns the step that failed.
func (o *order) confine(control channel) (step string, err error) {
	sockets, err := openNetwork(o.Ports)
	if err != nil {
		return "network", err
	}
	if err := control.send(report{Step: "network"}, sockets); err != nil {
		return "network", err
	}
	if err := unix.Sethostname([]byte(hostname)); err != nil {
		return "host name", err
	}
	if err := enter(o.Places); err != nil {
		return "files", err
	}
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		o.Dir = "/tmp"
	}
	return o.giveUp(func() error { return restrictCalls(false, false) })
}

// giveUp gives up all but files, which are what the file system shows by then.
func (o *order) giveUp(calls func() error) (step string, err error) {
	// Nothing that this process inherited goes on to the program.
	if err := unix.CloseRange(controlFile+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return "open files", err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return "dumpable", err
	}
	if err := o.limit(); err != nil {
		return "limits", err
	}
	if err := dropCapabilities(); err != nil {
		return "capabilities", err
	}
	if err := o.restrict(); err != nil {
		return "files", err
	}
	if err := calls(); err != nil {
		return "system calls", err
	}
	return "", nil
}

// limit sets what each process may use.
func (o *order) limit() error {
	data := o.Memory
	if o.Counted {
		data = unix.RLIM_INFINITY // it would count what was reserved and never used
	}
	processes := o.Processes
	if o.Bare {
		processes = unix.RLIM_INFINITY // it would count those of the person
	}
	for _, l := range []struct {
		resource int
		most     uint64
	}{{unix.RLIMIT_NPROC, processes}, {unix.RLIMIT_CORE, 1}, {unix.RLIMIT_DATA, data}, {unix.RLIMIT_FSIZE, maxFile}, {unix.RLIMIT_NOFILE, o.Files},
		{unix.RLIMIT_MEMLOCK, 8 << 20}, {unix.RLIMIT_MSGQUEUE, 0}} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &now); err != nil {
			return err
		}
		most := min(l.most, now.Max)
		// That of package syscall: it keeps the Go runtime from putting its own number of files back.
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}
