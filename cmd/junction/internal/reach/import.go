package reach

import (
	"path/filepath"

	"github.com/junction-mcp/junction/internal/place"
)

// IsWithin reports whether the folder worked in is this one, or in it.
func IsWithin(p place.Place, folder string) bool {
	here, err := p.Getwd()
	if err != nil {
		return false
	}
	rest, err := filepath.Rel(p.Real(folder), p.Real(here))
	return err == nil && filepath.IsLocal(rest)
}
