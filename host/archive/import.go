package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

// exportVersion is the newest form of exports in JSON.
const exportVersion = 1

// exported is what Import reads.
type exported struct {
	Format  string           `json:"format"`
	Version int              `json:"version"`
	Meta    Meta             `json:"meta"`
	Entries []jsontext.Value `json:"entries"`
}

// Import stores what Export wrote as [JSON], as a new conversation with an ID of
// its own. It is read whole before anything is stored. Whoever wrote the file may not
// be the person: what it says of what was read and agreed to is left out, and so are
// notes, which every summary repeats, plans, which would be carried out, and the whole of long
// results, which the model would read under the names of results that servers give from now on.
// All of it counts as unknown.
func (a *Archive) Import(ctx context.Context, r io.Reader) (Meta, error) {
	var in exported
	limited := &io.LimitedReader{R: r, N: maxConversation + maxEntry}
	if err := json.UnmarshalRead(limited, &in, dialect); err != nil {
		if limited.N <= 0 {
			err = ErrTooLarge
		}
		return Meta{}, fmt.Errorf("import: %w; give a file that was exported as json", err)
	}
	switch {
	case in.Format != exportName:
		return Meta{}, errors.New("import: this is no exported conversation; give a file that was exported as json")
	case in.Version > exportVersion:
		return Meta{}, fmt.Errorf("import: %w", ErrNewer)
	case len(in.Entries) == 0:
		return Meta{}, errors.New("import: the conversation is empty")
	}
	c := a.New(Meta{Model: in.Meta.Model, Folder: in.Meta.Folder, Title: in.Meta.Title})
	if !in.Meta.Created.IsZero() {
		c.meta.Created, c.meta.Changed = in.Meta.Created, in.Meta.Created
	}
	err := a.file.Change(ctx, "import", func(tx *sql.Tx) error {
		if err := insertConversation(tx, &c.meta); err != nil {
			return err
		}
		return in.each(func(e *host.Entry, text []byte) error { return c.take(tx, e, text) })
	})
	return c.meta, err
}

// each adds the entries, without what this version does not know and what only the
// person can say.
func (in *exported) each(add func(e *host.Entry, text []byte) error) error {
	first, err := host.Unknown()
	if err != nil {
		return err
	}
	text, err := json.Marshal(&first, dialect)
	if err == nil {
		err = add(&first, text)
	}
	if err != nil {
		return err
	}
	for i, raw := range in.Entries {
		var e host.Entry
		if err := json.Unmarshal(raw, &e, dialect); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		e.Message = readable(e.Message)
		// People see what the model sees: Shown could be anything.
		if e.Flow, e.Withdrawn, e.Note, e.Plan, e.Kept, e.Task, e.Shown, e.Asking, e.Ended = nil, nil, "", nil, nil, nil, "", nil, nil; reflect.DeepEqual(e, host.Entry{At: e.At}) {
			continue
		}
		text, err := json.Marshal(&e, dialect)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		if err := add(&e, text); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return nil
}

// readable is a message without what a provider would get and no person sees: blocks and members that
// only the provider knows, and signatures. A model goes on without them. It is nil if nothing is left.
func readable(m *model.Message) *model.Message {
	if m == nil {
		return nil
	}
	m.Extra = nil
	m.Parts = slices.DeleteFunc(m.Parts, func(p model.Part) bool { return p.Opaque != nil })
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Reasoning != nil:
			p.Reasoning.Raw = nil
		case p.Call != nil:
			p.Call.Extra = nil
		}
	}
	if len(m.Parts) == 0 {
		return nil
	}
	return m
}
