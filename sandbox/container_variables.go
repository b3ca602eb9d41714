package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// containerVariables are those that a program in a container is meant to have, as docker and podman read them from a file. The engine's client
// must not have them itself: it is not confined, and LD_PRELOAD or DOCKER_HOST among them would decide what it does.
func containerVariables(environ, named []string) (string, error) {
	values := map[string]string{}
	var names []string
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		isNamed := slices.Contains(named, name)
		if !isNamed && (slices.Contains(harmless, name) || strings.HasPrefix(name, "LC_") || name == "PWD") {
			continue // the image has its own
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
		values[name] = value // the last one counts, as for any program
	}
	var text strings.Builder
	for _, name := range names {
		text.WriteString(name + "=" + values[name] + "\n")
	}
	return text.String(), nil
}

// variablesFile writes the variables of a container where only the person can read them, and not onto its command line, which all can.
func (s *Sandbox) variablesFile(cmd *exec.Cmd) (path string, err error) {
	text, err := containerVariables(cmd.Environ(), s.profile.Env)
	if err != nil || text == "" {
		return "", err
	}
	f, err := os.CreateTemp("", "junction-variables-") // of mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
