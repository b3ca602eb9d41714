//go:build linux || darwin

package sandbox

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A seatbeltOrder tells the launcher what to start. It is sent through a pipe. The launcher is not
// confined, so variables of the program must not influence it, and all users could read its command
// line.
type seatbeltOrder struct {
	Argv, Env []string
	Dir       string
	Files     uint64
}

// startSeatbelt starts cmd with tool, the sandbox-exec of macOS.
func (s *Sandbox) startSeatbelt(cmd *exec.Cmd, tool string) (ended func(), err error) {
	if err := s.checkSeatbelt(tool); err != nil {
		return nil, err
	}
	path, dir, folders, _, err := s.programPlaces(cmd)
	if err != nil {
		return nil, err
	}
	temporary, remove, err := temporaryFolder()
	if err != nil {
		return nil, err
	}
	refuse, endRefusals := s.refusals()
	var way *proxy
	end := func() {
		if way != nil {
			way.close()
		}
		remove()
		endRefusals()
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	l := outsourced{argv: append([]string{path}, cmd.Args[min(1, len(cmd.Args)):]...), temp: temporary}
	if l.temp, err = filepath.EvalSymlinks(temporary); err != nil { // rules are matched against real paths
		return nil, err
	}
	if l.profile.Read, l.profile.Write, l.links, err = s.seatbeltPaths(folders); err != nil {
		return nil, err
	}
	if len(s.profile.Hosts) > 0 {
		if way, err = serveProxy(s.newReach(refuse)); err != nil {
			return nil, fmt.Errorf("proxy of the sandbox: %w", err)
		}
		l.proxy = way.address
	}
	argv, env, err := seatbelt(l)
	if err != nil {
		return nil, err
	}
	argv[0] = tool
	if real, err := filepath.EvalSymlinks(dir); err != nil || !isWithinAny(real, slices.Concat(l.profile.Read, l.profile.Write)) {
		dir = l.temp
	}
	o := seatbeltOrder{Argv: argv, Env: replaced(cmd.Environ(), env), Dir: dir, Files: uint64(cmp.Or(s.profile.Files, defaultFiles))}
	if err := o.launch(cmd); err != nil {
		return nil, err
	}
	return end, nil
}

// checkSeatbelt returns an error if the profile has parts that macOS cannot enforce.
func (s *Sandbox) checkSeatbelt(tool string) error {
	if s.o.Record != nil {
		return fmt.Errorf("%w: nothing can be learned from a program on macOS", ErrUnconfined)
	}
	if !exists(tool) {
		return fmt.Errorf("%w: %s is missing", ErrUnconfined, tool)
	}
	var missing []string
	for what, is := range map[string]bool{partMemory: s.profile.Memory > 0, partNumber: s.profile.Processes > 0, partCPU: s.profile.CPU > 0} {
		if is {
			missing = append(missing, what)
		}
	}
	slices.Sort(missing)
	switch {
	case len(missing) == 0:
	case !s.o.Weaker:
		return fmt.Errorf("%w: macOS does not limit %s", ErrUnconfined, strings.Join(missing, ", "))
	case s.o.Unconfined != nil:
		s.o.Unconfined(missing)
	}
	return nil
}

// seatbeltPaths returns the paths that the program may read and write, each by its name and its
// real path, and the links on them. It does not follow links that the program could have made.
func (s *Sandbox) seatbeltPaths(folders []string) (read, write, links []string, err error) {
	paths, written := s.writtenPaths()
	for _, path := range paths {
		if err := makeWritten(path); err != nil {
			return nil, nil, nil, fmt.Errorf("write: %w", err)
		}
		on, real := follow(path)
		write, links = append(write, path, real), append(links, on...)
	}
	read = slices.Clone(folders)
	for _, path := range s.profile.Read {
		read = append(read, s.absolute(path))
	}
	for _, path := range slices.Clone(read) {
		on, real := follow(path)
		if slices.ContainsFunc(on, func(hop string) bool { return isWithinAny(hop, written) }) {
			read = slices.DeleteFunc(read, func(p string) bool { return p == path })
			continue
		}
		read, links = append(read, real), append(links, on...)
	}
	slices.Sort(read)
	slices.Sort(write)
	return slices.Compact(read), slices.Compact(write), links, nil
}

// replaced returns an environment with some variables replaced or added.
func replaced(environ, with []string) []string {
	names := map[string]bool{}
	for _, pair := range with {
		name, _, _ := strings.Cut(pair, "=")
		names[name] = true
	}
	kept := slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return names[name]
	})
	return append(kept, with...)
}

// launch starts the launcher as cmd and sends it the order.
func (o seatbeltOrder) launch(cmd *exec.Cmd) error {
	var data bytes.Buffer // not JSON, because arguments and variables need not be UTF-8
	if err := gob.NewEncoder(&data).Encode(o); err != nil {
		return err
	}
	if data.Len() > maxOrder {
		return fmt.Errorf("arguments and environment have more than %d bytes", maxOrder)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	cmd.Path, cmd.Args, cmd.Env, cmd.Dir, cmd.ExtraFiles = self, []string{seatbeltLauncher}, []string{launcherEnv}, "/", []*os.File{r}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a new session is a process group and has no terminal
	err = cmd.Start()
	r.Close()
	if err != nil {
		return err
	}
	w.SetWriteDeadline(time.Now().Add(launchTime))
	if _, err := w.Write(data.Bytes()); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return fmt.Errorf("the launcher does not listen: %w", err)
	}
	return nil
}

// seatbeltLauncher is the name of the process that limits itself and then becomes sandbox-exec.
const seatbeltLauncher = "junction-seatbelt"

// launchSeatbelt executes an order.
func launchSeatbelt() error {
	const pipe = 3
	var o seatbeltOrder
	if err := gob.NewDecoder(io.LimitReader(os.NewFile(pipe, "order"), maxOrder+1)).Decode(&o); err != nil {
		return err
	}
	if len(o.Argv) == 0 {
		return errors.New("there is no program")
	}
	// The program inherits no files of this process.
	for fd := pipe; fd < 1<<16; fd++ {
		unix.CloseOnExec(fd)
	}
	for resource, most := range map[int]uint64{unix.RLIMIT_NOFILE: o.Files, unix.RLIMIT_FSIZE: maxFile, unix.RLIMIT_CORE: 0} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(resource, &now); err != nil {
			return err
		}
		most = min(most, now.Max)
		// Package syscall's version also keeps the Go runtime from restoring its own limit of open
		// files.
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	if err := os.Chdir(o.Dir); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", o.Argv[0], syscall.Exec(o.Argv[0], o.Argv, o.Env))
}
