package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/junction-mcp/junction/internal/filelock"
)

// maxPinsFile is the maximum size of a file of pins in bytes.
const maxPinsFile = 256 << 20

// pinsFile is the JSON of the file.
type pinsFile struct {
	Version int   `json:"version"`
	Pins    []pin `json:"pins"`
	// Seen holds definitions that were not shown to a user. They have a field of their own, so that
	// older programs do not treat them as approved.
	Seen []pin `json:"seen,omitempty"`
}

// Load returns the pins in the file at path, or empty ones if it does not exist. An unreadable or
// invalid file is an error, because everything in it would otherwise be new.
func Load(path string) (*Pins, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("approved definitions: %w", err)
	}
	pins, err := readPins(path)
	if err != nil {
		return nil, err
	}
	return &Pins{path: path, kept: pins}, nil
}

// Save merges the changes since [Load] or the last Save with the changes of other processes, and
// writes the file. For the same definition the later Save wins. Afterwards p holds the merged pins.
// The file is replaced as a whole, readable only by its owner, under a lock next to it. Saving pins
// that were not loaded is an error.
func (p *Pins) Save() error {
	if p.shared != nil {
		return p.saveShared(context.Background())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path == "" {
		return errors.New("approved definitions: there is no file to save to: use guard.Load")
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return fmt.Errorf("approved definitions: %w", err)
	}
	unlock, err := filelock.Wait(context.Background(), p.path+".lock")
	if err != nil {
		return fmt.Errorf("lock %s: %w", p.path, err)
	}
	defer unlock()
	pins, err := readPins(p.path)
	if err != nil {
		return err
	}
	if err := p.changes.merge(pins); err != nil {
		return fmt.Errorf("save %s: %w", p.path, err)
	}
	err = writePins(p.path, pins)
	for errors.Is(err, ErrTooManyPins) && pins.spareServer() {
		err = writePins(p.path, pins)
	}
	if err != nil {
		return err
	}
	p.kept, p.changes = pins, changes{}
	return nil
}

// merge makes the changes in pins.
func (c changes) merge(pins pinned) error {
	pins.forget(func(server string) bool { return c.forgotten[server] })
	for key, pin := range c.fresh.seen {
		pins.see(key, pin) // see fails if other processes used the space
	}
	for key, fresh := range c.fresh.approved {
		for _, pin := range fresh {
			pins.approve(key, pin)
		}
	}
	if n := pins.size(); n > maxPins {
		return fmt.Errorf("%w: %d, at most %d; remove servers that are no longer used", ErrTooManyPins, n, maxPins)
	}
	return nil
}

func readPins(path string) (pinned, error) {
	pins := newPinned()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return pins, nil
	}
	if err != nil {
		return pins, fmt.Errorf("approved definitions: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPinsFile+1))
	switch {
	case err != nil:
		return pins, fmt.Errorf("approved definitions: %w", err)
	case len(text) > maxPinsFile:
		return pins, fmt.Errorf("%s: approved definitions have more than %d bytes; move the file away, and approve everything again", path, maxPinsFile)
	}
	var file pinsFile
	if err := json.Unmarshal(text, &file); err != nil {
		return pins, fmt.Errorf("%s: not a file of approved definitions (move it away, and approve everything again): %w", path, err)
	}
	if file.Version != 1 {
		return pins, fmt.Errorf("%s: approved definitions of version %d, which this program does not know; use a newer one", path, file.Version)
	}
	pins.add(file)
	return pins, nil
}

// add adds the pins of a file.
func (p pinned) add(file pinsFile) {
	for _, pin := range file.Pins {
		key := pin.Definition.key()
		p.approved[key] = p.approved[key].with(pin)
	}
	for _, pin := range file.Seen {
		p.see(pin.Definition.key(), pin)
	}
}

// writePins writes a new file in the same folder and renames it over the old one. The caller holds
// the lock.
func writePins(path string, pins pinned) error {
	file := pinsFile{Version: 1, Pins: []pin{}, Seen: slices.Collect(maps.Values(pins.seen))}
	for _, all := range pins.approved {
		file.Pins = append(file.Pins, all...)
	}
	for _, list := range [][]pin{file.Pins, file.Seen} {
		slices.SortStableFunc(list, func(a, b pin) int { return a.Definition.key().compare(b.Definition.key()) })
	}
	var text bytes.Buffer
	if err := json.MarshalWrite(&text, file, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if text.Len() > maxPinsFile {
		return fmt.Errorf("write %s: %w: %d bytes, at most %d; remove servers that are no longer used", path, ErrTooManyPins, text.Len(), maxPinsFile)
	}
	if err := filelock.Replace(path, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
