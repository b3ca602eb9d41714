package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/spf13/cobra"
)

// otherWords are what other programs call a command.
var otherWords = map[string]string{
	"servers": "list", "show": "list", "tool": "tools",
	"run": "call", "exec": "call", "invoke": "call",
	"cat": "read", "resource": "resources", "template": "templates", "skill": "skills",
	"start": "up", "gateway": "up", "daemon": "up", "bridge": "proxy", "record": "proxy --record FILE", "play": "replay",
	"ask": "chat", "agent": "chat", "repl": "chat", "describe": "tools", "ps": "status", "top": "status", "health": "ping",
}

// unknownCommand says which command was meant.
func unknownCommand(root *cobra.Command, word string) error {
	if slices.Contains([]string{"config", "configure", "settings", "init"}, word) {
		return usagef("unknown command %q; servers are defined in configuration files: %s list shows which files are read", word, root.Name())
	}
	meant := otherWords[word]
	if meant == "" {
		var names []string
		for _, c := range root.Commands() {
			names = append(names, c.Name())
		}
		meant = nearest.Name(word, names)
	}
	if meant == "" && slices.Contains(shippedNames(), word) {
		meant = "tools " + word
	}
	if meant == "" {
		return usagef("unknown command %q; %s --help lists them", word, root.Name())
	}
	return usagef("unknown command %q; did you mean %q? %s --help lists all commands", word, meant, root.Name())
}

// An unlistedError is an error about a name that a server, or the stored conversations, do not list.
type unlistedError struct {
	text string
	err  error
}

func (e *unlistedError) Error() string { return e.text }
func (e *unlistedError) Unwrap() error { return e.err }

// unlisted is err, or if the server lists no such name, that and which one was meant. A
// server that names what it does not know may know better what was meant.
func unlisted(what, name string, names []string, err error) error {
	if slices.Contains(names, name) {
		return err
	}
	near := nearest.Name(name, names)
	switch {
	case near != "":
		return &unlistedError{fmt.Sprintf("the server lists no %s %q; did you mean %q?", what, name, near), err}
	case strings.Contains(err.Error(), name):
		return err
	}
	return &unlistedError{fmt.Sprintf("the server lists no %s %q; junction %ss lists those that it has", what, name, what), err}
}
