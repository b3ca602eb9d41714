package cli

import (
	"github.com/junction-mcp/junction/internal/terminal"
)

const (
	MaxRenamed = 2   // changed names of a server that are shown at a time
	MaxReason  = 300 // letters of why a server failed
)

// notWrapped is the width of lines that a program reads, or a file keeps.
const notWrapped = 1 << 16

// LineWidth is how wide a line may be: on a terminal that of the screen.
func LineWidth(s *terminal.Screen) int {
	if s.Terminal() {
		return s.Width()
	}
	return notWrapped
}
