package tolerance

import (
	"context"
	"log/slog"

	"github.com/junction-mcp/junction/internal/note"
)

// The attributes of the records that [Tolerance.Met] writes.
const (
	LogBreach    = "breach"    // what the specification wants, and where
	LogTolerance = "tolerance" // the name of the row
	LogWhere     = "where"     // the place in the message
)

// Met names a case of the tolerance in what a server sent: in a record for log, and in a note for the Noter of ctx. where
// says which part of which message it is, in names of the protocol, and has nothing that may be secret.
func (t Tolerance) Met(ctx context.Context, log *slog.Logger, server, where string) {
	t.MetOf(ctx, log, slog.String("server", server), where)
}

// MetOf is Met for a sender that an attribute names.
func (t Tolerance) MetOf(ctx context.Context, log *slog.Logger, sender slog.Attr, where string) {
	r := t.row()
	log.DebugContext(ctx, "mcp: "+r.Comes, sender, LogTolerance, r.Name, LogWhere, where, LogBreach, r.Rule)
	if n := note.Of(ctx, note.Tolerance); n != nil {
		n.Note(note.Tolerance, Note{Name: r.Name, Comes: r.Comes, Used: r.Used, Where: where})
	}
}

// A Note is what the Noter of a request gets of a case.
type Note struct {
	Name  string `json:"name"`
	Comes string `json:"comes"`
	Used  string `json:"used"`
	Where string `json:"where,omitempty"`
}
