package mcp

import (
	"errors"
	"fmt"
	"strings"
)

// maxNameLength is the longest name of a tool or prompt, in bytes; maxToolName
// is the longest that a tool should have (server/tools).
const (
	maxNameLength = 256
	maxToolName   = 128
)

// A registration is one of the two ways to register a feature. Add… is for what
// a program knows when it is written: it panics at a mistake and when the name
// is taken, as http.Handle does. Set… is for what comes from data: it replaces
// and returns an error.
type registration int

const (
	adding registration = iota
	setting
)

// must panics at a mistake of the program.
func must(err error) {
	if err != nil {
		panic("mcp: " + err.Error())
	}
}

// taken is the error of Add… where the name is in use.
func taken(kind, name, set string) error {
	return fmt.Errorf("%s %q is registered already: choose another name, or replace it with %s", kind, name, set)
}

// checkName says what is wrong with the name of a tool or prompt.
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

// checkToolName holds a name that the programmer chose against what the
// specification recommends, as some hosts and models refuse anything else.
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
