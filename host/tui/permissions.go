package tui

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// A Permission is a rule, a trust, an approval or a yes that says what may be done.
type Permission struct {
	What  string // in a few words, such as: allow tool "read" of server "files"
	Where string // where it stands, such as: policy.json:12
	// Undo takes it back and says so. The error says why it is not taken back: what is built
	// in, and what stands on the command line, cannot be.
	Undo func(ctx context.Context) (done string, err error)
}

// permissions lists what may be done, or takes one of it back.
func (s *screen) permissions(argument string) {
	word, number, _ := strings.Cut(argument, " ")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case s.ui.options.Permissions == nil:
		s.hint = "permissions cannot be listed here"
	case argument == "":
		fetch(s, func(ctx context.Context) ([]Permission, error) { return s.ui.options.Permissions(ctx, s.session) },
			func(s *screen, all []Permission) { s.permitted, s.panel = all, permissionsPanel() })
	case word != "undo" || err != nil:
		s.hint = "expected /permissions, or /permissions undo NUMBER"
	case n < 1 || n > len(s.permitted):
		s.hint = "there is no number " + strconv.Itoa(n) + " in the list; /permissions shows it"
	default:
		s.change(s.permitted[n-1].Undo)
	}
}

func permissionsPanel() *roster {
	r := &roster{title: "permissions", none: "there are none", keys: []string{"d take back"}}
	r.rows = func(s *screen, width int) (rows [][]ink.Line) {
		for i, p := range s.permitted {
			rows = append(rows, ink.Wrap(ink.Line{ink.T(ink.Muted, strconv.Itoa(i+1)+" "), ink.T(ink.Plain, oneLine(p.What, 2_000)), ink.T(ink.Muted, "  "+oneLine(p.Where, 500))}, width))
		}
		return rows
	}
	var last time.Time
	r.act = func(s *screen, key string, at int) {
		if key != "d" || at >= len(s.permitted) {
			return
		}
		held := s.now().Sub(last) < quietTime // or pressed once too often: the next row is another one
		if last = s.now(); held {
			return
		}
		undo := s.permitted[at].Undo
		s.change(func(ctx context.Context) (string, error) {
			done, err := undo(ctx)
			if all, fault := s.ui.options.Permissions(ctx, s.session); fault == nil {
				s.ui.post(func(s *screen) { s.permitted = all })
			}
			return done, err
		})
	}
	return r
}
