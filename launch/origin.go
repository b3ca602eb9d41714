package launch

import (
	"path/filepath"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/filename"
)

// Origin returns what is started or called for a server, with the hash of its definition, by which it is known again.
func Origin(d *config.Definition, hash string) []string {
	words := append([]string{d.String()}, d.Around()...)
	if hash != "" {
		words = append(words, "(hash "+hash+")")
	}
	if d.Project {
		words = append(words, "(in "+filepath.Dir(filename.Real(d.Source))+")")
	}
	return words
}
