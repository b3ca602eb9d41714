package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	json2 "github.com/go-json-experiment/json"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/sandbox"
)

const (
	// LockName is the name of the file, next to a configuration, that determines the bytes of its
	// servers.
	LockName = "junction.lock"

	lockVersion = 1
	// maxLockFile is the maximum size of the file in bytes.
	maxLockFile = 64 << 20
	// maxLockWords is the maximum number of words in a command line of the file.
	maxLockWords = 256
)

// ErrNotReplaced reports that the entry of a server in a configuration differs from the locked one.
var ErrNotReplaced = errors.New("does not have the command line that is in the lock")

// A Lock is the content of the file junction.lock.
type Lock struct {
	Version int                      `json:"version"`
	Servers map[string]*LockedServer `json:"servers"`
}

// A LockedServer is the locked data of a server in the configuration.
type LockedServer struct {
	// Replaces holds the first words of the command line in the configuration, which stand for
	// Package. For a server with a URL it holds the URL.
	Replaces []string `json:"replaces,omitempty"`
	Package  *Locked  `json:"package,omitempty"` // nil for a server with a URL
	// Definitions maps "tool NAME" and "prompt NAME" to the hashes of the definitions that the user
	// reviewed.
	Definitions map[string]string `json:"definitions,omitempty"`
	Sandbox     *sandbox.Profile  `json:"sandbox,omitempty"` // nil if the server is not confined
	Name        string            `json:"name,omitempty"`    // name in its registry of servers
	Registry    string            `json:"registry,omitempty"`
	Source      string            `json:"source,omitempty"` // URL of the source code that the author declares
	// Next is the new data of the server while its configuration changes. It applies if the entry
	// begins with the words in Next.
	Next *LockedServer `json:"next,omitempty"`
}

// LockPath returns the path of the lock of a configuration file.
func LockPath(configuration string) string {
	return filepath.Join(filepath.Dir(configuration), LockName)
}

// ReadLock reads a lock. A missing file counts as a lock without servers. An unreadable or invalid
// file is an error, because no server may start without its lock.
func ReadLock(path string) (*Lock, error) {
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{Version: lockVersion, Servers: map[string]*LockedServer{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the lock: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLockFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the lock: %w", err)
	}
	l, err := parseLock(text)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used (%w); restore it from version control, or move it away and lock its servers again with junction server upgrade", path, err)
	}
	return l, nil
}

// openRegular opens a regular file of a project, which other users may have made. It refuses other
// kinds of files, because opening a pipe blocks, and a device may have no end.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the file may have been replaced since the check
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func parseLock(text []byte) (*Lock, error) {
	if len(text) > maxLockFile {
		return nil, fmt.Errorf("it has more than %d MiB", maxLockFile>>20)
	}
	l := new(Lock)
	if err := json2.Unmarshal(text, l, json2.RejectUnknownMembers(true)); err != nil {
		var version struct {
			Version int `json:"version"`
		}
		if json2.Unmarshal(text, &version) == nil && version.Version > lockVersion {
			return nil, fmt.Errorf("it has version %d, which this junction does not know: update junction", version.Version)
		}
		return nil, err
	}
	if l.Version != lockVersion {
		return nil, fmt.Errorf("it has version %d, but this junction supports only %d", l.Version, lockVersion)
	}
	if l.Servers == nil {
		l.Servers = map[string]*LockedServer{}
	}
	for name, s := range l.Servers {
		if err := s.check(name); err != nil {
			return nil, fmt.Errorf("server %q: %w", name, err)
		}
	}
	return l, nil
}

// check returns an error for an entry that this package would not write.
func (s *LockedServer) check(name string) error {
	if s == nil {
		return errors.New("it is empty")
	}
	if s.Next != nil {
		if s.Next.Next != nil {
			return errors.New("its replacement is itself replaced by another entry")
		}
		if err := s.Next.check(name); err != nil {
			return err
		}
		if len(s.Replaces) == 0 && s.Package == nil {
			return nil // only Next is set: the server is being added
		}
	}
	words := slices.Clone(s.Replaces)
	if len(s.Replaces) == 0 {
		return errors.New(`"replaces" is missing`)
	}
	if p := s.Package; p != nil {
		if len(p.Program) == 0 || p.Type == "" || p.Name == "" {
			return errors.New(`"package" has no type, no name or no program`)
		}
		if !p.IsContainer() { // for a container the program is the command line itself
			words = append(words, p.Program...)
		}
		if want := CommandLine(name, p); !slices.Equal(want, s.Replaces) {
			return fmt.Errorf("it has %q for %s %s %s, which should be %q", s.Replaces, p.Type, p.Name, p.Version, want)
		}
	} else if len(s.Replaces) != 1 || !strings.HasPrefix(s.Replaces[0], "https://") && !strings.HasPrefix(s.Replaces[0], "http://") {
		return errors.New(`it has no "package", and its "replaces" is not a URL`)
	}
	if len(words) > maxLockWords {
		return fmt.Errorf("its command line has more than %d words", maxLockWords)
	}
	for _, word := range words {
		if word == "" || strings.ContainsRune(word, 0) {
			return errors.New("a word of its command line is empty or has a zero byte")
		}
	}
	return nil
}

// Find returns the locked data of the server whose entry has the given words, or is at the given
// URL. It returns nil if the server is not locked, and ErrNotReplaced if the entry differs from the
// locked one.
func (l *Lock) Find(name string, words []string) (*LockedServer, error) {
	s := l.Servers[name]
	if s == nil {
		return nil, nil
	}
	for _, one := range []*LockedServer{s, s.Next} {
		if one != nil && len(one.Replaces) > 0 && len(words) >= len(one.Replaces) && slices.Equal(words[:len(one.Replaces)], one.Replaces) {
			return one, nil
		}
	}
	if len(s.Replaces) == 0 {
		return nil, nil // an addition that did not complete
	}
	return nil, fmt.Errorf("server %q: its entry %w: that is %s", name, ErrNotReplaced, strings.Join(s.Replaces, " "))
}

// encode returns the content of the file, which depends only on the lock.
func (l *Lock) encode() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(l); err != nil {
		return nil, err
	}
	if _, err := parseLock(b.Bytes()); err != nil { // an invalid lock must not be written
		return nil, err
	}
	return b.Bytes(), nil
}

func (l *Lock) write(path string) error {
	text, err := l.encode()
	if err == nil {
		err = filelock.Replace(path, text, 0o644) // readable, because it has no secrets and belongs in version control
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// A Change changes an entry of a configuration and its locked data together.
type Change struct {
	Configuration string // path of the configuration, which need not exist
	Mutex         string // path of the lock file held during a change; if empty, the caller holds it
	Name          string // name of the server
	// Words holds the words of the current entry, or nil if there is none.
	Words []string
	// Locked is the new locked data, or nil for none.
	Locked *LockedServer
	// Edit returns the new configuration. It may return the old one.
	Edit func(data []byte) ([]byte, error)

	killed func(step int) bool // for tests: reports whether to stop before write 1, 2 or 3, as if killed
}

// Apply makes the change. Even if the process is killed, the configuration and the lock match.
// Apply first writes a lock with the data for both configurations; then the configuration decides
// which data applies. If Apply fails, nothing has changed.
func (c Change) Apply(ctx context.Context) error {
	if c.Mutex != "" {
		unlock, err := filelock.Wait(ctx, c.Mutex)
		if err != nil {
			return err
		}
		defer unlock()
	}
	path := LockPath(c.Configuration)
	lock, err := ReadLock(path)
	if err != nil {
		return err
	}
	old, mode, err := readConfiguration(c.Configuration)
	if err != nil {
		return err
	}
	now, err := c.Edit(old)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Configuration, err)
	}
	before, _ := lock.Find(c.Name, c.Words)
	if last := lock.Servers[c.Name]; before == nil && last != nil && len(c.Words) > 0 && len(last.Replaces) > 0 {
		before = last // the entry was edited, so the last locked data applies
	}
	if before != nil {
		alone := *before
		alone.Next = nil
		before = &alone
	}
	if err := os.MkdirAll(filepath.Dir(c.Configuration), 0o700); err != nil {
		return err
	}
	if c.Locked != nil {
		both := &LockedServer{}
		if before != nil {
			*both = *before
		}
		both.Next = c.Locked
		lock.Servers[c.Name] = both
		if c.isKilled(1) {
			return nil
		}
		if err := lock.write(path); err != nil {
			return err
		}
	}
	if c.isKilled(2) {
		return nil
	}
	if !bytes.Equal(old, now) {
		if err = filelock.Replace(c.Configuration, now, mode); err != nil {
			if lock.Servers[c.Name] = before; before == nil {
				delete(lock.Servers, c.Name)
			}
			return errors.Join(fmt.Errorf("write %s: %w", c.Configuration, err), lock.write(path))
		}
	}
	if lock.Servers[c.Name] = c.Locked; c.Locked == nil {
		delete(lock.Servers, c.Name)
	}
	if c.isKilled(3) {
		return nil
	}
	if err := lock.write(path); err != nil && c.Locked == nil {
		return err
	} // if that fails, the new configuration already selects its data in the lock
	return nil
}

func (c Change) isKilled(before int) bool { return c.killed != nil && c.killed(before) }

func readConfiguration(path string) (data []byte, mode fs.FileMode, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, err
	}
	data, err = os.ReadFile(path) // the size was checked before
	return data, info.Mode().Perm(), err
}

// CommandLine returns the command line of a locked package for a configuration. Other hosts can run
// it too; Junction replaces it by the installed program. For a package that needs Junction, the
// command line starts Junction.
func CommandLine(name string, l *Locked) []string {
	p := runner.Package{Kind: l.Type, Name: l.Name, Version: l.Version, Program: l.Bin, With: l.With}
	if l.IsContainer() {
		p.Name, p.Options = l.Name+"@"+l.Integrity, l.Options()
	}
	if words := p.Words(); words != nil {
		return words
	}
	return []string{"junction", "proxy", name}
}

// OwnArgs returns the arguments of a server from the words after [CommandLine] in its entry. It
// removes the separator between a runner's own arguments and those of the server.
func OwnArgs(l *Locked, args []string) []string {
	if separator := runner.Of(l.Type).Separator; separator != "" && len(args) > 0 && args[0] == separator {
		return args[1:]
	}
	return args
}
