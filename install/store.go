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
	// maxDependencies is how many bytes the dependencies of one package may take in the lock.
	maxDependencies = 4 << 20
	// maxPackageName is how many bytes the name and the version of a package may have each; of mcpb and folders it is an address or a path.
	maxPackageName = 2 << 10

	markFile  = "junction-installed.json" // in each installed folder: what lies there is whole and was checked
	tempDir   = "tmp"
	locksDir  = "locks"
	blobsDir  = "blobs"
	lockSlots = "0123456789abcdef" // the first digit of a key chooses the lock, so that there are few of them for ever
)

// Store is a folder of installed packages. All methods may be called at the same time, by several processes too.
type Store struct {
	dir string
	web *http.Client
}

// NewStore opens a store, and makes its folder where it is missing. An empty dir is junction/packages in the person's cache folder.
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

// neutral is the folder that package managers are started in. They take settings from there and from the folders above, and Python takes modules:
// where Junction was started, or a folder in which everybody may write, could have them do anything.
func (s *Store) neutral() string { return filepath.Join(s.dir, tempDir) }

// blobs is a folder for what was downloaded, until it is installed.
func (s *Store) blobs() string { return filepath.Join(s.dir, blobsDir) }

// Dir is the folder of the store.
func (s *Store) Dir() string { return s.dir }

// kindOf returns the installer of a package; the error says that its type is not known, or its name cannot be one.
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

// shown is the name of a package without a password that its address has.
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

// Resolve finds the exact version of a package, its integrity and its dependencies. It downloads, and runs no code of the package. A version
// that was pulled is refused with ErrPulled.
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

// within calls do with the installer of a package and an empty folder, which it then removes. An error names the package.
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

// Install puts a locked package into the store, where it is not there yet, and says how to start it. All bytes are checked: where they are not
// those that were locked, the error is ErrIntegrity, and nothing is left of them.
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
		return program, err // by another process, meanwhile
	}
	if err := s.make(ctx, k, l, key); err != nil {
		return nil, fail(l.Package, err)
	}
	return s.Open(l)
}

// make installs under the lock of key.
func (s *Store) make(ctx context.Context, k kind, l *Locked, key string) error {
	// The holder of the lock alone makes folders with these keys: these are of processes that were killed.
	left, _ := filepath.Glob(filepath.Join(escapeGlob(s.dir), tempDir, key[:1]+strings.Repeat("[0-9a-f]", 31)+"-*"))
	for _, dir := range left {
		_ = os.RemoveAll(dir) // the next installation removes what is still written there
	}
	dir, err := s.temporary(key)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // once renamed, it is not there
	if err := k.install(ctx, l, dir); err != nil {
		return err
	}
	switch _, err := k.program(l, dir); {
	case errors.Is(err, ErrNotInstalled):
		return fmt.Errorf("what was installed does not have its program, %s", strings.Join(l.Program, " "))
	case err != nil && !errors.Is(err, ErrRuntime): // which may come later
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
	if err := s.discard(final, key); err != nil { // what Open took for not installed
		return err
	}
	return os.Rename(dir, final)
}

// Open says how to start a locked package that is in the store. It asks nobody and starts nothing. The error is ErrNotInstalled where it is not
// there, and ErrRuntime where the program that runs it is missing.
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

// Advice asks the registry what it says of a locked package today.
func (s *Store) Advice(ctx context.Context, l *Locked) (Advice, error) {
	var advice Advice
	err := s.within(l.Package, "advice", func(k kind, dir string) (err error) {
		advice, err = k.advice(ctx, l, dir)
		return err
	})
	return advice, err
}

// Audit asks for known vulnerabilities of a package and its dependencies, by the package manager's own command. The error is ErrNoAudit where
// nobody could be asked.
func (s *Store) Audit(ctx context.Context, l *Locked) ([]Vulnerability, error) {
	var found []Vulnerability
	err := s.within(l.Package, "audit", func(k kind, dir string) (err error) {
		found, err = k.audit(ctx, l, dir)
		return err
	})
	return found, err
}

// keyOf is a name for exactly what is locked, on this kind of machine.
func keyOf(l *Locked) string {
	same := *l
	if l.IsContainer() { // whose options change nothing of what is installed
		same.SetOptions(nil)
	}
	text, err := json.Marshal(&same)
	if err != nil {
		text = fmt.Appendf(nil, "%+v", *l) // dependencies that are no JSON: whoever installs them refuses
	}
	sum := sha256.Sum256(append(text, runtime.GOOS+"/"+runtime.GOARCH...))
	return hex.EncodeToString(sum[:16])
}

// folder is where a locked package lies once it is installed.
func (s *Store) folder(l *Locked) string {
	return filepath.Join(s.dir, l.Type, fileName(l.Name), fileName(cmp.Or(l.Version, "0"))+"-"+keyOf(l))
}

// fileName makes a name of a package one of a file, on every system. It need not be unique: the key is.
func fileName(name string) string {
	const longest = 60
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_", r) {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	if len(safe) > longest {
		safe = safe[len(safe)-longest:] // of an address the end says more
	}
	return "p" + safe // never a name that begins with a dot or is a device of Windows
}

// lock takes the lock of a key among all processes.
func (s *Store) lock(ctx context.Context, key string) (unlock func(), err error) {
	return filelock.Wait(ctx, filepath.Join(s.dir, locksDir, key[:1]))
}

// temporary makes an empty folder next to the packages, so that it can be renamed to one.
func (s *Store) temporary(key string) (string, error) {
	return os.MkdirTemp(filepath.Join(s.dir, tempDir), key+"-")
}

// A mark stands in the folder of what was installed and checked as a whole.
type mark struct {
	Key    string `json:"key"`
	Python string `json:"python,omitempty"` // the real path of the interpreter that a virtual environment belongs to
}

func markOf(key, dir string) mark { return mark{Key: key, Python: realPython(dir)} }

// checkMark fails with ErrNotInstalled where the folder is not whole, or belongs to a Python that is no longer there.
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
	_ = os.Chtimes(path, now, now) // Prune keeps what was used lately; a store that may only be read has no Prune
	return nil
}

// staleTime is how long a temporary folder of a process that was killed may lie, where no later installation came upon it.
const staleTime = 24 * time.Hour

// Prune removes packages that are not among keep and were not opened for the time unused, and returns how many bytes that freed. Several files
// lock packages of one store, and who prunes need not know all of them: hence the time.
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
		return 0, nil // nothing of ours
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
	_ = os.Remove(filepath.Dir(dir)) // where that was the last version
	return freed, nil
}

// discard removes a folder of a package, under the lock of its key: first from its place as a whole, so that nobody finds half of it.
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

// escapeGlob makes a path match itself only.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // patterns have no escapes there, and names of folders rarely a bracket
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// size is the sum of the files below a path, as far as they can be seen.
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
