package sandbox

import (
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

// Default limits of a container; those of other ways to confine are the system's.
const (
	containerProcesses = 256
	containerMemory    = 1 << 30
	containerFiles     = 1024
	containerTemp      = 256 << 20 // bytes of its /tmp, which are of its memory
)

// container is the command line of docker or podman by which a program runs in a container and may do what its profile says. A
// program that is started by "docker run" or "podman run" keeps its image; all others need one that has what they are made for, such as Node.
func container(l outsourced, by, image string) (argv []string, err error) {
	options := []string{}
	command := l.argv
	if own, rest, is := containerCommand(l.argv); is {
		if options, image, command, err = imageOf(rest); err != nil {
			return nil, err
		}
		if by == "" {
			by = own // that of the command line
		}
	} else if image == "" {
		return nil, fmt.Errorf(`a container needs an image that has what %s is made for: "image": "node:22-slim" in its sandbox`, filepath.Base(l.argv[0]))
	}
	if strings.HasPrefix(image, "-") {
		return nil, fmt.Errorf("%q is no image", image)
	}
	p := l.profile
	argv = []string{by, "run", "--interactive", "--rm", "--init", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
		"--pids-limit=" + strconv.Itoa(or(p.Processes, containerProcesses)),
		"--memory=" + strconv.FormatInt(or(p.Memory, containerMemory), 10),
		"--memory-swap=" + strconv.FormatInt(or(p.Memory, containerMemory), 10),
		"--ulimit=nofile=" + strconv.Itoa(or(p.Files, containerFiles)),
		"--tmpfs=/tmp:rw,nosuid,nodev,size=" + strconv.Itoa(containerTemp),
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
	read := p.Read
	if l.pkg != "" {
		read = append([]string{l.pkg}, read...)
	}
	for _, mount := range []struct {
		paths []string
		mode  string
	}{{read, ",readonly"}, {p.Write, ""}} {
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
	if l.dir != "" && under(l.dir, slices.Concat(read, p.Write)) {
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
	l.profile.Read = append(slices.Clone(s.o.Package), paths(s.profile.Read)...)
	l.profile.Write = paths(s.profile.Write)
	if _, _, is := containerCommand(l.argv); !is && !under(cmd.Path, slices.Concat(l.profile.Read, l.profile.Write)) {
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

// paths are those of a profile with ~ as the home folder.
func paths(list []string) (absolute []string) {
	for _, path := range list {
		if rest, found := strings.CutPrefix(path, "~"); found {
			path = filepath.Join(home(), rest)
		}
		absolute = append(absolute, path)
	}
	return absolute
}

func or[T int | int64](n, otherwise T) T {
	if n == 0 {
		return otherwise
	}
	return n
}

// containerCommand finds "docker run" and "podman run".
func containerCommand(argv []string) (by string, rest []string, is bool) {
	name := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
	if len(argv) < 3 || name != "docker" && name != "podman" || argv[1] != "run" {
		return "", nil, false
	}
	return argv[0], argv[2:], true
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

// under reports whether a path is one of some others or in one.
func under(path string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool {
		return path == other || other == "/" || strings.HasPrefix(path, strings.TrimSuffix(other, "/")+"/")
	})
}
