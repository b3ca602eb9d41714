package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// leastLandlock is the first revision of Landlock that suffices to confine files. Earlier ones let
// a program truncate any file.
const leastLandlock = 3

// scopedLandlock is the first revision of Landlock that confines signals.
const scopedLandlock = 6

// bare converts an order to one without namespaces, for a system that permits none. Landlock, the
// filter of system calls and the limits of processes still apply. The error names the parts of the
// profile that they cannot enforce. remove removes the folder that replaces /tmp for the program.
func (s *Sandbox) bare(o order, why error) (_ order, remove func(), err error) {
	if s.o.Record != nil { // because keys could not be hidden
		return o, nil, fmt.Errorf("%w: nothing can be learned from a program without namespaces (%w)", ErrUnconfined, why)
	}
	var missing []string
	if abi := landlockRevision(); abi < leastLandlock {
		missing = append(missing, "files: the system has no Landlock, or an old one")
	}
	if len(s.profile.Hosts) > 0 {
		missing = append(missing, "hosts: without namespaces they cannot be distinguished")
	}
	if len(missing) > 0 && !s.o.Weaker {
		return o, nil, fmt.Errorf("%w: %s (%w)", ErrUnconfined, strings.Join(missing, "; "), why)
	}
	if len(missing) > 0 && s.o.Unconfined != nil {
		s.o.Unconfined(missing)
	}
	temporary, remove, err := temporaryFolder()
	if err != nil {
		return o, nil, err
	}
	o.Bare, o.Offline = true, len(s.profile.Hosts) == 0
	for i, pair := range o.Env {
		if strings.HasPrefix(pair, "TMPDIR=") {
			o.Env[i] = "TMPDIR=" + temporary
		}
	}
	o.Places = append(o.Places, place{Path: temporary, Kind: writable})
	return o, remove, nil
}

// landlockRevision returns the kernel's revision of Landlock, or 0 without Landlock.
func landlockRevision() int {
	abi, err := llsys.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return abi
}

// confineBare confines this process without namespaces. It returns the step that failed.
func (o *order) confineBare(channel) (step string, err error) {
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		o.Dir = "/"
	}
	// Orphaned children of the program become children of this process, so that they can be ended.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return "subreaper", err
	}
	return o.giveUp(func() error { return restrictCalls(true, o.Offline) })
}

// endChildren kills the remaining processes of the program.
func endChildren() {
	for {
		text, err := os.ReadFile("/proc/thread-self/children")
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			more, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
			text = append(text, more...)
		}
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if _, waited := syscall.Wait4(-1, nil, 0, nil); waited != nil && waited != syscall.EINTR || err != nil {
			return
		}
	}
}

// Available returns the parts of the confinement that work on this system. It tests them, which
// takes some milliseconds.
func Available() State {
	var state State
	s := &Sandbox{}
	o := order{Processes: defaultProcesses, Memory: defaultMemory, Files: defaultFiles, Ports: usualPorts, Dir: "/"}
	o.Places, _ = s.viewOf(nil)
	lacking := probe(o, s.namespaces())
	abi := landlockRevision()
	switch full := lacking["namespaces"]; {
	case full == "":
		for _, part := range []string{partFiles, partNetwork, partHosts, partProcesses} {
			state.set(part, "")
		}
	default:
		files, processes := "", "their names and command lines can be read: "+full
		if abi < leastLandlock {
			files = "there is no Landlock: " + full
		}
		if abi < scopedLandlock {
			processes = "they can be signalled: " + full
		}
		state.set(partFiles, files)
		state.set(partNetwork, "")
		state.set(partHosts, full)
		state.set(partProcesses, processes)
	}
	calls := ""
	if _, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil {
		calls = "the kernel has no seccomp"
	}
	state.set(partCalls, calls)
	memory, number := lacking["memory"], ""
	if memory != "" {
		memory = "the limit is for each process, not for all together: " + memory
	}
	if lacking["pids"] != "" && (lacking["namespaces"] != "" || os.Getuid() == 0) {
		number = lacking["pids"]
	}
	state.set(partMemory, memory)
	state.set(partNumber, number)
	state.set(partCPU, lacking["cpu"])
	return state
}

// probe starts a launcher without a program. It returns the reasons for missing parts, by
// controller or for "namespaces".
func probe(o order, attributes *syscall.SysProcAttr) (lacking map[string]string) {
	g, lacking := newGroup(o, 1)
	g.close(o, func(Refusal) {})
	cmd := &exec.Cmd{}
	ended, err := (&Sandbox{o: Options{Weaker: true}}).launch(cmd, o, attributes)
	if err != nil {
		lacking["namespaces"] = err.Error()
		return lacking
	}
	cmd.Wait()
	ended()
	return lacking
}

// landlockConfig is the newest revision of Landlock that this program knows, reduced to the
// kernel's.
var landlockConfig = landlock.V9.BestEffort()

// restrict gives up access to files outside the places, and to signals and abstract sockets of
// other processes. It applies to this thread and its children.
func (o *order) restrict() error {
	var rules []landlock.Rule
	config := landlockConfig
	switch {
	case !o.Bare:
		config.HandledAccessNet = 0                                            // not needed, because the network namespace has no other hosts
		rules = append(rules, landlock.PathAccess(llsys.AccessFSReadDir, "/")) // only the names of entries, and only those in the view
	default:
		for _, port := range o.Ports {
			rules = append(rules, landlock.ConnectTCP(port))
		}
	}
	for _, p := range o.Places {
		if p.Kind == link || p.Kind == hidden || o.Bare && p.Kind == temporary {
			continue
		}
		info, err := os.Stat(p.Path)
		if err != nil {
			continue // an optional place
		}
		write := p.Kind == writable || p.Kind == temporary || p.Kind == device
		var rule landlock.FSRule
		switch {
		case info.IsDir() && write:
			rule = landlock.RWDirs(p.Path).WithRefer()
		case info.IsDir():
			rule = landlock.RODirs(p.Path)
		case write:
			rule = landlock.RWFiles(p.Path)
		default:
			rule = landlock.ROFiles(p.Path)
		}
		if p.Kind == device {
			rule = rule.WithIoctlDev()
		}
		rules = append(rules, rule)
	}
	fd, flags, err := config.NewRulesetFD(rules...)
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if fd < 0 {
		return nil // the kernel has no Landlock; State reports that
	}
	defer unix.Close(fd)
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), uintptr(flags), 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

// dropCapabilities permanently gives up all capabilities, for this thread and its children.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	for capability := uintptr(0); ; capability++ {
		if has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, capability, 0, 0, 0); err != nil || has < 0 {
			break // the last capability was before this one
		} else if has == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
			if err == unix.EPERM { // without namespaces, an ordinary user has none to drop
				break
			}
			return fmt.Errorf("capability %d: %w", capability, err)
		}
	}
	const noRoot = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<6 | 1<<7 // SECBIT_NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its lock
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0); err != nil && err != unix.EPERM {
		return fmt.Errorf("securebits: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}
