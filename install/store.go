package install

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	dir   string
	web   *http.Client
	kinds map[string]kind
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
	s := &Store{dir: dir, web: newWeb()}
	// Package managers take settings from the folder that they are started in and from those above it, and Python takes modules. Where Junction was
	// started, or a folder in which everybody may write, could have them do anything.
	neutral := filepath.Join(dir, tempDir)
	s.kinds = map[string]kind{
		NPM:    npm{neutral: neutral},
		PyPI:   pypi{web: s.web, neutral: neutral},
		Cargo:  cargo{neutral: neutral},
		NuGet:  nuget{web: s.web, blobs: filepath.Join(dir, blobsDir), neutral: neutral},
		OCI:    oci{web: s.web},
		MCPB:   mcpb{web: s.web, blobs: filepath.Join(dir, blobsDir)},
		Folder: folder{},
	}
	return s, nil
}

// Dir is the folder of the store.
func (s *Store) Dir() string { return s.dir }

// kindOf returns who installs packages of this type, once the name can be one.
func (s *Store) kindOf(p Package) (kind, error) {
	k, ok := s.kinds[p.Type]
	if !ok {
		return nil, fmt.Errorf("package %q: its type %q is not one that can be installed: %s", p.Name, p.Type, strings.Join(slices.Sorted(maps.Keys(s.kinds)), ", "))
	}
	if p.Name == "" || len(p.Name) > maxPackageName || len(p.Version) > maxPackageName || strings.ContainsAny(p.Name+p.Version, "\x00\r\n") {
		return nil, fmt.Errorf("%s package %.100q, version %.100q: not a name and a version", p.Type, p.Name, p.Version)
	}
	return k, nil
}

// fail names the package once, before the step that failed.
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
	k, err := s.kindOf(p)
	if err != nil {
		return nil, err
	}
	dir, err := s.temporary("resolve")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	l, err := k.resolve(ctx, p, dir)
	if err == nil && len(l.Dependencies) > maxDependencies {
		err = fmt.Errorf("its list of dependencies has %d bytes, and %d are the limit", len(l.Dependencies), maxDependencies)
	}
	if err != nil {
		return nil, fail(p, err)
	}
	return l, nil
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
	s.sweep(key[:1])
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
	if l.Type == Folder {
		dir = l.Name
	} else if err := s.checkMark(dir, keyOf(l)); err != nil {
		return nil, fail(l.Package, err)
	}
	program, err := k.program(l, dir)
	return program, fail(l.Package, err)
}

// Advice asks the registry what it says of a locked package today.
func (s *Store) Advice(ctx context.Context, l *Locked) (Advice, error) {
	k, err := s.kindOf(l.Package)
	if err != nil {
		return Advice{}, err
	}
	dir, err := s.temporary("advice")
	if err != nil {
		return Advice{}, err
	}
	defer os.RemoveAll(dir)
	advice, err := k.advice(ctx, l, dir)
	return advice, fail(l.Package, err)
}

// Audit asks for known vulnerabilities of a package and its dependencies, by the package manager's own command. The error is ErrNoAudit where
// nobody could be asked.
func (s *Store) Audit(ctx context.Context, l *Locked) ([]Vulnerability, error) {
	k, err := s.kindOf(l.Package)
	if err != nil {
		return nil, err
	}
	dir, err := s.temporary("audit")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	found, err := k.audit(ctx, l, dir)
	return found, fail(l.Package, err)
}

// keyOf is a name for exactly what is locked, on this kind of machine.
func keyOf(l *Locked) string {
	text, err := json.Marshal(l)
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
