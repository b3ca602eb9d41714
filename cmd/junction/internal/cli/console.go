package cli

import (
	"context"
	"sync"

	"github.com/junction-mcp/junction/console"
)

// A sideConsole is the console of a command that does something else.
type sideConsole struct {
	Mu      sync.Mutex
	Console *console.Console // nil: it is not served yet
	Origin  string
	Cancel  context.CancelFunc
	Ended   chan struct{}
	Opening sync.WaitGroup // pages that a browser is to open
}

// Close implements [io.Closer].
func (s *sideConsole) Close() error {
	s.Cancel()
	<-s.Ended
	s.Opening.Wait()
	return nil
}
