package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/toolsearch"
)

// openArchive opens the stored conversations, and remembers which searches found
// which tools.
func (t *table) openArchive(ctx context.Context) error {
	path, err := stateFile("conversations.db")
	if err != nil {
		return err
	}
	if t.archive, err = archive.Open(ctx, path); err != nil {
		return &connectError{fmt.Errorf("%w (--no-save goes on without)", err)}
	}
	if value, err := t.archive.Memory().Get(ctx, archive.ToolQueries); err == nil && value != nil {
		var remembered []toolsearch.Remembered
		if json.Unmarshal(value, &remembered) == nil {
			t.search.Restore(remembered)
		}
	}
	return nil
}

// keepSearches stores which searches found which tools, beside what other
// processes learned meanwhile.
func (t *table) keepSearches() error {
	fresh := t.search.Memory()
	if len(fresh) == 0 {
		return nil
	}
	return t.archive.Memory().Update(context.Background(), archive.ToolQueries, func(value json.RawMessage) (json.RawMessage, error) {
		var before []toolsearch.Remembered
		if value != nil && json.Unmarshal(value, &before) == nil {
			all := toolsearch.New(toolsearch.Options{})
			all.Restore(before)
			all.Restore(fresh)
			fresh = all.Memory()
		}
		return json.Marshal(fresh)
	})
}

// begin begins a new conversation.
func (t *table) begin() {
	if t.archive == nil {
		t.record, t.conversation = nil, t.host.Conversation(nil)
		return
	}
	folder, _ := os.Getwd() // for the list of conversations only
	t.record = t.archive.New(archive.Meta{Model: t.options.Model.Info().Name, Folder: folder})
	t.conversation = t.host.Conversation(t.record)
}

// resume goes on with a stored conversation.
func (t *table) resume(ctx context.Context, id string) error {
	record, entries, err := t.archive.Load(ctx, id)
	if err != nil {
		return &usageError{err}
	}
	t.record, t.conversation = record, t.host.Conversation(record, entries...)
	return nil
}

// forkOf goes on with a copy of a stored conversation.
func (t *table) forkOf(ctx context.Context, id string) error {
	meta, err := t.archive.Fork(ctx, id, 0)
	if err != nil {
		return &usageError{err}
	}
	return t.resume(ctx, meta.ID)
}
