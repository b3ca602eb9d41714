package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/runner"
)

// Default limits for a container. Without a container defaultProcesses, defaultMemory and
// defaultFiles apply.
const (
	defaultContainerProcesses = 256
	defaultContainerMemory    = 1 << 30
	defaultContainerFiles     = 1024
	maxContainerTemporary     = 256 << 20 // bytes of its /tmp, which is part of its memory
)

// container returns a command line of docker or podman that runs a program in a container with the
// permissions of its profile. A program started by "docker run" or "podman run" keeps its image.
// Any other program needs an image with its runtime, such as Node.
func container(l outsourced, by, image string) (argv []string, err error) {
	options := []string{}
	command := l.argv
	if rest, is := afterRun(l.argv); is {
		if options, image, command, err = imageOf(rest); err != nil {
			return nil, err
		}
	} else if image == "" {
		return nil, fmt.Errorf(`a container needs an image that has what %s is made for: "image": "node:22-slim" in its sandbox`, filepath.Base(l.argv[0]))
	}
	if strings.HasPrefix(image, "-") {
		return nil, fmt.Errorf("%q is not an image", image)
	}
	p := l.profile
	argv = []string{by, "run", "--interactive", "--rm", "--init", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
		"--pids-limit=" + strconv.Itoa(cmp.Or(p.Processes, defaultContainerProcesses)),
		"--memory=" + strconv.FormatInt(cmp.Or(p.Memory, defaultContainerMemory), 10),
		"--memory-swap=" + strconv.FormatInt(cmp.Or(p.Memory, defaultContainerMemory), 10),
		"--ulimit=nofile=" + strconv.Itoa(cmp.Or(p.Files, defaultContainerFiles)),
		"--tmpfs=/tmp:rw,nosuid,nodev,size=" + strconv.Itoa(maxContainerTemporary),
	}
	if p.CPU > 0 {
		argv = append(argv, "--cpus="+strconv.FormatFloat(p.CPU, 'f', -1, 64))
	}
	switch {
	case len(p.Hosts) == 0:
		argv = append(argv, "--network=none")
	case !slices.Equal(p.Hosts, []string{"*"}):
		return nil, fmt.Errorf(`a container reaches no host, or with "*" all: %s cannot be allowed by name there; use the sandbox of the system, or allow "*"`, strings.Join(p.Hosts, ", "))
	}
	for _, mount := range []struct {
		paths []string
		mode  string
	}{{p.Read, ",readonly"}, {p.Write, ""}} {
		for _, path := range mount.paths {
			if strings.ContainsAny(path, ",\"\n") || !filepath.IsAbs(path) {
				return nil, fmt.Errorf("a container cannot be given %q: its path is not absolute, or has a comma or a quote in it", path)
			}
			argv = append(argv, "--mount=type=bind,source="+path+",target="+path+mount.mode)
		}
	}
	if l.variables != "" {
		argv = append(argv, "--env-file="+l.variables)
	}
	if l.dir != "" && isWithinAny(l.dir, slices.Concat(p.Read, p.Write)) {
		argv = append(argv, "--workdir="+l.dir)
	}
	return slices.Concat(argv, options, []string{image}, command), nil
}

// startContainer starts the program in a container.
func (s *Sandbox) startContainer(cmd *exec.Cmd) (ended func(), err error) {
	engine, err := exec.LookPath(s.profile.By)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not installed", ErrUnconfined, s.profile.By)
	}
	l := outsourced{argv: append([]string{cmd.Path}, cmd.Args[1:]...), dir: cmd.Dir, profile: s.profile}
	l.profile.Read, l.profile.Write = slices.Clone(s.o.Package), nil
	for _, path := range s.profile.Read {
		l.profile.Read = append(l.profile.Read, s.absolute(path))
	}
	for _, path := range s.profile.Write {
		l.profile.Write = append(l.profile.Write, s.absolute(path))
	}
	if _, is := afterRun(l.argv); !is && !isWithinAny(cmd.Path, slices.Concat(l.profile.Read, l.profile.Write)) {
		l.argv[0] = filepath.Base(cmd.Path) // the image has its own copy of the program
	}
	var given func()
	if l.variables, given, err = s.giveVariables(cmd); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnconfined, err)
	}
	defer func() {
		if err != nil {
			given()
		}
	}()
	argv, err := container(l, engine, s.profile.Image)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnconfined, err)
	}
	var random [8]byte
	rand.Read(random[:])
	name := "junction-" + hex.EncodeToString(random[:])
	cmd.Path, cmd.Args, cmd.Env = engine, slices.Insert(argv, 2, "--name="+name), os.Environ()
	if cmd.Dir != "" && !exists(cmd.Dir) {
		cmd.Dir = ""
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() { // removes the container, which continues if only the engine's client is killed
		defer given()
		ctx, cancel := context.WithTimeout(context.Background(), removeTime)
		defer cancel()
		remove := exec.CommandContext(ctx, engine, "rm", "--force", name)
		remove.Env = cmd.Env
		remove.Run() // fails if the container is gone
	}, nil
}

// removeTime is the maximum time for removing a container.
const removeTime = 10 * time.Second

// afterRun returns the words after "docker run" or "podman run". is reports whether the command
// line begins with one of these.
func afterRun(argv []string) (rest []string, is bool) {
	if len(argv) < 3 || !runner.IsEngine(argv[0]) || argv[1] != "run" {
		return nil, false
	}
	return argv[2:], true
}

// imageOf splits the words after "run" into options, image and command. It keeps only options that
// give the program no rights. It omits options for mounts, ports, networks and limits, because the
// profile replaces them.
func imageOf(rest []string) (options []string, image string, command []string, err error) {
	all, rest, err := runner.Container(rest)
	for _, o := range all {
		switch o.Effect {
		case runner.Made, runner.Bound:
		case runner.Variable:
			if strings.Contains(o.Value, "=") { // without a value docker would use Junction's own variable; the program's variables are passed separately
				options = append(options, o.Words()...)
			}
		case runner.Plain:
			options = append(options, o.Words()...)
		default:
			if err != nil && !errors.Is(err, runner.ErrNoImage) {
				return nil, "", nil, err
			}
			return nil, "", nil, fmt.Errorf("%s is an option of the container that its sandbox does not know; remove the option, and allow folders and hosts in the sandbox", o.Typed)
		}
	}
	if err != nil {
		return nil, "", nil, err
	}
	if len(rest) == 0 {
		return nil, "", nil, runner.ErrNoImage
	}
	return options, rest[0], rest[1:], nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// containerVariables returns the variables for a program in a container, in the file format of
// docker and podman. They must not be in the environment of the engine's client, which is not
// confined: LD_PRELOAD or DOCKER_HOST would control it.
func containerVariables(environ, named []string) (string, error) {
	values := map[string]string{}
	var names []string
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		isNamed := slices.Contains(named, name)
		if !isNamed && (slices.Contains(harmless, name) || strings.HasPrefix(name, "LC_") || name == "PWD") {
			continue // the image has its own value
		}
		switch {
		case !variableName.MatchString(name):
			return "", fmt.Errorf("the variable %q cannot be given to a container", name)
		case strings.ContainsAny(value, "\n\r\x00"):
			return "", fmt.Errorf("the variable %s has several lines, which cannot be given to a container", name)
		}
		if _, known := values[name]; !known {
			names = append(names, name)
		}
		values[name] = value // the last one counts, as in any environment
	}
	var text strings.Builder
	for _, name := range names {
		text.WriteString(name + "=" + values[name] + "\n")
	}
	return text.String(), nil
}

// leftVariables is the prefix of the variable files of older versions. They are removed, because
// files that killed processes left behind would keep secrets forever.
const leftVariables = "junction-variables-"

// giveVariables returns the path of a file from which the engine's client reads the variables of a
// container. Only this user can open it, whereas all users can read a command line. ended removes
// the file if it still exists.
func (s *Sandbox) giveVariables(cmd *exec.Cmd) (path string, ended func(), err error) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), leftVariables+"*"))
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			_ = os.Remove(path) // fails if the file belongs to another user
		}
	}
	text, err := containerVariables(cmd.Environ(), s.profile.Env)
	if err != nil || text == "" {
		return "", func() {}, err
	}
	return handOver(text)
}

// outsourced is a program that another program starts and confines: sandbox-exec on macOS, or a
// container engine.
type outsourced struct {
	argv      []string // the path of the program is absolute, except in a container
	dir       string   // working directory
	links     []string // links on the paths that the program reads and writes
	temp      string   // the program's own temporary folder, which exists
	proxy     string   // address of the proxy, 127.0.0.1:PORT; empty if the profile has no hosts
	variables string   // path of the file with a container's variables, or empty
	profile   Profile  // Read includes the folders of the program
}
