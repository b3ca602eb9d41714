package reach

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/policy"
)

// CommandLine is what was typed, with quotes where words could be taken for others in one text.
// Where one of them is a file of this folder, so is the folder: in another one the same words start
// another program.
func CommandLine(p place.Place, typed []string) []string {
	words := slices.Clone(typed)
	here := false
	for i, word := range words {
		if word == "" || word[0] == '(' || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r == '"' }) {
			words[i] = strconv.Quote(word)
		}
		info, err := os.Stat(p.Path(word))
		here = here || !filepath.IsAbs(word) && err == nil && info.Mode().IsRegular()
	}
	if here {
		words = append(words, "(in "+p.Real(".")+")")
	}
	return words
}

// Vouches reports whether the person's names of servers have this one. The name alone
// counts where the person gave it, in a configuration of their own: what a project's file
// calls a server, and what a command line without a name is called, may be any other one.
func Vouches(names []string, server string, command []string, own bool) bool {
	if len(names) == 0 {
		return false
	}
	origin := policy.OriginOf(command)
	if own {
		return policy.Named(names, server, origin)
	}
	var bound []string
	for _, name := range names {
		if strings.TrimSpace(name) != server {
			bound = append(bound, name)
		}
	}
	return policy.Named(bound, server, origin)
}
