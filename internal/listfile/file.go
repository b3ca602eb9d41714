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
)

const (
	maxSize   = 8 << 20     // bytes
	lookPause = time.Second // minimum time between two checks for changes of the file
)

// A File is a list that is stored in a file. It is safe for concurrent use.
type File[T any] struct {
	path string
	what string // describes the content of the file in errors
	name func(T) string

	mu     sync.Mutex
	all    []T
	byName map[string]int // indexes of the elements in all; of several with the same name, the first
	looked time.Time
	stamp  string // stamp of the file that was read
	fault  error  // error of the last check
}

// Open returns the list in a file, which may be missing. name returns the name of an element;
// [File.Find] searches for it. The error is set if the file cannot be read.
func Open[T any](path, what string, name func(T) string) (*File[T], error) {
	f := &File[T]{path: path, what: what, name: name}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f, f.read()
}

// read reads the file if it changed, and stores the error. The caller holds the lock.
func (f *File[T]) read() error {
	f.looked, f.fault = time.Now(), f.readChanged()
	return f.fault
}

func (f *File[T]) readChanged() error {
	info, err := os.Stat(f.path) // the file is not opened, as an open file cannot be replaced on Windows
	if errors.Is(err, fs.ErrNotExist) {
		f.all, f.byName, f.stamp = nil, nil, ""
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", f.what, err)
	}
	stamp := fmt.Sprint(info.ModTime().UnixNano(), info.Size())
	if stamp == f.stamp {
		return nil
	}
	file, err := os.Open(f.path)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.what, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", f.what, err)
	}
	if len(text) > maxSize {
		return fmt.Errorf("read %s: %s is larger than %d MiB", f.what, f.path, maxSize>>20)
	}
	var all []T
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("read %s: %s: %w", f.what, f.path, err)
	}
	byName := make(map[string]int, len(all))
	for i, one := range slices.Backward(all) {
		byName[f.name(one)] = i
	}
	f.all, f.byName, f.stamp = all, byName, stamp
	return nil
}

// Change replaces the list by the result of change. It holds the lock of the file, so changes by
// other processes are not lost.
func (f *File[T]) Change(ctx context.Context, change func([]T) ([]T, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	unlock, err := filelock.Wait(ctx, f.path+".lock")
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.what, err)
	}
	defer unlock()
	f.stamp = ""
	if err := f.read(); err != nil {
		return err
	}
	all, err := change(slices.Clone(f.all))
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := filelock.Replace(f.path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", f.what, err)
	}
	f.stamp = ""
	return f.read()
}

// All returns the list in the order of the file.
func (f *File[T]) All() ([]T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.read()
	return slices.Clone(f.all), err
}

// Find returns the element with a name. It notices changes by other processes within a second.
// While the file cannot be read, Find returns the error of reading it.
func (f *File[T]) Find(name string) (one T, found bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) >= lookPause {
		_ = f.read() // its error is stored
	}
	if f.fault != nil {
		return one, false, f.fault
	}
	i, found := f.byName[name]
	if !found {
		return one, false, nil
	}
	return f.all[i], true, nil
}
