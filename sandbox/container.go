package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
			by = own
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
	for _, name := range p.Env {
		argv = append(argv, "--env="+name)
	}
	if l.dir != "" && under(l.dir, slices.Concat(read, p.Write)) {
		argv = append(argv, "--workdir="+l.dir)
	}
	return slices.Concat(argv, options, []string{image}, command), nil
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
		case "-e", "--env", "-l", "--label", "--name", "--entrypoint", "--platform", "--pull":
			if !joined {
				if i++; i == len(rest) {
					return nil, "", nil, fmt.Errorf("%s has no value", name)
				}
				value = rest[i]
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
