package tui

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/plan"
	"github.com/junction-mcp/junction/model"
)

// A Store keeps conversations. Where an id is asked for, any that List returned
// will do, and whatever else the store takes.
type Store interface {
	// New returns the record of a conversation that begins.
	New(ctx context.Context) (Record, error)
	// Open returns the record of a kept conversation, and its entries so far.
	Open(ctx context.Context, id string) (Record, []host.Entry, error)
	// Fork copies the first entries of a conversation, 0 for all of them, and of the others
	// those that [host.Entry.TakesBack] is true of. It returns the id of the copy.
	Fork(ctx context.Context, id string, entries int) (string, error)
	// List returns kept conversations, the last one first.
	List(ctx context.Context) ([]Saved, error)
	// Export writes a conversation to a file, in a format that the path's ending
	// says, and returns the path; an empty one leaves the choice to the store.
	Export(ctx context.Context, id, path string) (string, error)
}

// A Record is what a [Store] has of one conversation.
type Record interface {
	host.Record
	// Saved describes it as it is now; its ID is empty while nothing is stored.
	Saved() Saved
}

// attached is a Session of a host and its store.
type attached struct {
	*host.Host
	store Store

	mu     sync.Mutex
	record Record
	talk   *host.Conversation
}

// Attach returns the session of a host, whose conversations are kept in store; nil
// keeps none. It begins a new conversation, or, where id is not empty, goes on
// with a kept one.
func Attach(ctx context.Context, h *host.Host, store Store, id string) (Session, error) {
	a := &attached{Host: h, store: store}
	begin := a.New
	if id != "" {
		begin = func(ctx context.Context) error { return a.Resume(ctx, id) }
	}
	if err := begin(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *attached) now() (*host.Conversation, Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.talk, a.record
}

func (a *attached) set(talk *host.Conversation, record Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.talk, a.record = talk, record
}

// Model describes the host's model.
func (a *attached) Model() model.Info { return a.Host.Model().Info() }

// Talk is the conversation that goes on now.
func (a *attached) Talk() Talk {
	talk, _ := a.now()
	return talk
}

// Propose and Execute are about the conversation's plan.

func (a *attached) Propose(ctx context.Context, goal string) (host.Plan, error) {
	talk, _ := a.now()
	return plan.Propose(ctx, talk, goal)
}

func (a *attached) Execute(ctx context.Context, changed func(host.Plan)) error {
	talk, _ := a.now()
	return plan.Execute(ctx, talk, changed)
}

func (a *attached) Name(_ context.Context, title string) error {
	talk, record := a.now()
	if record == nil {
		return ErrNotKept
	}
	return talk.Name(title)
}

// Saved describes the conversation as it is kept.
func (a *attached) Saved() Saved {
	if _, record := a.now(); record != nil {
		return record.Saved()
	}
	return Saved{}
}

// New begins another conversation.
func (a *attached) New(ctx context.Context) error { return a.newWith(ctx, nil) }

// newWith begins another conversation with some entries.
func (a *attached) newWith(ctx context.Context, begin []host.Entry) error {
	if a.store == nil {
		a.set(a.Conversation(nil, begin...), nil)
		return nil
	}
	record, err := a.store.New(ctx)
	if err != nil {
		return err
	}
	for _, e := range begin {
		if err := record.Append(e); err != nil {
			return err
		}
	}
	a.set(a.Conversation(record, begin...), record)
	return nil
}

// Resume goes on with a kept conversation.
func (a *attached) Resume(ctx context.Context, id string) error {
	if a.store == nil {
		return ErrNotKept
	}
	record, entries, err := a.store.Open(ctx, id)
	if err != nil {
		return err
	}
	a.set(a.Conversation(record, entries...), record)
	return nil
}

// Fork goes on with a copy.
func (a *attached) Fork(ctx context.Context) error { return a.fork(ctx, 0) }

func (a *attached) fork(ctx context.Context, entries int) error {
	saved := a.Saved()
	if a.store == nil || saved.ID == "" {
		return ErrNotKept
	}
	id, err := a.store.Fork(ctx, saved.ID, entries)
	if err != nil {
		return err
	}
	return a.Resume(ctx, id)
}

// Rewind goes on with a copy of the first entries, and of what the person took back since.
func (a *attached) Rewind(ctx context.Context, entries int) error {
	all := a.Talk().Entries()
	begin := slices.Clone(all[:min(entries, len(all))])
	for _, e := range all[len(begin):] {
		if e.TakesBack() {
			begin = append(begin, e)
		}
	}
	if entries == 0 {
		return a.newWith(ctx, begin)
	}
	err := a.fork(ctx, entries)
	if errors.Is(err, ErrNotKept) { // the one in memory is good enough
		a.set(a.Conversation(nil, begin...), nil)
		return nil
	}
	return err
}

// List returns kept conversations.
func (a *attached) List(ctx context.Context) ([]Saved, error) {
	if a.store == nil {
		return nil, ErrNotKept
	}
	return a.store.List(ctx)
}

// Export writes the conversation to a file.
func (a *attached) Export(ctx context.Context, path string) (string, error) {
	saved := a.Saved()
	if a.store == nil || saved.ID == "" {
		return "", ErrNotKept
	}
	return a.store.Export(ctx, saved.ID, path)
}
