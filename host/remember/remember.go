// Package remember gives a model two tools: remember keeps a note from one conversation to the
// next, and recall finds it by its words. The user can list and delete notes with the Store,
// which is [archive.Notes] where conversations are kept.
//
// A note keeps the labels of the conversation in which it was taken. Whoever recalls what was noted
// while a stranger's page was read has read the stranger's words.
//
// [archive.Notes]: https://pkg.go.dev/github.com/junction-mcp/junction/host/archive#Notes
package remember

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
)

// From is the source under which the flow of data knows what was recalled.
const From = host.FromNotes

const (
	maxNote     = 4 << 10 // bytes of one note
	maxRecalled = 10      // notes that one call recalls
)

// A Note is what a model remembered.
type Note struct {
	ID     string       `json:"id"`
	At     time.Time    `json:"at"`
	Text   string       `json:"text"`
	Labels guard.Labels `json:"labels"` // of what had been read when it was taken
}

// A Store keeps notes. It is safe for concurrent use.
type Store interface {
	// Keep keeps a note and returns its ID.
	Keep(ctx context.Context, n Note) (id string, err error)
	// Find returns at most limit notes that hold one of the words, the best first; without words, the newest.
	Find(ctx context.Context, words string, limit int) ([]Note, error)
	// Delete deletes a note for good.
	Delete(ctx context.Context, id string) error
}

type noted struct {
	Text string `json:"text" doc:"one fact, in words that say by themselves what they are about"`
}

type wanted struct {
	Words string `json:"words,omitempty" doc:"words of the note; without them, the newest notes"`
}

// Add adds the tools to a program's own, for [host.Options].Tools. To remember is to write, so
// the user is asked; to recall is not.
func Add(own *mcp.Server, store Store) {
	mcp.AddToolWith(own, mcp.Tool{
		Name: "remember", Title: "Remember",
		Description: "Keep a fact for later conversations: preferences of the user, names, decisions. Not for secrets.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(false), DestructiveHint: new(false), OpenWorldHint: new(false)},
	}, func(ctx context.Context, in noted) (string, error) { return keep(ctx, store, in.Text) })
	mcp.AddToolWith(own, mcp.Tool{
		Name: "recall", Title: "Recall",
		Description: "Find what was remembered in earlier conversations.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)},
	}, func(ctx context.Context, in wanted) (string, error) { return recall(ctx, store, in.Words) })
}

func keep(ctx context.Context, store Store, text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxNote {
		return "", fmt.Errorf("a note has 1 to %d bytes, and this one has %d; shorten it, or write several", maxNote, len(text))
	}
	id, err := store.Keep(ctx, Note{At: time.Now(), Text: text, Labels: host.Labels(ctx)})
	if err != nil {
		return "", fmt.Errorf("the note was not kept: %w", err)
	}
	return "Remembered as note " + id + ".", host.Read(ctx, guard.Source{Server: From}, 0, "")
}

func recall(ctx context.Context, store Store, words string) (string, error) {
	notes, err := store.Find(ctx, words, maxRecalled)
	if err != nil {
		return "", fmt.Errorf("the notes cannot be searched: %w", err)
	}
	var text strings.Builder
	labels := guard.Private // they are the user's, whatever was read
	for _, n := range notes {
		labels |= n.Labels
		fmt.Fprintf(&text, "%s (note %s of %s)\n", n.Text, n.ID, n.At.Format(time.DateOnly))
	}
	if len(notes) == 0 {
		return "No note has these words.", host.Read(ctx, guard.Source{Server: From}, 0, "")
	}
	return text.String(), host.Read(ctx, guard.Source{Server: From}, labels, text.String())
}
