package definitions

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Limits of a store.
const (
	maxFile  = 4 << 20 // largest size of a file in bytes
	maxFiles = 256     // largest number of files
)

const (
	suffix     = ".json"
	secretFile = "key"
	secretSize = 32
)

// A Store stores definitions in a folder. Several processes may share the folder, and all methods
// are safe for concurrent use.
type Store struct {
	dir    string
	secret []byte
}

// Open opens the store in a folder, which it creates if necessary.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("remember definitions: %w", err)
	}
	secret, err := readSecret(filepath.Join(dir, secretFile))
	if err != nil {
		return nil, fmt.Errorf("remember definitions: %w", err)
	}
	return &Store{dir: dir, secret: secret}, nil
}

// OpenDefault opens the store in the user's cache folder. All programs of the user share it.
func OpenDefault() (*Store, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("remember definitions: %w", err)
	}
	return Open(filepath.Join(cache, "junction", "definitions"))
}

// readSecret reads the key of the hashes, and creates it if it is missing. If two processes create
// it at the same time, both use the first one.
func readSecret(path string) ([]byte, error) {
	secret, err := os.ReadFile(path)
	if err == nil && len(secret) == secretSize {
		return secret, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	secret = make([]byte, secretSize)
	rand.Read(secret)
	temp, err := writeTemp(filepath.Dir(path), secret)
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp)
	if err := os.Link(temp, path); err != nil {
		if read, readErr := os.ReadFile(path); readErr == nil && len(read) == secretSize {
			return read, nil
		}
		return secret, os.Rename(temp, path) // the file system has no hard links, or the existing file was damaged
	}
	return secret, nil
}

// writeTemp writes data to a temporary file with access for this user only.
func writeTemp(dir string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// An Entry is the place of one server's definitions in a store. Its methods are safe for concurrent
// use.
type Entry struct {
	store  *Store
	key    string
	others []*Entry
}

// Entry returns the place of a server with an origin. If nothing is stored for the origin, Load
// returns the definitions of the first of the others that has some.
func (s *Store) Entry(o Origin, others ...Origin) *Entry {
	e := &Entry{store: s, key: o.key(s.secret)}
	for _, other := range others {
		e.others = append(e.others, s.Entry(other))
	}
	return e
}

func (e *Entry) path() string { return filepath.Join(e.store.dir, e.key+suffix) }

// Load returns the stored definitions, or nil if there are none or if the file cannot be read.
func (e *Entry) Load() *Definitions {
	if d := e.load(); d != nil {
		return d
	}
	for _, other := range e.others {
		if d := other.load(); d != nil {
			return d
		}
	}
	return nil
}

func (e *Entry) load() *Definitions {
	f, err := os.Open(e.path())
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil
	}
	d, err := parse(data, e.key)
	if err != nil {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(e.path(), now, now) // marks the file as recently used
	return d
}

// Save replaces the stored definitions, or removes them if d is nil. It returns an error for
// definitions of more than 4 MiB and does not store them. If there are more than 256 files, it
// removes those that were not loaded for the longest time.
func (e *Entry) Save(d *Definitions) error {
	if d == nil {
		if err := os.Remove(e.path()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data := d.append(nil, e.key)
	if len(data) > maxFile {
		_ = os.Remove(e.path()) // outdated definitions would be worse than none
		return fmt.Errorf("the definitions have %d bytes, and at most %d are remembered", len(data), maxFile)
	}
	temp, err := writeTemp(e.store.dir, data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, e.path()); err != nil {
		os.Remove(temp)
		return err
	}
	return e.store.prune()
}

// tempAge is the age of a temporary file above which it counts as abandoned.
const tempAge = time.Hour

// prune removes the least recently used files if there are too many.
func (s *Store) prune() error {
	all, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	for _, entry := range all {
		info, err := entry.Info()
		switch {
		case err != nil: // another process removed it
		case strings.HasPrefix(entry.Name(), ".new-") && time.Since(info.ModTime()) > tempAge:
			os.Remove(filepath.Join(s.dir, entry.Name()))
		case strings.HasSuffix(entry.Name(), suffix):
			files = append(files, info)
		}
	}
	if len(files) <= maxFiles {
		return nil
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	for _, old := range files[:len(files)-maxFiles] {
		os.Remove(filepath.Join(s.dir, old.Name()))
	}
	return nil
}
