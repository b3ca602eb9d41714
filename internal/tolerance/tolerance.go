package tolerance

import (
	"context"
	"log/slog"

	"github.com/junction-mcp/junction/internal/note"
)

// Attributes of the records of [Tolerance.Met].
const (
	LogBreach    = "breach"    // rule of the specification, and its location
	LogTolerance = "tolerance" // name of the row
	LogWhere     = "where"     // location in the message
)

// Met records a case of the tolerance in a message of a server: in a log record, and in a note for
// the Noter of ctx. where is the part of the message in names of the protocol, without secrets.
func (t Tolerance) Met(ctx context.Context, log *slog.Logger, server, where string) {
	t.MetOf(ctx, log, slog.String("server", server), where)
}

// MetOf is Met for a sender named by an attribute.
func (t Tolerance) MetOf(ctx context.Context, log *slog.Logger, sender slog.Attr, where string) {
	r := t.row()
	log.DebugContext(ctx, "mcp: "+r.Comes, sender, LogTolerance, r.Name, LogWhere, where, LogBreach, r.Rule)
	if n := note.Of(ctx, note.Tolerance); n != nil {
		n.Note(note.Tolerance, Note{Name: r.Name, Comes: r.Comes, Used: r.Used, Where: where})
	}
}

// A Note is the note of a case.
type Note struct {
	Name  string `json:"name"`
	Comes string `json:"comes"`
	Used  string `json:"used"`
	Where string `json:"where,omitempty"`
}
