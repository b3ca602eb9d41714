package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A group is a control group of the kernel. It limits all processes of a sandbox together.
type group struct {
	folders map[string]string // by controller: memory, pids or cpu
	unified bool              // version 2, with one folder for all controllers
}

// groupName is the prefix of control groups' names. The id of this process and a number follow.
const groupName = "junction-sandbox-"

// newGroup makes a group with the limits, if this process may do so: it must be root, or systemd
// must have delegated groups to it. lacking has the reason for each missing controller.
func newGroup(o order, cpu float64) (g *group, lacking map[string]string) {
	g, lacking = &group{folders: map[string]string{}}, map[string]string{}
	g.makeUnified()
	for _, controller := range []string{"memory", "pids", "cpu"} {
		if controller == "cpu" && cpu == 0 {
			continue // without a limit, a group would only change the program's share of the CPU
		}
		var err error
		if !g.unified {
			err = g.makeVersion1(controller)
		}
		if err == nil {
			err = g.limit(controller, o, cpu)
		}
		if err != nil {
			lacking[controller] = fmt.Sprintf("no control group for %s: %v", controller, err)
			if dir := g.folders[controller]; !g.unified && dir != "" {
				unix.Rmdir(dir)
			}
			delete(g.folders, controller)
		}
	}
	return g, lacking
}

// groupMounts returns the folders in which control groups are mounted: that of version 2 under "",
// and those of version 1 by controller.
func groupMounts() map[string]string {
	found := map[string]string{}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return found
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(rest) < 3 {
			continue
		}
		switch rest[0] {
		case "cgroup2":
			found[""] = fields[4]
		case "cgroup":
			for _, controller := range strings.Split(rest[2], ",") {
				found[controller] = fields[4]
			}
		}
	}
	return found
}

// ownGroups returns the paths of this process's groups, with the keys of groupMounts.
func ownGroups() map[string]string {
	found := map[string]string{}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return found
	}
	for line := range strings.Lines(string(text)) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			for _, controller := range strings.Split(parts[1], ",") {
				found[controller] = parts[2]
			}
		}
	}
	return found
}

// makeUnified makes a group of version 2 below the group of this process or, if that is not
// possible, next to it.
func (g *group) makeUnified() {
	mount, path := groupMounts()[""], ownGroups()[""]
	if mount == "" || path == "" {
		return
	}
	for _, parent := range []string{filepath.Join(mount, path), filepath.Join(mount, filepath.Dir(path))} {
		if !isWithin(parent, mount) {
			continue
		}
		// This fails if the group has processes. The loop then tries its parent.
		os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+memory +pids +cpu"), 0)
		has, err := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control"))
		if err != nil || !strings.Contains(string(has), "pids") && !strings.Contains(string(has), "memory") {
			continue
		}
		dir, err := makeGroup(parent)
		if err != nil {
			continue
		}
		g.unified = true
		for _, controller := range []string{"memory", "pids", "cpu"} {
			if slices.Contains(strings.Fields(string(has)), controller) {
				g.folders[controller] = dir
			}
		}
		return
	}
}

// makeVersion1 makes a group of version 1, for one controller.
func (g *group) makeVersion1(controller string) error {
	mount := groupMounts()[controller]
	if mount == "" {
		return errors.New("there is none")
	}
	parent := filepath.Join(mount, ownGroups()[controller])
	if !exists(parent) { // in a container, the path may not exist
		parent = mount
	}
	dir, err := makeGroup(parent)
	if err != nil {
		return cause(err)
	}
	g.folders[controller] = dir
	return nil
}

// makeGroup makes a group, and removes the groups of ended processes.
func makeGroup(parent string) (string, error) {
	old, _ := filepath.Glob(filepath.Join(parent, groupName+"*"))
	for _, dir := range old {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupName), "-")
		if pid, err := strconv.Atoi(owner); err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			unix.Rmdir(dir) // fails if the group has processes
		}
	}
	return os.MkdirTemp(parent, fmt.Sprintf("%s%d-*", groupName, os.Getpid()))
}

// limit sets the limit of a controller.
func (g *group) limit(controller string, o order, cpu float64) error {
	const period = 100_000 // microseconds
	dir := g.folders[controller]
	if dir == "" {
		return errors.New("it is not delegated to this group")
	}
	set := func(name, value string) error {
		return cause(os.WriteFile(filepath.Join(dir, name), []byte(value), 0))
	}
	switch {
	case controller == "pids":
		return set("pids.max", fmt.Sprint(o.Processes))
	case controller == "memory" && g.unified:
		set("memory.swap.max", "0") // missing without swap
		set("memory.oom.group", "1")
		return set("memory.max", fmt.Sprint(o.Memory))
	case controller == "memory":
		err := set("memory.limit_in_bytes", fmt.Sprint(o.Memory))
		set("memory.memsw.limit_in_bytes", fmt.Sprint(o.Memory)) // missing without swap
		return err
	case g.unified:
		return set("cpu.max", fmt.Sprintf("%d %d", int(cpu*period), period))
	}
	if err := set("cpu.cfs_period_us", fmt.Sprint(period)); err != nil {
		return err
	}
	return set("cpu.cfs_quota_us", fmt.Sprint(int(cpu*period)))
}

// add moves a process into the group. Children that the process starts later are in the group too.
func (g *group) add(pid int) error {
	for controller, dir := range g.folders {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("control group for %s: %w", controller, cause(err))
		}
	}
	return nil
}

// groupTime is the time that processes of an ended sandbox have for leaving the group.
const groupTime = time.Second

// close reports the limits that were reached, and removes the group. It must be called after all
// processes of the program have ended.
func (g *group) close(o order, refuse func(Refusal)) {
	if g.count("memory", "memory.events", "oom_kill") > 0 || g.count("memory", "memory.oom_control", "oom_kill") > 0 {
		refuse(Refusal{What: fmt.Sprintf("use more than %d MiB of memory", o.Memory>>20), Reason: "its profile says so, and the system ended it", Allow: []string{"--memory", fmt.Sprintf("%dMB", 2*o.Memory/1e6)}})
	}
	if g.count("pids", "pids.events", "max") > 0 {
		refuse(Refusal{What: fmt.Sprintf("have more than %d processes and threads", o.Processes), Reason: "its profile says so", Allow: []string{"--processes", fmt.Sprint(2 * o.Processes)}})
	}
	deadline := time.Now().Add(groupTime)
	for _, dir := range g.folders {
		for unix.Rmdir(dir) == unix.EBUSY && time.Now().Before(deadline) {
			endGroup(dir)
			time.Sleep(time.Millisecond)
		}
	}
}

// endGroup kills the remaining processes of a group. Without namespaces there can be some if the
// launcher was killed before it reaped them.
func endGroup(dir string) {
	if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	members, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // older than Linux 5.14, or version 1
	for _, word := range strings.Fields(string(members)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 1 { // 0 would mean this process's own process group
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// count returns the number in a line "name number" of a file of the group, or 0.
func (g *group) count(controller, file, name string) int {
	text, _ := os.ReadFile(filepath.Join(g.folders[controller], file))
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+" "); found {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return 0
}

// cause returns the system error inside err, without operation and path.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}
