package wire

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/model"
)

// maxRefused is how many refused tools are remembered, and how many pictures.
const maxRefused = 256

// refused remembers the tools and pictures that a provider turned out not to take. The
// zero value knows none. It may be used from many goroutines.
type refused struct {
	mu       sync.Mutex
	tools    map[[sha256.Size]byte]string // by all that was sent of them, and why
	pictures map[[sha256.Size]byte]bool   // by their data
}

// without sets aside the tools that are known to be refused.
func (r *refused) without(tools []model.Tool) ([]model.Tool, []model.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tools) == 0 {
		return tools, nil
	}
	var taken []model.Tool
	var notes []model.Note
	for i := range tools {
		if why, refused := r.tools[fingerprint(&tools[i])]; refused {
			notes = append(notes, model.Note{Tool: tools[i].Name, SetAside: true, Text: why})
			continue
		}
		taken = append(taken, tools[i])
	}
	return taken, notes
}

// refuse sets tools aside for good, by their positions, and returns the others.
func (r *refused) refuse(bad []int, tools []model.Tool, complaint string) ([]model.Tool, []model.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tools == nil || len(r.tools) >= maxRefused {
		r.tools = map[[sha256.Size]byte]string{}
	}
	why := "the provider does not take it: " + complaint
	var taken []model.Tool
	var notes []model.Note
	for i := range tools {
		if !slices.Contains(bad, i) {
			taken = append(taken, tools[i])
			continue
		}
		r.tools[fingerprint(&tools[i])] = why
		notes = append(notes, model.Note{Tool: tools[i].Name, SetAside: true, Text: why})
	}
	return taken, notes
}

func fingerprint(t *model.Tool) [sha256.Size]byte {
	return sha256.Sum256([]byte(t.Name + "\x00" + t.Description + "\x00" + string(t.Schema)))
}
