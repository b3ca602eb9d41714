package listfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/state/replicas"
)

const (
	maxSize   = 8 << 20               // bytes
	lookPause = time.Second           // minimum time between two checks for changes of the file
	missPause = 10 * time.Millisecond // the same if the element that is looked for is missing
)

// A File is a list that is stored in a file. It is safe for concurrent use.
type File[T any] struct {
	source
	name   func(T) string
	all    []T
	byName map[string]int // indexes of the elements in all; of several with the same name, the first
}

// A source is the part of a File without a type parameter: every package that imports a File
// compiles its methods again.
type source struct {
	path string                  // of the file, or the key in a store
	what string                  // describes the content of the file in errors
	take func(text []byte) error // makes text the list; nil if there is no file

	mu     sync.Mutex // of the File
	looked time.Time
	stamp  string // stamp of the file that was read
	fault  error  // error of the last check

	shared  *replicas.Group // has the list in place of a file; nil for a file
	reading sync.Mutex      // held while the list is read from shared
	taken   bool            // whether the list was read from shared
}

// Open returns the list in a file, which may be missing. name returns the name of an element;
// [File.Find] searches for it. The error is set if the file cannot be read.
func Open[T any](path, what string, name func(T) string) (*File[T], error) {
	f := &File[T]{source: source{path: path, what: what}, name: name}
	f.take = f.decode
	f.mu.Lock()
	defer f.mu.Unlock()
	return f, f.read()
}

func (f *File[T]) decode(text []byte) error {
	var all []T
	if text != nil {
		if err := json.Unmarshal(text, &all); err != nil {
			return err
		}
	}
	f.all, f.byName = all, make(map[string]int, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		f.byName[f.name(all[i])] = i
	}
	return nil
}

// read reads the file if it changed, and stores the error. The caller holds the lock.
func (s *source) read() error {
	s.looked, s.fault = time.Now(), s.readChanged()
	return s.fault
}

func (s *source) readChanged() error {
	info, err := os.Stat(s.path) // not opened, since an open file cannot be replaced on Windows
	if errors.Is(err, fs.ErrNotExist) {
		s.stamp = ""
		return s.take(nil)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", s.what, err)
	}
	stamp := fmt.Sprint(info.ModTime().UnixNano(), info.Size())
	if stamp == s.stamp {
		return nil
	}
	file, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.what, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", s.what, err)
	}
	if len(text) > maxSize {
		return fmt.Errorf("read %s: %s is larger than %d MiB", s.what, s.path, maxSize>>20)
	}
	if err := s.take(text); err != nil {
		return fmt.Errorf("read %s: %s: %w", s.what, s.path, err)
	}
	s.stamp = stamp
	return nil
}

// Change replaces the list by the result of change. It holds the lock of the file, so changes by
// other processes are not lost. For a list in a store it calls change again after a change by
// another process.
func (f *File[T]) Change(ctx context.Context, change func([]T) ([]T, error)) error {
	return f.change(ctx, func() (any, error) { return change(slices.Clone(f.all)) })
}

// change writes the JSON of the list that changed returns.
func (s *source) change(ctx context.Context, changed func() (any, error)) error {
	if s.shared != nil {
		return s.changeShared(ctx, changed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock, err := filelock.Wait(ctx, s.path+".lock")
	if err != nil {
		return fmt.Errorf("lock %s: %w", s.what, err)
	}
	defer unlock()
	s.stamp = ""
	if err := s.read(); err != nil {
		return err
	}
	all, err := changed()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := filelock.Replace(s.path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", s.what, err)
	}
	s.stamp = ""
	return s.read()
}

// All returns the list in the order of the file.
func (f *File[T]) All() ([]T, error) {
	if f.shared != nil {
		if err := f.Reread(context.Background()); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shared == nil {
		if err := f.read(); err != nil {
			return slices.Clone(f.all), err
		}
	}
	return slices.Clone(f.all), nil
}

// Find returns the element with a name. It notices changes of a file by other processes within a
// second, and a new element within 10 milliseconds. While the file cannot be read, Find returns the error of reading it. It reads no store:
// there it finds the elements of the last [File.Reread].
func (f *File[T]) Find(name string) (one T, found bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pause := range []time.Duration{lookPause, missPause} {
		if err := f.current(pause); err != nil {
			return one, false, err
		}
		if i, found := f.byName[name]; found {
			return f.all[i], true, nil
		}
	}
	return one, false, nil
}

// current reads the file unless it did so within the last pause. It returns the error of the last
// check.
func (s *source) current(pause time.Duration) error {
	if s.shared != nil {
		return s.currentShared()
	}
	if time.Since(s.looked) >= pause {
		_ = s.read() // its error is stored
	}
	return s.fault
}
