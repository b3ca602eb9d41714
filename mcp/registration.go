package mcp

import (
	"errors"
	"fmt"
	"strings"
)

// maxNameLength is the maximum length of the name of a tool or prompt in bytes. maxToolName is the
// recommended maximum for tools (server/tools).
const (
	maxNameLength = 256
	maxToolName   = 128
)

// A registration is one of the two ways to register a feature. Methods named Add… are for
// registrations in the source code. They panic if an argument is invalid or the name is in use,
// like http.Handle. Methods named Set… are for registrations from data. They replace an existing
// feature, and return an error.
type registration int

const (
	adding registration = iota
	setting
)

// must panics if err is not nil, as the program has a mistake.
func must(err error) {
	if err != nil {
		panic("mcp: " + err.Error())
	}
}

// taken returns the error of an Add… method if the name is in use.
func taken(kind, name, set string) error {
	return fmt.Errorf("%s %q is registered already: choose another name, or replace it with %s", kind, name, set)
}

// checkName returns an error if the name of a tool or prompt is not allowed.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case len(name) > maxNameLength:
		return fmt.Errorf("the name has %d bytes: use at most %d", len(name), maxNameLength)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("the name has control characters: remove them")
	}
	return nil
}

// checkToolName checks the name of a tool. A name in the source code must also follow the
// recommendation of the specification, as some hosts and models refuse other names.
func checkToolName(name string, how registration) error {
	if err := checkName(name); err != nil || how == setting {
		return err
	}
	if len(name) > maxToolName {
		return fmt.Errorf("the name has %d bytes: use at most %d", len(name), maxToolName)
	}
	for _, r := range name {
		if !isToolNameRune(r) {
			return fmt.Errorf("the name has the character %q: use letters, digits, '_', '-', '.' and '/' only", r)
		}
	}
	return nil
}

func isToolNameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-./", r)
}
