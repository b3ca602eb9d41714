package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errNoNamespaces reports that this user may not create namespaces on this system, or that setting
// them up failed.
var errNoNamespaces = errors.New("this system permits no user namespaces")

func (s *Sandbox) start(cmd *exec.Cmd) (ended func(), err error) {
	o, err := s.orderFor(cmd)
	if err != nil {
		return nil, err
	}
	ended, err = s.launch(cmd, o, s.namespaces())
	if err == nil || !errors.Is(err, errNoNamespaces) {
		return ended, err
	}
	bare, remove, err := s.bare(o, err)
	if err != nil {
		return nil, err
	}
	// A Cmd can be started only once, so this is a copy.
	again := &exec.Cmd{Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr}
	ended, err = s.launch(again, bare, &syscall.SysProcAttr{Setsid: true})
	if err != nil {
		remove()
		return nil, err
	}
	*cmd = *again
	return func() {
		ended()
		remove()
	}, nil
}

// launch starts the launcher and sends it the order.
func (s *Sandbox) launch(cmd *exec.Cmd, o order, attributes *syscall.SysProcAttr) (ended func(), err error) {
	refuse, endRefusals := s.refusals()
	g, lacking := newGroup(o, s.profile.CPU)
	defer func() {
		if err != nil {
			endRefusals()
			g.close(o, func(Refusal) {})
		}
	}()
	if err := s.checkLimits(o, lacking); err != nil {
		return nil, err
	}
	o.Counted = g.folders["memory"] != ""
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	control, err := newChannel(ours)
	if err != nil {
		return nil, err
	}
	cmd.Path, cmd.Args, cmd.Env, cmd.Dir, cmd.ExtraFiles = "/proc/self/exe", []string{launcherName}, []string{launcherEnv}, "/", []*os.File{theirs}
	cmd.SysProcAttr = attributes
	if err := cmd.Start(); err != nil {
		control.Close()
		return nil, fmt.Errorf("%w: %w", errNoNamespaces, err)
	}
	var outside *network
	var seen *watched
	if err = g.add(cmd.Process.Pid); err == nil {
		outside, seen, err = s.attend(control, o, cmd.Process.Pid, refuse)
	}
	if err != nil {
		control.Close()
		cmd.Process.Kill()
		cmd.Wait()
		return nil, err
	}
	return func() {
		control.Close()
		seen.close()
		if outside != nil {
			outside.close()
		}
		g.close(o, refuse)
		endRefusals()
	}, nil
}

// checkLimits returns an error for limits of the profile that need a missing control group.
func (s *Sandbox) checkLimits(o order, lacking map[string]string) error {
	p := s.profile
	switch {
	case s.o.Weaker:
	case p.CPU > 0 && lacking["cpu"] != "":
		return fmt.Errorf("%w: cpu %v: %s", ErrUnconfined, p.CPU, lacking["cpu"])
	case p.Processes > 0 && lacking["pids"] != "" && (o.Bare || os.Getuid() == 0):
		return fmt.Errorf("%w: processes %d: %s", ErrUnconfined, p.Processes, lacking["pids"])
	}
	return nil
}

// orderFor returns the order for cmd.
func (s *Sandbox) orderFor(cmd *exec.Cmd) (order, error) {
	env := cmd.Environ()
	path, dir, folders, own, err := s.programPlaces(cmd)
	if err != nil {
		return order{}, err
	}
	if s.o.Record != nil { // its package may be in the folder of all packages, of which it must not see the others
		folders = append(folders, slices.DeleteFunc(slices.Clone(s.o.Package), holdsPrivate)...)
	}
	s.o.Record.belongs(own)
	places, err := s.viewOf(folders)
	if err != nil {
		return order{}, err
	}
	p := s.profile
	return order{
		Path: path, Argv: cmd.Args, Env: append(env, "TMPDIR=/tmp"), Dir: dir, Places: places, Ports: s.allowedHosts().ports(),
		Processes: uint64(cmp.Or(p.Processes, defaultProcesses)), Memory: uint64(cmp.Or(p.Memory, defaultMemory)), Files: uint64(cmp.Or(p.Files, defaultFiles)),
		Watch: s.o.Refused != nil || s.o.Record != nil, Scope: s.scope(),
	}, nil
}

// namespaces returns the attributes for new namespaces. The process gets its own users, files,
// processes, network and more. It has the rights to set them up, which it gives up before the
// program starts.
func (s *Sandbox) namespaces() *syscall.SysProcAttr {
	uid, gid := os.Getuid(), os.Getgid()
	return &syscall.SysProcAttr{
		// A new session has no terminal, and is also a process group.
		Setsid: true,
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP},
	}
}

func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}

// attend sends the order to the launcher, takes over the network and the listener, and returns when
// the program runs.
func (s *Sandbox) attend(control channel, o order, launcher int, refuse func(Refusal)) (*network, *watched, error) {
	control.SetDeadline(time.Now().Add(launchTime))
	if err := control.sendOrder(o); err != nil {
		return nil, nil, fmt.Errorf("the launcher does not listen: %w", err)
	}
	var outside *network
	var seen *watched
	for {
		r, files, err := control.receive()
		if err == nil && r.Error != "" {
			err = r.failure()
		}
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			seen.close()
			if outside != nil {
				outside.close()
			}
			return nil, nil, err
		}
		switch r.Step {
		case "network":
			if outside, err = s.serveNetwork(files, refuse); err != nil {
				return nil, nil, err
			}
		case "watch":
			if len(files) == 1 {
				seen = s.watch(files[0], launcher, o, outside, refuse)
			}
			control.send(report{Step: "watched"}, nil) // if this fails, the launcher has ended, which the next receive reports
		case "started":
			control.SetDeadline(time.Time{})
			return outside, seen, nil
		}
	}
}

// failure returns the error in a report.
func (r report) failure() error {
	if r.Step == "start" && r.Errno != 0 {
		return r.Errno
	}
	if errors.Is(r.Errno, unix.EPERM) || errors.Is(r.Errno, unix.EACCES) || errors.Is(r.Errno, unix.ENOSYS) {
		return fmt.Errorf("%w: %s: %s", errNoNamespaces, r.Step, r.Error)
	}
	return fmt.Errorf("confine %s: %s", r.Step, r.Error)
}

// controlFile is the descriptor of the launcher's end of the channel.
const controlFile = 3

// Main must be called at the start of the main function of a program that calls [Sandbox.Start].
// Start runs the same program again. In that process Main confines the process, starts the server
// in it, and does not return. Otherwise Main returns at once.
func Main() {
	if len(os.Args) == 1 && os.Args[0] == launcherName {
		os.Exit(launch())
	}
}

// launch is the main function of the first process in a sandbox. It gives up rights only on the
// thread that starts the program. The other threads wait for the end of the program and of the
// parent, and the program can neither signal nor inspect them.
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
	// Signals to the process group are meant for the program.
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
		control.receive() // returns when the parent has ended, because it sends nothing more
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

// reap waits for all children of this process, and returns the exit code of the program.
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

// confine gives up all rights that the program must not have. It returns the step that failed.
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

// giveUp gives up all rights except those for files. The view already contains only the permitted
// files.
func (o *order) giveUp(calls func() error) (step string, err error) {
	// The program inherits no files of this process.
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

// limit sets the limits of each process.
func (o *order) limit() error {
	data := o.Memory
	if o.Counted {
		data = unix.RLIM_INFINITY // this limit would count memory that is reserved but not used
	}
	processes := o.Processes
	if o.Bare {
		processes = unix.RLIM_INFINITY // this limit would count all processes of the user
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
		// Package syscall's version also keeps the Go runtime from restoring its own limit of open
		// files.
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}
