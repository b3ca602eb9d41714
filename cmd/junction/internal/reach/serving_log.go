package reach

import (
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

// MaxLineKinds is how many kinds of lines of servers of net/http are counted apart.
const MaxLineKinds = 16

// ServerLog is for what servers of net/http say of connections, such as that no TLS came. Whoever reaches the port can make them say
// it: lines of one kind are counted, and one of them is said in an interval.
func ServerLog(a *cli.App) *log.Logger {
	return log.New(&ServerLines{Log: a.Logger(), Now: time.Now, Kinds: map[string]*SaidLines{}}, "", 0)
}

// ServerLines fold lines of one kind.
type ServerLines struct {
	Log *slog.Logger
	Now func() time.Time

	mu    sync.Mutex
	Kinds map[string]*SaidLines
}

type SaidLines struct {
	at     time.Time
	unsaid int // since the last line
}

// Write implements [io.Writer]; it gets one line.
func (s *ServerLines) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	kind, _, _ := strings.Cut(text, " from ") // what follows is the address
	kind, _, _ = strings.Cut(kind, "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Kinds[kind] == nil && len(s.Kinds) >= MaxLineKinds {
		kind = ""
	}
	k := s.Kinds[kind]
	if k == nil {
		k = new(SaidLines)
		s.Kinds[kind] = k
	}
	k.unsaid++
	if now := s.Now(); now.Sub(k.at) >= RefusedPause {
		s.Log.Warn(text, "times", k.unsaid)
		k.at, k.unsaid = now, 0
	}
	return len(line), nil
}
