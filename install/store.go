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
	// maxDependencies is the maximum size in bytes of one package's dependencies in the lock.
	maxDependencies = 4 << 20
	// maxPackageName is the maximum length in bytes of a package's name and of its version. For
	// mcpb and folders the name is an address or a path.
	maxPackageName = 2 << 10

	markFile  = "junction-installed.json" // file in each installed folder; proves that the content is complete and was checked
	tempDir   = "tmp"
	locksDir  = "locks"
	blobsDir  = "blobs"
	lockSlots = "0123456789abcdef" // the first digit of a key selects one of these lock files, which limits their number
)

// A Store is a folder of installed packages. It is safe for concurrent use by several goroutines
// and several processes.
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

// neutral returns the working folder for package managers. They read settings and Python modules
// from this folder and those above it. The current folder, or one that all users can write to,
// could contain malicious ones.
func (s *Store) neutral() string { return filepath.Join(s.dir, tempDir) }

// blobs returns the folder for downloads that are not installed yet.
func (s *Store) blobs() string { return filepath.Join(s.dir, blobsDir) }

// Dir returns the folder of the store.
func (s *Store) Dir() string { return s.dir }

// kindOf returns the kind of a package. It returns an error for an unknown type or an invalid name.
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
	name := p.Type + ":" + displayName(p.Name)
	if p.Version != "" {
		name += "@" + p.Version
	}
	return fmt.Errorf("%s: %w", name, err)
}

// displayName returns the name of a package. If it is an address, the password is removed.
func displayName(name string) string {
	if !strings.Contains(name, "://") {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return "an address"
	}
	return u.Redacted()
}

// Resolve finds the exact version of a package, its integrity and its dependencies. It downloads
// files, but runs no code of the package. It returns ErrPulled for a pulled version.
func (s *Store) Resolve(ctx context.Context, p Package) (*Locked, error) {
	var l *Locked
	err := s.inEmptyFolder(p, "resolve", func(k kind, dir string) (err error) {
		if l, err = k.resolve(ctx, p, dir); err == nil && len(l.Dependencies) > maxDependencies {
			err = fmt.Errorf("its list of dependencies has %d bytes, but the limit is %d", len(l.Dependencies), maxDependencies)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// inEmptyFolder calls do with the kind of a package and an empty folder, which it removes
// afterwards. Errors name the package.
func (s *Store) inEmptyFolder(p Package, prefix string, do func(k kind, dir string) error) error {
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

// Install installs a locked package into the store, unless it is there, and returns its program. It
// checks all bytes. If they differ from the locked ones, it returns ErrIntegrity and keeps nothing.
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

// make installs a package. The caller holds the lock for key.
func (s *Store) make(ctx context.Context, k kind, l *Locked, key string) error {
	// Only the holder of the lock makes folders with these keys, so any that exist were left by
	// killed processes.
	left, _ := filepath.Glob(filepath.Join(escapeGlob(s.dir), tempDir, key[:1]+strings.Repeat("[0-9a-f]", 31)+"-*"))
	for _, dir := range left {
		_ = os.RemoveAll(dir) // an open file may remain; the next installation removes it
	}
	dir, err := s.temporary(key)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // no effect after the rename
	if err := k.install(ctx, l, dir); err != nil {
		return err
	}
	switch _, err := k.program(l, dir); {
	case errors.Is(err, ErrNotInstalled):
		return fmt.Errorf("the installed package lacks its program, %s", strings.Join(l.Program, " "))
	case err != nil && !errors.Is(err, ErrRuntime): // a missing runtime can be installed later
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
	if err := s.discard(final, key); err != nil { // removes a folder that Open refused
		return err
	}
	return os.Rename(dir, final)
}

// Open returns the program of an installed package. It neither uses the network nor starts a
// process. It returns ErrNotInstalled if the package is missing, and ErrRuntime if a program that
// it needs is missing.
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
	err := s.inEmptyFolder(l.Package, "advice", func(k kind, dir string) (err error) {
		advice, err = k.advice(ctx, l, dir)
		return err
	})
	return advice, err
}

// Audit finds known vulnerabilities of a package and its dependencies with the package manager's
// own command. It returns ErrNoAudit if no audit was possible.
func (s *Store) Audit(ctx context.Context, l *Locked) ([]Vulnerability, error) {
	var found []Vulnerability
	err := s.inEmptyFolder(l.Package, "audit", func(k kind, dir string) (err error) {
		found, err = k.audit(ctx, l, dir)
		return err
	})
	return found, err
}

// keyOf returns a hash of the locked data and of the machine's system and architecture.
func keyOf(l *Locked) string {
	same := *l
	if l.IsContainer() { // options do not affect the installation
		same.SetOptions(nil)
	}
	text, err := json.Marshal(&same)
	if err != nil {
		text = fmt.Appendf(nil, "%+v", *l) // invalid dependencies, which the kind will refuse
	}
	sum := sha256.Sum256(append(text, runtime.GOOS+"/"+runtime.GOARCH...))
	return hex.EncodeToString(sum[:16])
}

// folder returns the folder of a locked package.
func (s *Store) folder(l *Locked) string {
	return filepath.Join(s.dir, l.Type, fileName(l.Name), fileName(cmp.Or(l.Version, "0"))+"-"+keyOf(l))
}

// fileName converts a package's name to a file name that every system accepts. It need not be
// unique, because the key is.
func fileName(name string) string {
	const longest = 60
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_", r) {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	if len(safe) > longest {
		safe = safe[len(safe)-longest:] // keep the end, which is more specific in an address
	}
	return "p" + safe // so that it neither begins with a dot nor is a device name on Windows
}

// lock takes the lock for a key, which also excludes other processes.
func (s *Store) lock(ctx context.Context, key string) (unlock func(), err error) {
	return filelock.Wait(ctx, filepath.Join(s.dir, locksDir, key[:1]))
}

// temporary makes an empty folder inside the store, from where it can be renamed to a package's
// folder.
func (s *Store) temporary(key string) (string, error) {
	return os.MkdirTemp(filepath.Join(s.dir, tempDir), key+"-")
}

// A mark is the content of markFile in the folder of an installed and checked package.
type mark struct {
	Key    string `json:"key"`
	Python string `json:"python,omitempty"` // path of the interpreter to which a virtual environment links
}

func markOf(key, dir string) mark { return mark{Key: key, Python: realPython(dir)} }

// checkMark returns ErrNotInstalled if the folder is incomplete, or if its Python was removed.
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
	_ = os.Chtimes(path, now, now) // marks it as used for Prune; fails in a read-only store, which is not pruned
	return nil
}

// staleTime is the age at which Prune removes a temporary folder of a killed process.
const staleTime = 24 * time.Hour

// Prune removes packages that are not in keep and have not been opened for at least the given
// duration. It returns the number of freed bytes. The duration protects packages that only lock files
// unknown to the caller refer to.
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

// remove removes a package unless it was opened after a time.
func (s *Store) remove(ctx context.Context, dir string, before time.Time) (freed int64, err error) {
	key := dir[strings.LastIndexByte(dir, '-')+1:]
	if !strings.Contains(lockSlots, key[:min(1, len(key))]) || key == "" {
		return 0, nil // not a folder that the store made
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
	_ = os.Remove(filepath.Dir(dir)) // fails if another version remains
	return freed, nil
}

// discard removes a package's folder. The caller holds the lock for its key. It first renames the
// folder, so that other processes never see an incomplete one.
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

// escapeGlob returns a glob pattern that matches exactly the path.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // patterns have no escapes on Windows, and folder names rarely contain a bracket
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// size returns the total size in bytes of the readable files below a path.
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
