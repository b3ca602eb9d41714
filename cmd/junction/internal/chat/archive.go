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

// OpenArchive opens the stored conversations, and remembers which searches found
// which tools.
func (t *ChatSetup) OpenArchive(ctx context.Context) error {
	var err error
	if t.Archive, err = reach.OpenConversations(ctx, t.App.Place); err != nil {
		return fmt.Errorf("%w (--no-save goes on without)", err)
	}
	value, err := t.Archive.Memory().Get(ctx, archive.ToolQueries)
	var remembered []toolsearch.Remembered
	if err == nil && value != nil {
		err = json.Unmarshal(value, &remembered)
	}
	if err != nil {
		t.App.Logger().Warn("tools are searched without what earlier searches found", "error", err)
	}
	t.Search.Restore(remembered)
	return nil
}

// keepSearches stores which searches found which tools, in addition to what other
// processes learned meanwhile. An answer is none the worse where that fails.
func (t *ChatSetup) keepSearches() {
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
		t.App.Logger().Warn("what searches found is not remembered", "error", err)
	}
}

// resumes reports whether a word behind --resume is the ID of a conversation, which
// belongs behind an equals sign: the flag has a meaning without it, too.
func (t *ChatSetup) resumes(ctx context.Context, word string) bool {
	if t.Flags.resume != archive.Last || t.Archive == nil || len(word) != idLength {
		return false
	}
	_, err := t.Archive.Meta(ctx, word)
	return err == nil
}

// idLength is how many characters the ID of a conversation has.
const idLength = 8

// chosen is the conversation that the command line wants to go on: one that is
// stored, or a copy of it; empty for a new one.
func (t *ChatSetup) chosen(ctx context.Context) (id string, err error) {
	if t.Flags.fork == "" {
		return t.Flags.resume, nil
	}
	id, err = t.Store().Fork(ctx, t.Flags.fork, 0)
	return id, storedFault(t.Flags.fork, err)
}

// storedFault sorts an error of the stored conversations for the exit code: an ID of
// the command line, id, that none or several have is another than a file that cannot be
// used.
func storedFault(id string, err error) error {
	switch {
	case errors.Is(err, archive.ErrNotFound) && id == archive.Last:
		return cli.Usagef("there is no conversation yet; junction chat begins one")
	case errors.Is(err, archive.ErrNotFound), errors.Is(err, archive.ErrAmbiguous):
		return cli.Usagef("%w; junction conversations list shows all", namesID(id, err))
	case errors.Is(err, archive.ErrNoEntry):
		return &cli.UsageError{Err: err}
	}
	return err
}

// namesID says of an ID that none or several conversations have that, without the file and what was done to it.
func namesID(id string, err error) error {
	switch {
	case errors.Is(err, archive.ErrNotFound):
		return &reach.UnlistedError{Text: fmt.Sprintf("no conversation has the ID %q", id), Err: err}
	case errors.Is(err, archive.ErrAmbiguous):
		return &reach.UnlistedError{Text: fmt.Sprintf("the IDs of several conversations begin with %q", id), Err: err}
	}
	return err
}

// begin begins the conversation that the command line wants.
func (t *ChatSetup) begin(ctx context.Context) (*host.Conversation, error) {
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

// Store keeps the conversations; nil where nothing is stored.
func (t *ChatSetup) Store() tui.Store {
	if t.Archive == nil {
		return nil
	}
	return Store{t.App.Place, t.Archive, t.Options.Model.Info().Name, t.Start(t.Flags.Model)}
}

// A Store is the archive as the screen sees it.
type Store struct {
	place.Place // that conversations begin in
	*archive.Archive
	Model string
	Start string // see chatStart
}

// A record is a stored conversation as the screen sees it.
type record struct{ *archive.Conversation }

func (r record) Saved() tui.Saved { return saved(r.Meta()) }

func saved(m archive.Meta) tui.Saved {
	return tui.Saved{ID: m.ID, Title: m.Title, Changed: m.Changed, Questions: m.Questions, Cost: m.Cost}
}

func (s Store) New(context.Context) (tui.Record, error) {
	folder, _ := s.Getwd() // for lists of conversations only
	return record{s.Archive.New(archive.Meta{Model: s.Model, Folder: folder, Setup: s.Start})}, nil
}

func (s Store) Open(ctx context.Context, id string) (tui.Record, []host.Entry, error) {
	loaded, entries, err := s.Load(ctx, id)
	if err != nil {
		return nil, nil, namesID(id, err)
	}
	return record{loaded}, entries, nil
}

func (s Store) Fork(ctx context.Context, id string, entries int) (string, error) {
	meta, err := s.Archive.Fork(ctx, id, entries)
	return meta.ID, err
}

func (s Store) List(ctx context.Context) ([]tui.Saved, error) {
	metas, err := s.Archive.List(ctx, archive.Filter{})
	here, _ := s.Getwd()
	var all []tui.Saved
	for _, m := range metas {
		if isSingle(m) { // junction conversations list shows it, too
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

// Export writes a conversation to a new file, whose name says in which form.
func (s Store) Export(ctx context.Context, id, path string) (string, error) {
	if path == "" {
		path = "conversation-" + id + ".md"
	}
	file, err := os.OpenFile(s.Place.Path(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s is there already, and is not replaced; give another name", path)
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	return path, s.Archive.Export(ctx, id, formatOf(path), file)
}

// formatOf is the form in which a file of this name would be expected.
func formatOf(path string) archive.Format {
	if strings.EqualFold(filepath.Ext(path), ".json") {
		return archive.JSON
	}
	return archive.Markdown
}
