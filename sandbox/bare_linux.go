package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// leastLandlock is the first revision of Landlock by which files can be confined: before it, any could be truncated.
const leastLandlock = 3

// scopedLandlock is the first revision that keeps signals in.
const scopedLandlock = 6

// bare turns an order into one without namespaces, for a system that permits none: Landlock, the filter of system calls and the
// limits of processes remain. The error says what the profile asks for that they cannot do. remove removes the program's
// folder in place of /tmp.
func (s *Sandbox) bare(o order, why error) (_ order, remove func(), err error) {
	if s.o.Record != nil { // keys could not be hidden
		return o, nil, fmt.Errorf("%w: nothing can be learned from a program without namespaces (%w)", ErrUnconfined, why)
	}
	var missing []string
	if abi := landlockRevision(); abi < leastLandlock {
		missing = append(missing, "files: the system has no Landlock, or an old one")
	}
	if len(s.profile.Hosts) > 0 {
		missing = append(missing, "hosts: without namespaces there is no telling them apart")
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

// landlockRevision is what the kernel has; 0 is none.
func landlockRevision() int {
	abi, err := llsys.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return abi
}

// confineBare gives up what can be without namespaces. It returns the step that failed.
func (o *order) confineBare(channel) (step string, err error) {
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		o.Dir = "/"
	}
	// What the program leaves behind comes to this process, and ends with it.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return "subreaper", err
	}
	return o.giveUp(func() error { return restrictCalls(true, o.Offline) })
}

// endChildren kills what the program left behind.
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

// Available says what is confined on this system. It tries, which takes some milliseconds.
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
		memory = "that of each process is limited, not that of all together: " + memory
	}
	if lacking["pids"] != "" && (lacking["namespaces"] != "" || os.Getuid() == 0) {
		number = lacking["pids"]
	}
	state.set(partMemory, memory)
	state.set(partNumber, number)
	state.set(partCPU, lacking["cpu"])
	return state
}

// probe starts a launcher that starts nothing, and says what is lacking, by controller, or of namespaces.
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
