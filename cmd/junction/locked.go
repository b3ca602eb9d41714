package main

import (
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/spf13/pflag"
)

// frozenFlag has a command start only what is locked.
func (a *app) frozenFlag(f *pflag.FlagSet) {
	f.BoolVar(&a.launch.Frozen, "frozen", false, "start only programs that junction.lock has and that are installed (junction install does that); for CI and teams")
}

// definitionKey is a definition in a lock.
func definitionKey(d guard.Definition) string {
	return strings.TrimSpace(string(d.Kind) + " " + d.Name)
}

// lockedDefinitions are the hashes of definitions that are the same wherever the server is started.
func lockedDefinitions(all []guard.Definition) map[string]string {
	hashes := map[string]string{}
	for _, d := range all {
		if d.Kind != guard.Command {
			hashes[definitionKey(d)] = d.Hash()
		}
	}
	return hashes
}
