package guard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	kept "github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
)

const (
	sharedPrefix = "guard/pins/" // of the keys of pins in a store, each of which has one definition
	sharedPage   = 50            // entries that one request to a store reads
)

// SharedPins is the subject of [replicas.Group.Follow] for the pins in a store.
const SharedPins = "guard/pins"

// LoadShared is like [Load] for the pins in the store of replicas. [Pins.Save] then stores the
// changed definitions there.
func LoadShared(ctx context.Context, g *replicas.Group) (*Pins, error) {
	pins, _, err := readShared(ctx, g)
	if err != nil {
		return nil, err
	}
	return &Pins{shared: g, kept: pins}, nil
}

// sharedKey returns the key of a definition in a store.
func (k pinKey) sharedKey() string {
	text, _ := json.Marshal([]string{k.Server, string(k.Kind), k.Name}, jsontext.AllowInvalidUTF8(true)) // strings always encode
	sum := sha256.Sum256(text)
	return sharedPrefix + base64.RawURLEncoding.EncodeToString(sum[:])
}

// readShared returns the pins, and their entries by key.
func readShared(ctx context.Context, store kept.KV) (pinned, map[string]kept.Entry, error) {
	pins, all := newPinned(), map[string]kept.Entry{}
	for after := ""; ; {
		entries, err := store.List(ctx, sharedPrefix, after, sharedPage)
		if err != nil {
			return pins, nil, fmt.Errorf("approved definitions: %w", err)
		}
		for _, e := range entries {
			var one pinsFile
			if err := json.Unmarshal(e.Value, &one); err != nil || one.Version != 1 {
				return pins, nil, fmt.Errorf("approved definitions: the entry %s of the store is not of this version of the program: %w", e.Key, err)
			}
			pins.add(one)
			all[e.Key], after = e, e.Key
		}
		if len(entries) < sharedPage {
			return pins, all, nil
		}
	}
}

// saveShared implements [Pins.Save]. Pins can be checked and changed while the store is written.
func (p *Pins) saveShared(ctx context.Context) error {
	p.saving.Lock()
	defer p.saving.Unlock()
	p.mu.Lock()
	saved := p.changes
	p.changes = changes{}
	p.mu.Unlock()
	pins, err := mergeShared(ctx, p.shared, saved)
	p.mu.Lock()
	later := p.changes
	if err == nil {
		err = later.merge(pins)
	}
	if err == nil {
		p.kept = pins
	} else {
		p.changes = saved.and(later)
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	return p.shared.Changed(ctx, SharedPins)
}

// mergeShared makes changes in the store, and returns the pins in it.
func mergeShared(ctx context.Context, store kept.KV, saved changes) (pinned, error) {
	for {
		pins, before, err := readShared(ctx, store)
		if err != nil {
			return pins, err
		}
		if err := saved.merge(pins); err != nil {
			return pins, fmt.Errorf("save approved definitions: %w", err)
		}
		after, err := pins.entries()
		if err != nil {
			return pins, err
		}
		switch err = replaceShared(ctx, store, before, after); {
		case err == nil:
			return pins, nil
		case !errors.Is(err, kept.ErrConflict): // otherwise another process changed a definition
			return pins, fmt.Errorf("save approved definitions: %w", err)
		}
	}
}

// and returns the changes, followed by later ones.
func (c changes) and(later changes) changes {
	if later.forgotten == nil {
		return c
	}
	all := changes{map[string]bool{}, newPinned()}
	maps.Copy(all.forgotten, c.forgotten)
	maps.Copy(all.forgotten, later.forgotten)
	if c.forgotten != nil {
		for key, pin := range c.fresh.seen {
			all.fresh.see(key, pin)
		}
		maps.Copy(all.fresh.approved, c.fresh.approved)
	}
	_ = later.merge(all.fresh) // its limits hold for the next Save, too
	return all
}

// entries returns the values of all definitions by key.
func (p pinned) entries() (map[string][]byte, error) {
	files := map[string]*pinsFile{}
	of := func(key pinKey) *pinsFile {
		f := files[key.sharedKey()]
		if f == nil {
			f = &pinsFile{Version: 1, Pins: []pin{}}
			files[key.sharedKey()] = f
		}
		return f
	}
	for key, all := range p.approved {
		f := of(key)
		f.Pins = all
	}
	for key, seen := range p.seen {
		f := of(key)
		f.Seen = []pin{seen}
	}
	values := map[string][]byte{}
	for key, f := range files {
		text, err := json.Marshal(f, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		values[key] = text
	}
	return values, nil
}

// replaceShared writes the values that differ from the entries before, and removes those that are
// missing.
func replaceShared(ctx context.Context, store kept.KV, before map[string]kept.Entry, after map[string][]byte) error {
	for key, value := range after {
		if bytes.Equal(before[key].Value, value) {
			continue
		}
		if _, err := store.CompareAndSwap(ctx, key, before[key].Version, value, kept.Write{}); err != nil {
			return err
		}
	}
	for key := range before {
		if _, stays := after[key]; stays {
			continue
		}
		if err := store.Delete(ctx, key, kept.Hold{}); err != nil {
			return err
		}
	}
	return nil
}
