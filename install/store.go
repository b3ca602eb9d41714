package install

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/runner"
)

const (
	// maxDependencies is the maximum size of the dependencies of one package in the lock in bytes.
	maxDependencies = 4 << 20
	// maxPackageName is the maximum length of a package's name and of its version in bytes. For
	// mcpb and folders the name is an address or a path.
	maxPackageName = 2 << 10

	markFile  = "junction-installed.json" // in each installed folder: its content is complete and was checked
	tempDir   = "tmp"
	locksDir  = "locks"
	blobsDir  = "blobs"
	lockSlots = "0123456789abcdef" // the first digit of a key selects the lock, so that their number stays small
)

// A Store is a folder of installed packages. All methods are safe for concurrent use, also by
// several processes.
type Store struct {
	dir string
	web *http.Client
}

// NewStore opens a store and makes its folder if needed. An empty dir means junction/packages in
// the user's cache folder.
func NewStore(dir string) (*Store, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no folder for installed packages: %w", err)
		}
		dir = filepath.Join(cache, "junction", "packages")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{tempDir, locksDir, blobsDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("folder of installed packages: %w", err)
		}
	}
	return &Store{dir: dir, web: newWeb()}, nil
}

// neutral returns the folder in which package managers are started. They read settings, and Python
// modules, from their folder and those above. The current folder, or one that everyone may write
// to, could make them do anything.
func (s *Store) neutral() string { return filepath.Join(s.dir, tempDir) }

// blobs returns the folder for downloads until they are installed.
func (s *Store) blobs() string { return filepath.Join(s.dir, blobsDir) }

// Dir returns the folder of the store.
func (s *Store) Dir() string { return s.dir }

// kindOf returns the installer of a package. It returns an error for an unknown type or an invalid
// name.
func (s *Store) kindOf(p Package) (kind, error) {
	r, ok := rows[p.Type]
	if !ok {
		return nil, fmt.Errorf("package %q: its type %q is not one that can be installed: %s", p.Name, p.Type, strings.Join(slices.Sorted(maps.Keys(rows)), ", "))
	}
	if p.Name == "" || len(p.Name) > maxPackageName || len(p.Version) > maxPackageName || strings.ContainsAny(p.Name+p.Version, "\x00\r\n") {
		return nil, fmt.Errorf("%s package %.100q, version %.100q: not a name and a version", p.Type, p.Name, p.Version)
	}
	return r.installer(s), nil
}

// fail adds the name of the package to an error.
func fail(p Package, err error) error {
	if err == nil {
		return nil
	}
	name := p.Type + ":" + shown(p.Name)
	if p.Version != "" {
		name += "@" + p.Version
	}
	return fmt.Errorf("%s: %w", name, err)
}

// shown returns the name of a package without the password in its address.
func shown(name string) string {
	if !strings.Contains(name, "://") {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return "an address"
	}
	return u.Redacted()
}

// Resolve finds the exact version of a package, its integrity and its dependencies. It downloads,
// but runs no code of the package. For a version that was pulled it returns ErrPulled.
func (s *Store) Resolve(ctx context.Context, p Package) (*Locked, error) {
	var l *Locked
	err := s.within(p, "resolve", func(k kind, dir string) (err error) {
		if l, err = k.resolve(ctx, p, dir); err == nil && len(l.Dependencies) > maxDependencies {
			err = fmt.Errorf("its list of dependencies has %d bytes, and %d are the limit", len(l.Dependencies), maxDependencies)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// within calls do with the installer of a package and an empty folder, which it removes afterwards.
// Its error names the package.
func (s *Store) within(p Package, prefix string, do func(k kind, dir string) error) error {
	k, err := s.kindOf(p)
	if err != nil {
		return err
	}
	dir, err := s.temporary(prefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return fail(p, do(k, dir))
}

// Install installs a locked package into the store unless it is there, and returns how to start it.
// It checks all bytes. If they differ from the locked ones, it returns ErrIntegrity and keeps
// nothing.
func (s *Store) Install(ctx context.Context, l *Locked) (*Program, error) {
	k, err := s.kindOf(l.Package)
	if err != nil {
		return nil, err
	}
	if program, err := s.Open(l); !errors.Is(err, ErrNotInstalled) {
		return program, err
	}
	key := keyOf(l)
	unlock, err := s.lock(ctx, key)
	if err != nil {
		return nil, fail(l.Package, err)
	}
	defer unlock()
	if program, err := s.Open(l); !errors.Is(err, ErrNotInstalled) {
		return program, err // another process installed it meanwhile
	}
	if err := s.make(ctx, k, l, key); err != nil {
		return nil, fail(l.Package, err)
	}
	return s.Open(l)
}

// make installs a package. The caller holds the lock of key.
func (s *Store) make(ctx context.Context, k kind, l *Locked, key string) error {
	// Only the holder of the lock makes folders with these keys, so these are left from killed
	// processes.
	left, _ := filepath.Glob(filepath.Join(escapeGlob(s.dir), tempDir, key[:1]+strings.Repeat("[0-9a-f]", 31)+"-*"))
	for _, dir := range left {
		_ = os.RemoveAll(dir) // the next installation removes files that are still being written
	}
	dir, err := s.temporary(key)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // does nothing after the rename
	if err := k.install(ctx, l, dir); err != nil {
		return err
	}
	switch _, err := k.program(l, dir); {
	case errors.Is(err, ErrNotInstalled):
		return fmt.Errorf("the installed package lacks its program, %s", strings.Join(l.Program, " "))
	case err != nil && !errors.Is(err, ErrRuntime): // the runtime may be installed later
		return err
	}
	mark, err := json.Marshal(markOf(key, dir))
	if err != nil {
		return err
	}
	if err := filelock.Replace(filepath.Join(dir, markFile), mark, 0o600); err != nil {
		return err
	}
	final := s.folder(l)
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return err
	}
	if err := s.discard(final, key); err != nil { // removes a folder that Open rejected
		return err
	}
	return os.Rename(dir, final)
}

// Open returns how to start a locked package in the store. It uses no network and starts nothing.
// It returns ErrNotInstalled if the package is missing, and ErrRuntime if the program that runs it
// is missing.
func (s *Store) Open(l *Locked) (*Program, error) {
	k, err := s.kindOf(l.Package)
	if err != nil {
		return nil, err
	}
	dir := s.folder(l)
	if runner.Of(l.Type).InPlace {
		dir = l.Name
	} else if err := s.checkMark(dir, keyOf(l)); err != nil {
		return nil, fail(l.Package, err)
	}
	program, err := k.program(l, dir)
	return program, fail(l.Package, err)
}

// Advice returns the registry's current information about a locked package.
func (s *Store) Advice(ctx context.Context, l *Locked) (Advice, error) {
	var advice Advice
	err := s.within(l.Package, "advice", func(k kind, dir string) (err error) {
		advice, err = k.advice(ctx, l, dir)
		return err
	})
	return advice, err
}

// Audit finds known vulnerabilities of a package and its dependencies with the package manager's
// own command. It returns ErrNoAudit if no audit was possible.
func (s *Store) Audit(ctx context.Context, l *Locked) ([]Vulnerability, error) {
	var found []Vulnerability
	err := s.within(l.Package, "audit", func(k kind, dir string) (err error) {
		found, err = k.audit(ctx, l, dir)
		return err
	})
	return found, err
}

// keyOf returns a hash of the locked data and of the type of this machine.
func keyOf(l *Locked) string {
	same := *l
	if l.IsContainer() { // options do not change the installation
		same.SetOptions(nil)
	}
	text, err := json.Marshal(&same)
	if err != nil {
		text = fmt.Appendf(nil, "%+v", *l) // invalid dependencies, which the installer refuses
	}
	sum := sha256.Sum256(append(text, runtime.GOOS+"/"+runtime.GOARCH...))
	return hex.EncodeToString(sum[:16])
}

// folder returns the folder of a locked package.
func (s *Store) folder(l *Locked) string {
	return filepath.Join(s.dir, l.Type, fileName(l.Name), fileName(cmp.Or(l.Version, "0"))+"-"+keyOf(l))
}

// fileName converts the name of a package to a file name for every system. It need not be unique,
// because the key is.
func fileName(name string) string {
	const longest = 60
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_", r) {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	if len(safe) > longest {
		safe = safe[len(safe)-longest:] // the end of an address is more specific
	}
	return "p" + safe // never begins with a dot, and is never a device of Windows
}

// lock takes the lock of a key, across processes.
func (s *Store) lock(ctx context.Context, key string) (unlock func(), err error) {
	return filelock.Wait(ctx, filepath.Join(s.dir, locksDir, key[:1]))
}

// temporary makes an empty folder in the store, so that it can be renamed to a package's folder.
func (s *Store) temporary(key string) (string, error) {
	return os.MkdirTemp(filepath.Join(s.dir, tempDir), key+"-")
}

// A mark is stored in the folder of a package that was installed and checked completely.
type mark struct {
	Key    string `json:"key"`
	Python string `json:"python,omitempty"` // path of the interpreter that a virtual environment links to
}

func markOf(key, dir string) mark { return mark{Key: key, Python: realPython(dir)} }

// checkMark returns ErrNotInstalled if the folder is incomplete, or belongs to a Python that was
// removed.
func (s *Store) checkMark(dir, key string) error {
	path := filepath.Join(dir, markFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return ErrNotInstalled
	}
	var m mark
	if json.Unmarshal(text, &m) != nil || m.Key != key || m.Python != realPython(dir) {
		return ErrNotInstalled
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // Prune keeps recently used packages; in a read-only store there is no Prune
	return nil
}

// staleTime is how long a temporary folder of a killed process is kept if no later installation
// removes it.
const staleTime = 24 * time.Hour

// Prune removes packages that are not in keep and were not opened for the time unused, and returns
// the freed bytes. Files that the caller does not know may lock packages of the same store; unused
// protects these.
func (s *Store) Prune(ctx context.Context, keep []*Locked, unused time.Duration) (freed int64, err error) {
	kept := map[string]bool{}
	for _, l := range keep {
		kept[s.folder(l)] = true
	}
	folders, err := filepath.Glob(filepath.Join(escapeGlob(s.dir), "*", "*", "*-*"))
	if err != nil {
		return 0, err
	}
	before := time.Now().Add(-unused)
	for _, dir := range folders {
		if rel, err := filepath.Rel(s.dir, dir); err != nil || rows[strings.Split(rel, string(filepath.Separator))[0]].installer == nil || kept[dir] {
			continue
		}
		n, err := s.remove(ctx, dir, before)
		freed += n
		if err != nil {
			return freed, err
		}
	}
	for _, sub := range []string{tempDir, blobsDir} {
		entries, err := os.ReadDir(filepath.Join(s.dir, sub))
		if err != nil {
			return freed, err
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleTime {
				path := filepath.Join(s.dir, sub, e.Name())
				n := size(path)
				if os.RemoveAll(path) == nil {
					freed += n
				}
			}
		}
	}
	return freed, nil
}

// remove removes one package that was last opened before a time.
func (s *Store) remove(ctx context.Context, dir string, before time.Time) (freed int64, err error) {
	key := dir[strings.LastIndexByte(dir, '-')+1:]
	if !strings.Contains(lockSlots, key[:min(1, len(key))]) || key == "" {
		return 0, nil // not a folder of the store
	}
	unlock, err := s.lock(ctx, key)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if info, err := os.Stat(filepath.Join(dir, markFile)); err == nil && info.ModTime().After(before) {
		return 0, nil
	}
	freed = size(dir)
	if err := s.discard(dir, key); err != nil {
		return 0, err
	}
	_ = os.Remove(filepath.Dir(dir)) // fails unless that was the last version
	return freed, nil
}

// discard removes a folder of a package. The caller holds the lock of its key. It first moves the
// folder away as a whole, so that others never see a part of it.
func (s *Store) discard(dir, key string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	old, err := s.temporary(key)
	if err != nil {
		return err
	}
	defer os.RemoveAll(old)
	return os.Rename(dir, filepath.Join(old, "old"))
}

// escapeGlob returns a pattern that matches only the path.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // patterns have no escapes there, and names of folders rarely a bracket
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// size returns the total size of the readable files below a path.
func size(path string) (sum int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
