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
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of a container whose profile names none. Those without a container are defaultProcesses, defaultMemory and defaultFiles.
const (
	defaultContainerProcesses = 256
	defaultContainerMemory    = 1 << 30
	defaultContainerFiles     = 1024
	maxContainerTemporary     = 256 << 20 // bytes of its /tmp, which are of its memory
)

// container is the command line of docker or podman by which a program runs in a container and may do what its profile says. A
// program that is started by "docker run" or "podman run" keeps its image; all others need one that has what they are made for, such as Node.
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
		return nil, fmt.Errorf("%q is no image", image)
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

// startContainer starts the program by a container engine.
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
		l.argv[0] = filepath.Base(cmd.Path) // that of the image
	}
	if l.variables, err = s.variablesFile(cmd); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnconfined, err)
	}
	defer func() {
		if err != nil && l.variables != "" {
			os.Remove(l.variables)
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
	return func() { // an engine's client that is killed leaves its container
		if l.variables != "" {
			defer os.Remove(l.variables)
		}
		ctx, cancel := context.WithTimeout(context.Background(), removeTime)
		defer cancel()
		remove := exec.CommandContext(ctx, engine, "rm", "--force", name)
		remove.Env = cmd.Env
		remove.Run() // which fails where it is gone
	}, nil
}

// removeTime is how long the engine may take to remove a container.
const removeTime = 10 * time.Second

// afterRun is what follows "docker run" or "podman run"; is says whether a command line is that.
func afterRun(argv []string) (rest []string, is bool) {
	name := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
	if len(argv) < 3 || name != "docker" && name != "podman" || argv[1] != "run" {
		return nil, false
	}
	return argv[2:], true
}

// imageOf takes what follows "run" apart. Only options that give the program no rights are kept: those that mount, publish or
// name a network are what the profile is for.
func imageOf(rest []string) (options []string, image string, command []string, err error) {
	for i := 0; i < len(rest); i++ {
		word := rest[i]
		if !strings.HasPrefix(word, "-") {
			return options, word, rest[i+1:], nil
		}
		name, value, joined := strings.Cut(word, "=")
		switch name {
		case "-i", "--interactive", "--rm", "--init", "-t", "--tty", "-it", "-ti": // a terminal would break the messages
			continue
		case "--name": // two of one name could not run
			if !joined {
				i++
			}
		case "-e", "--env", "-l", "--label", "--entrypoint", "--platform", "--pull":
			if !joined {
				if i++; i == len(rest) {
					return nil, "", nil, fmt.Errorf("%s has no value", name)
				}
				value = rest[i]
			}
			if longName(name) == "--env" && !strings.Contains(value, "=") {
				continue // that of the client, which has Junction's variables; what the program is meant to have it gets anyway
			}
			options = append(options, longName(name)+"="+value)
		default:
			return nil, "", nil, fmt.Errorf("%s is an option of the container that its sandbox does not know; take it away, and allow folders and hosts in the sandbox", name)
		}
	}
	return nil, "", nil, errors.New("the container has no image")
}

func longName(option string) string {
	switch option {
	case "-e":
		return "--env"
	case "-l":
		return "--label"
	}
	return option
}
