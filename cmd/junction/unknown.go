package main

import (
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/spf13/cobra"
)

// otherWords are what other programs call a command.
var otherWords = map[string]string{
	"servers": "list", "show": "list", "tool": "tools",
	"run": "call", "exec": "call", "invoke": "call",
	"get": "read", "cat": "read", "resource": "resources", "template": "templates",
	"start": "up", "gateway": "up", "daemon": "up", "connect": "proxy", "bridge": "proxy",
	"ask": "chat", "agent": "chat", "repl": "chat", "inspect": "tools", "describe": "tools",
	"ps": "status", "top": "status", "health": "ping", "test": "ping",
}

// configWords are commands that would change a configuration.
var configWords = map[string]bool{"config": true, "configure": true, "settings": true, "add": true, "install": true, "remove": true, "init": true}

// unknownCommand says which command was meant.
func unknownCommand(root *cobra.Command, word string) error {
	if configWords[word] {
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
	if meant == "" {
		for _, name := range shippedNames() {
			if word == name {
				meant = "tools " + name
			}
		}
	}
	if meant == "" {
		return usagef("unknown command %q; %s --help lists them", word, root.Name())
	}
	return usagef("unknown command %q; did you mean %q? %s --help lists all commands", word, meant, root.Name())
}
