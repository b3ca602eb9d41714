package tolerance

import (
	"context"
	"log/slog"

	"github.com/junction-mcp/junction/internal/note"
)

// Attributes of the log records that [Tolerance.Met] writes.
const (
	LogBreach    = "breach"    // the rule of the specification, and its location
	LogTolerance = "tolerance" // name of the tolerance
	LogWhere     = "where"     // location in the message
)

// Met records a case of the tolerance in a message of a server. It writes a log record, and a note
// to the NoteObserver of ctx. where describes the part of the message by names of the protocol, and
// must not contain secrets.
func (t Tolerance) Met(ctx context.Context, log *slog.Logger, server, where string) {
	t.MetOf(ctx, log, slog.String("server", server), where)
}

// MetOf is like [Tolerance.Met], but describes the sender by an attribute.
func (t Tolerance) MetOf(ctx context.Context, log *slog.Logger, sender slog.Attr, where string) {
	r := t.row()
	log.DebugContext(ctx, "mcp: "+r.Comes, sender, LogTolerance, r.Name, LogWhere, where, LogBreach, r.Rule)
	if n := note.Of(ctx, note.Tolerance); n != nil {
		n.Note(note.Tolerance, Note{Name: r.Name, Comes: r.Comes, Used: r.Used, Where: where})
	}
}

// A Note is the note about a case.
type Note struct {
	Name  string `json:"name"`
	Comes string `json:"comes"`
	Used  string `json:"used"`
	Where string `json:"where,omitempty"`
}
