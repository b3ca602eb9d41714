package cli

import (
	"slices"

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

// UnknownCommand says which command was meant.
func UnknownCommand(root *cobra.Command, word string) error {
	if slices.Contains([]string{"config", "configure", "settings", "init"}, word) {
		return Usagef("unknown command %q; servers are defined in configuration files: %s list shows which files are read", word, root.Name())
	}
	meant := otherWords[word]
	if meant == "" {
		var names []string
		for _, c := range root.Commands() {
			names = append(names, c.Name())
		}
		meant = nearest.Name(word, names)
	}
	if meant == "" && slices.Contains(ShippedNames(), word) {
		meant = "tools " + word
	}
	if meant == "" {
		return Usagef("unknown command %q; %s --help lists them", word, root.Name())
	}
	return Usagef("unknown command %q; did you mean %q? %s --help lists all commands", word, meant, root.Name())
}
