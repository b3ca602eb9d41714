package main

import (
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

// maxLineKinds is how many kinds of lines of servers of net/http are counted apart.
const maxLineKinds = 16

// serverLog is for what servers of net/http say of connections, such as that no TLS came. Whoever reaches the port can make them say
// it: lines of one kind are counted, and one of them is said in an interval.
func serverLog(a *cli.App) *log.Logger {
	return log.New(&serverLines{log: a.Logger(), now: time.Now, kinds: map[string]*saidLines{}}, "", 0)
}

// serverLines fold lines of one kind.
type serverLines struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	kinds map[string]*saidLines
}

type saidLines struct {
	at     time.Time
	unsaid int // since the last line
}

// Write implements [io.Writer]; it gets one line.
func (s *serverLines) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	kind, _, _ := strings.Cut(text, " from ") // what follows is the address
	kind, _, _ = strings.Cut(kind, "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds[kind] == nil && len(s.kinds) >= maxLineKinds {
		kind = ""
	}
	k := s.kinds[kind]
	if k == nil {
		k = new(saidLines)
		s.kinds[kind] = k
	}
	k.unsaid++
	if now := s.now(); now.Sub(k.at) >= refusedPause {
		s.log.Warn(text, "times", k.unsaid)
		k.at, k.unsaid = now, 0
	}
	return len(line), nil
}
