// Package remember provides two tools for a model: remember keeps a note for later conversations,
// and recall finds notes by their words. Users can list and delete notes with the Store.
// [archive.Notes] is the Store of an archive.
//
// A note keeps the labels of the conversation in which it was taken. A note taken after untrusted
// text was read is therefore untrusted when it is recalled.
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

// From is the source of recalled notes in the flow of data.
const From = host.FromNotes

const (
	maxNote     = 4 << 10 // bytes of one note
	maxRecalled = 10      // notes returned by one call
)

// A Note is a text that a model kept.
type Note struct {
	ID     string       `json:"id"`
	At     time.Time    `json:"at"`
	Text   string       `json:"text"`
	Labels guard.Labels `json:"labels"` // labels of the texts read before it was taken
}

// A Store stores notes. It is safe for concurrent use.
type Store interface {
	// Keep stores a note and returns its ID.
	Keep(ctx context.Context, n Note) (id string, err error)
	// Find returns at most limit notes that contain one of the words, the best first. Without words
	// it returns the newest notes.
	Find(ctx context.Context, words string, limit int) ([]Note, error)
	// Delete removes a note permanently.
	Delete(ctx context.Context, id string) error
}

type rememberInput struct {
	Text string `json:"text" doc:"one fact, in words that are clear without this conversation"`
}

type recallInput struct {
	Words string `json:"words,omitempty" doc:"words of the note; without them, the newest notes"`
}

// Add adds the tools to the server for [host.Options].Tools. remember writes, so its calls need
// approval; recall only reads.
func Add(own *mcp.Server, store Store) {
	mcp.AddToolWith(own, mcp.Tool{
		Name: "remember", Title: "Remember",
		Description: "Keep a fact for later conversations: preferences of the user, names, decisions. Not for secrets.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(false), DestructiveHint: new(false), OpenWorldHint: new(false)},
	}, func(ctx context.Context, in rememberInput) (string, error) { return keep(ctx, store, in.Text) })
	mcp.AddToolWith(own, mcp.Tool{
		Name: "recall", Title: "Recall",
		Description: "Find what was remembered in earlier conversations.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)},
	}, func(ctx context.Context, in recallInput) (string, error) { return recall(ctx, store, in.Words) })
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
	labels := guard.Private // notes belong to the user, so they are always private
	for _, n := range notes {
		labels |= n.Labels
		fmt.Fprintf(&text, "%s (note %s of %s)\n", n.Text, n.ID, n.At.Format(time.DateOnly))
	}
	if len(notes) == 0 {
		return "No note has these words.", host.Read(ctx, guard.Source{Server: From}, 0, "")
	}
	return text.String(), host.Read(ctx, guard.Source{Server: From}, labels, text.String())
}
