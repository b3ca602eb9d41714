package wire

import (
	"crypto/sha256"

	"github.com/junction-mcp/junction/model"
)

// maxRefused is how many refused tools and pictures are remembered.
const maxRefused = 256

// remember notes why something is refused, for good.
func (l *Learned) remember(what [sha256.Size]byte, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == nil || len(l.refused) >= maxRefused {
		l.refused = map[[sha256.Size]byte]string{}
	}
	l.refused[what] = why
}

// without sets aside the tools that are known to be refused.
func (l *Learned) without(tools []model.Tool) (taken []model.Tool, notes []model.Note) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range tools {
		if why, refused := l.refused[fingerprint(&tools[i])]; refused {
			notes = append(notes, model.Note{Tool: tools[i].Name, SetAside: true, Text: why})
			continue
		}
		taken = append(taken, tools[i])
	}
	return taken, notes
}

// refuse sets tools aside for good, by their positions, and returns the others.
func (l *Learned) refuse(bad []int, tools []model.Tool, complaint string) ([]model.Tool, []model.Note) {
	for _, i := range bad {
		l.remember(fingerprint(&tools[i]), "the provider does not take it: "+complaint)
	}
	return l.without(tools)
}

func fingerprint(t *model.Tool) [sha256.Size]byte {
	return sha256.Sum256([]byte(t.Name + "\x00" + t.Description + "\x00" + string(t.Schema)))
}
