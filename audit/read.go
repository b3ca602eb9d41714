package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// followPause is the time between two looks whether there are new lines.
const followPause = 200 * time.Millisecond

// A Filter chooses lines. Empty fields choose all; of the others all must fit.
type Filter struct {
	Since, Until time.Time
	// Kind, Principal, Server, Outcome and Decision are equal to the line's.
	Kind, Principal, Server, Outcome, Decision string
	// Name and Client are part of the line's, whatever the case of their letters.
	Name, Client string
	// Call chooses all lines about one request.
	Call string
}

// fits reports whether a line is chosen.
func (f *Filter) fits(object []byte) bool {
	is := func(name, want string) bool {
		if want == "" {
			return true
		}
		text, _ := jsonrpc.Unquote(jsonrpc.Get(object, name))
		return text == want
	}
	has := func(name, want string) bool {
		if want == "" {
			return true
		}
		text, _ := jsonrpc.Unquote(jsonrpc.Get(object, name))
		return strings.Contains(strings.ToLower(text), strings.ToLower(want))
	}
	if !f.Since.IsZero() || !f.Until.IsZero() {
		text, _ := jsonrpc.Unquote(jsonrpc.Get(object, "time"))
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || at.Before(f.Since) || !f.Until.IsZero() && !at.Before(f.Until) {
			return false
		}
	}
	return is("kind", f.Kind) && is("principal", f.Principal) && is("server", f.Server) && is("outcome", f.Outcome) &&
		is("decision", f.Decision) && is("call", f.Call) && has("name", f.Name) && has("client", f.Client)
}

// Read gives the lines of a log that fit, the first one first, each a JSON object; it does not verify
// them. It can be called while the log is written. An error ends it.
func Read(dir string, f Filter) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if err := read(dir, &f, &place{}, yield); err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// Follow gives the lines that fit and are written from now on, until ctx is done.
func Follow(ctx context.Context, dir string, f Filter) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		var at place
		err := read(dir, &Filter{Call: "\x00"}, &at, yield) // nothing fits: to the end
		ticker := time.NewTicker(followPause)
		defer ticker.Stop()
		for err == nil {
			select {
			case <-ticker.C:
				err = read(dir, &f, &at, yield)
			case <-ctx.Done():
				return
			}
		}
		if !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// errEnough says that the caller wants no more lines.
var errEnough = errors.New("enough lines")

// A place is how far a log was read.
type place struct {
	file string
	at   int64 // behind the last whole line
}

// read gives the lines behind a place, and moves it.
func read(dir string, f *Filter, p *place, yield func(json.RawMessage, error) bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer root.Close()
	files, err := listFiles(root)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	for _, name := range files {
		if name < p.file {
			continue
		}
		if name > p.file {
			*p = place{file: name}
		}
		if err := readFile(root, f, p, yield); err != nil {
			return err
		}
	}
	return nil
}

func readFile(root *os.Root, f *Filter, p *place, yield func(json.RawMessage, error) bool) error {
	file, err := root.Open(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed, as it is old
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if info.ModTime().Before(f.Since) {
		return nil
	}
	from := p.at
	return eachLine(io.NewSectionReader(file, from, max(0, info.Size()-from)), func(text []byte, at int64) error {
		if text[len(text)-1] != '\n' {
			return nil // half of it
		}
		p.at = from + at + int64(len(text))
		text = bytes.TrimSuffix(text, []byte("\n"))
		if jsonrpc.Valid(text, jsonrpc.Limits{}) == nil && f.fits(text) && !yield(bytes.Clone(text), nil) {
			return errEnough
		}
		return nil
	})
}
