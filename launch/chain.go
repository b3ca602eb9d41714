package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/filename"
)

const (
	// chainVariable is in the environment of every program that junction starts as a
	// server. It holds the marks of the gateways and entries that the program was
	// started through, the outermost first.
	chainVariable = "JUNCTION_CHAIN"
	// maxChain is how many marks there may be. Each gateway adds two.
	maxChain = 16
)

// Chain returns the marks of what this process was started through.
func (l *Launcher) Chain() []string {
	return strings.FieldsFunc(l.Place.Getenv(chainVariable), func(r rune) bool { return r == ',' })
}

// chained is the variable for a program that is started for an entry, which is
// nil for a program that the command line names.
func (l *Launcher) chained(d *config.Definition) (variable string, err error) {
	marks := l.Chain()
	if len(marks) >= maxChain {
		return "", fmt.Errorf("%d gateways start each other; see which of their configurations starts another junction", maxChain/2)
	}
	if l.Gateway != "" {
		marks = append(marks, l.Gateway)
	}
	if d != nil {
		marks = append(marks, EntryMark(d))
	}
	return chainVariable + "=" + strings.Join(marks, ","), nil
}

// mark is a short hash.
func mark(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// GatewayMark returns the mark of a gateway of the servers with these names, or of all, of the files of a configuration.
func GatewayMark(set *config.Set, names []string) string {
	words := []string{"gateway"}
	for _, f := range set.Files {
		words = append(words, "file "+filename.Real(f.Path))
	}
	for _, name := range names {
		words = append(words, "name "+name)
	}
	slices.Sort(words[1:])
	return mark(words...)
}

// EntryMark returns the mark of an entry.
func EntryMark(d *config.Definition) string {
	return mark("entry", filename.Real(d.Source), d.Name)
}
