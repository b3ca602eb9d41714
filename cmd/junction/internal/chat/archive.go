package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/toolsearch"
)

// OpenArchive opens the stored conversations, and restores the memory of earlier tool searches.
func (t *Setup) OpenArchive(ctx context.Context) error {
	var err error
	if t.Archive, err = reach.OpenConversations(ctx, t.App.Place); err != nil {
		return fmt.Errorf("%w (--no-save continues without storing)", err)
	}
	value, err := t.Archive.Memory().Get(ctx, archive.ToolQueries)
	var remembered []toolsearch.Remembered
	if err == nil && value != nil {
		err = json.Unmarshal(value, &remembered)
	}
	if err != nil {
		t.App.Logger().Warn("the tool search starts without the results of earlier searches", "error", err)
	}
	t.Search.Restore(remembered)
	return nil
}

// keepSearches stores the memory of tool searches, merged with the memory that other processes
// stored. It only logs errors, because the answer does not depend on them.
func (t *Setup) keepSearches() {
	fresh := t.Search.Memory()
	if len(fresh) == 0 {
		return
	}
	err := t.Archive.Memory().Update(context.Background(), archive.ToolQueries, func(value json.RawMessage) (json.RawMessage, error) {
		var before []toolsearch.Remembered
		if value != nil && json.Unmarshal(value, &before) == nil {
			all := toolsearch.New(toolsearch.Options{})
			all.Restore(before)
			all.Restore(fresh)
			fresh = all.Memory()
		}
		return json.Marshal(fresh)
	})
	if err != nil {
		t.App.Logger().Warn("the results of the tool search are not remembered", "error", err)
	}
}

// resumes reports whether a word after --resume is the ID of a conversation. The value of the flag
// is optional, so --resume ID without an equals sign passes the ID as a word.
func (t *Setup) resumes(ctx context.Context, word string) bool {
	if t.Flags.resume != archive.Last || t.Archive == nil || len(word) != idLength {
		return false
	}
	_, err := t.Archive.Meta(ctx, word)
	return err == nil
}

// idLength is the length of a conversation's ID in characters.
const idLength = 8

// chosen returns the ID of the conversation to continue: a stored one, or a new copy of it. It
// returns "" for a new conversation.
func (t *Setup) chosen(ctx context.Context) (id string, err error) {
	if t.Flags.fork == "" {
		return t.Flags.resume, nil
	}
	id, err = t.Store().Fork(ctx, t.Flags.fork, 0)
	return id, storedFault(t.Flags.fork, err)
}

// storedFault returns a usage error if the ID on the command line is unknown or ambiguous. It
// returns all other errors unchanged.
func storedFault(id string, err error) error {
	switch {
	case errors.Is(err, archive.ErrNotFound) && id == archive.Last:
		return cli.Usagef("there are no conversations yet; junction chat begins one")
	case errors.Is(err, archive.ErrNotFound), errors.Is(err, archive.ErrAmbiguous):
		return cli.Usagef("%w; junction chat history list shows all conversations", namesID(id, err))
	case errors.Is(err, archive.ErrNoEntry):
		return &cli.UsageError{Err: err}
	}
	return err
}

// namesID replaces the error for an unknown or ambiguous ID, which contains the path of the file,
// by an error with the ID.
func namesID(id string, err error) error {
	switch {
	case errors.Is(err, archive.ErrNotFound):
		return &reach.UnlistedError{Text: fmt.Sprintf("no conversation has the ID %q", id), Err: err}
	case errors.Is(err, archive.ErrAmbiguous):
		return &reach.UnlistedError{Text: fmt.Sprintf("the IDs of several conversations begin with %q", id), Err: err}
	}
	return err
}

// begin starts or continues the conversation that the command line selects.
func (t *Setup) begin(ctx context.Context) (*host.Conversation, error) {
	id, err := t.chosen(ctx)
	switch {
	case err != nil:
		return nil, err
	case t.Archive == nil:
		return t.Host.Conversation(nil), nil
	case id == "":
		record, err := t.Store().New(ctx)
		return t.Host.Conversation(record), err
	}
	record, entries, err := t.Store().Open(ctx, id)
	if err != nil {
		return nil, storedFault(id, err)
	}
	return t.Host.Conversation(record, entries...), nil
}

// Store returns the store of conversations, or nil if conversations are not stored.
func (t *Setup) Store() tui.Store {
	if t.Archive == nil {
		return nil
	}
	return Store{t.App.Place, t.Archive, t.Options.Model.Info().Name, t.Start(t.Flags.Model)}
}

// A Store implements [tui.Store] with the archive.
type Store struct {
	place.Place // folder for new conversations
	*archive.Archive
	Model string
	Start string // a chatStart as JSON
}

// A record is a [tui.Record] of a stored conversation.
type record struct{ *archive.Conversation }

// Saved implements [tui.Record].
func (r record) Saved() tui.Saved { return saved(r.Meta()) }

// saved returns the facts about a conversation that the screen shows.
func saved(m archive.Meta) tui.Saved {
	return tui.Saved{ID: m.ID, Title: m.Title, Changed: m.Changed, Questions: m.Questions, Cost: m.Cost}
}

// New implements [tui.Store].
func (s Store) New(context.Context) (tui.Record, error) {
	folder, _ := s.Getwd() // used only in lists of conversations
	return record{s.Archive.New(archive.Meta{Model: s.Model, Folder: folder, Setup: s.Start})}, nil
}

// Open implements [tui.Store].
func (s Store) Open(ctx context.Context, id string) (tui.Record, []host.Entry, error) {
	loaded, entries, err := s.Load(ctx, id)
	if err != nil {
		return nil, nil, namesID(id, err)
	}
	return record{loaded}, entries, nil
}

// Fork implements [tui.Store].
func (s Store) Fork(ctx context.Context, id string, entries int) (string, error) {
	meta, err := s.Archive.Fork(ctx, id, entries)
	return meta.ID, err
}

// List implements [tui.Store]. It omits conversations that consist of single questions.
func (s Store) List(ctx context.Context) ([]tui.Saved, error) {
	metas, err := s.Archive.List(ctx, archive.Filter{})
	here, _ := s.Getwd()
	var all []tui.Saved
	for _, m := range metas {
		if isSingle(m) { // junction chat history list includes these
			continue
		}
		one := saved(m)
		if m.Folder != here {
			one.Folder = s.Short(m.Folder)
		}
		all = append(all, one)
	}
	return all, err
}

// Export writes a conversation to a new file. The extension of the file's name selects the format.
func (s Store) Export(ctx context.Context, id, path string) (string, error) {
	if path == "" {
		path = "conversation-" + id + ".md"
	}
	file, err := os.OpenFile(s.Place.Path(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s exists already and is not replaced; give another name", path)
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	return path, s.Archive.Export(ctx, id, formatOf(path), file)
}

// formatOf returns the format for a file name.
func formatOf(path string) archive.Format {
	if strings.EqualFold(filepath.Ext(path), ".json") {
		return archive.JSON
	}
	return archive.Markdown
}
