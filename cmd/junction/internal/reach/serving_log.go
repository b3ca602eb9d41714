package reach

import (
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

// MaxLineKinds limits the kinds of lines that are counted apart.
const MaxLineKinds = 16

// ServerLog returns a logger for servers of net/http. Anyone who reaches the port can cause its
// lines, so it logs one line of a kind in each [RefusalInterval], with a count.
func ServerLog(a *cli.App) *log.Logger {
	return log.New(&LineCounter{Log: a.Logger(), Now: time.Now, Kinds: map[string]*LineCount{}}, "", 0)
}

// LineCounter is an [io.Writer] that counts lines of one kind and logs them together. It is safe
// for concurrent use.
type LineCounter struct {
	Log *slog.Logger
	Now func() time.Time

	mu    sync.Mutex
	Kinds map[string]*LineCount
}

// LineCount is the counter of one kind of line.
type LineCount struct {
	at     time.Time
	unsaid int // lines since the last logged one
}

// Write implements [io.Writer]. line is one whole line.
func (s *LineCounter) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	kind, _, _ := strings.Cut(text, " from ") // the address follows
	kind, _, _ = strings.Cut(kind, "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Kinds[kind] == nil && len(s.Kinds) >= MaxLineKinds {
		kind = ""
	}
	k := s.Kinds[kind]
	if k == nil {
		k = new(LineCount)
		s.Kinds[kind] = k
	}
	k.unsaid++
	if now := s.Now(); now.Sub(k.at) >= RefusalInterval {
		s.Log.Warn(text, "times", k.unsaid)
		k.at, k.unsaid = now, 0
	}
	return len(line), nil
}
