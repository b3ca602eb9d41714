package install

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/pelletier/go-toml/v2"
)

// cargo compiles crates with the user's Rust. Compiling runs code of the package and its
// dependencies, so Scripts must be set.
type cargo struct{ neutral string }

var (
	crateName    = lazy.Regexp(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	crateVersion = lazy.Regexp(`^[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$`)
)

// A crate is a version in the registry's index, in the form of a Cargo.lock.
type crate struct {
	Name     string `toml:"name"`
	Version  string `toml:"version"`
	Source   string `toml:"source"`
	Checksum string `toml:"checksum"`
}

// publicCrates is the name of the public registry in a Cargo.lock. It does not depend on the index
// that Cargo uses.
const publicCrates = "registry+https://github.com/rust-lang/crates.io-index"

// host returns the host of a crate's registry.
func (c crate) host() string {
	if c.Source == publicCrates {
		return "crates.io"
	}
	_, address, _ := strings.Cut(c.Source, "+") // the prefix is a kind, such as registry or sparse
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// crateLock is Locked.Dependencies of a crate: the Cargo.lock that its author packed. The crate's
// checksum covers it. Audits use it.
type crateLock struct {
	CargoLock string `json:"cargoLock"`
}

// look finds a crate in the registry. It writes a package to dir that depends on the crate.
func (cargo) look(ctx context.Context, p Package, version, dir string) (crate, error) {
	if !crateName().MatchString(p.Name) {
		return crate{}, errors.New("is not the name of a crate")
	}
	registry, own := strings.CutPrefix(p.Registry, "sparse+")
	if p.Registry != "" {
		if err := checkAddress(registry); err != nil {
			return crate{}, err
		}
	}
	dependency := fmt.Sprintf("%s = { version = %q", p.Name, version)
	if own {
		dependency += fmt.Sprintf(", registry-index = %q", p.Registry)
	}
	text := "[package]\nname = \"junction-lookup\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n[lib]\npath = \"lib.rs\"\n[dependencies]\n" + dependency + " }\n"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "Cargo.toml"), []byte(text), 0o600), os.WriteFile(filepath.Join(dir, "lib.rs"), nil, 0o600)); err != nil {
		return crate{}, err
	}
	_, err := run(ctx, command{name: "cargo", args: []string{"generate-lockfile"}, dir: dir, time: askTime})
	switch {
	case failedWith(err, "is yanked"):
		return crate{}, fmt.Errorf("%w: %w", ErrPulled, err)
	case failedWith(err, "no matching package", "failed to select a version for the requirement `"+p.Name+" "):
		return crate{}, fmt.Errorf("%w: %w", ErrNotFound, err)
	case err != nil:
		return crate{}, err
	}
	lock, err := readLimited(filepath.Join(dir, "Cargo.lock"), maxDependencies)
	if err != nil {
		return crate{}, err
	}
	var read struct {
		Package []crate `toml:"package"`
	}
	if err := toml.Unmarshal(lock, &read); err != nil {
		return crate{}, fmt.Errorf("its Cargo.lock: %w", err)
	}
	exact, pinned := strings.CutPrefix(version, "=")
	for _, c := range read.Package {
		if c.Name != p.Name || c.Source == "" || pinned && c.Version != exact {
			continue // a dependency may require another version of the crate itself
		}
		if !hexHash().MatchString(c.Checksum) {
			return crate{}, fmt.Errorf("version %s has no checksum in the registry's index", c.Version)
		}
		// A server.json names the public registry by its site, but Cargo by the index of the site.
		if u, err := url.Parse(registry); registry != "" && (err != nil || u.Host == "" || u.Host != c.host()) {
			return crate{}, fmt.Errorf("should come from %s, but Cargo uses %s: name the index as sparse+https://…", displayName(registry), c.Source)
		}
		return c, nil
	}
	return crate{}, fmt.Errorf("%w: Cargo does not lock it", ErrNotFound)
}

func (k cargo) resolve(ctx context.Context, p Package, dir string) (*Locked, error) {
	version := "*"
	if p.Version != "" && p.Version != "latest" {
		if !crateVersion().MatchString(p.Version) {
			return nil, errors.New("is not an exact version of a crate")
		}
		version = "=" + p.Version
	}
	c, err := k.look(ctx, p, version, dir)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(p.Registry, "sparse+") {
		p.Registry = ""
	}
	p.Version = c.Version
	if !p.Scripts {
		return nil, fmt.Errorf("%w: version %s is compiled here, with its own build scripts and those of its dependencies", ErrScripts, c.Version)
	}
	l := &Locked{Package: p, Integrity: "sha256:" + c.Checksum, Program: []string{"./bin/" + cmp.Or(p.Bin, p.Name)}}
	if text := k.ownLock(ctx, p); text != nil {
		l.Dependencies, err = json.Marshal(crateLock{string(text)})
	}
	return l, err
}

// ownLock returns the Cargo.lock in a crate. It returns nil if the crate has none or the installed
// Cargo cannot fetch it.
func (k cargo) ownLock(ctx context.Context, p Package) []byte {
	if p.Registry != "" {
		return nil // cargo info needs the name of a registry, which is not known
	}
	if _, err := run(ctx, command{name: "cargo", args: []string{"info", "--quiet", p.Name + "@" + p.Version}, dir: k.neutral, time: askTime}); err != nil {
		return nil
	}
	home := os.Getenv("CARGO_HOME")
	if home == "" {
		user, _ := os.UserHomeDir()
		home = filepath.Join(user, ".cargo")
	}
	found, _ := filepath.Glob(filepath.Join(escapeGlob(home), "registry", "src", "*", p.Name+"-"+p.Version, "Cargo.lock"))
	if len(found) != 1 {
		return nil
	}
	text, err := readLimited(found[0], maxDependencies/2)
	if err != nil {
		return nil
	}
	return text
}

func (k cargo) install(ctx context.Context, l *Locked, dir string) error {
	if !l.Scripts {
		return ErrScripts
	}
	if !crateVersion().MatchString(l.Version) {
		return errors.New("has no exact version in the lock")
	}
	// Cargo would use its default in place of an index that is not in this form.
	if l.Registry != "" && !strings.HasPrefix(l.Registry, "sparse+") {
		return fmt.Errorf("has the registry %s in the lock, which is not an index (sparse+https://…)", displayName(l.Registry))
	}
	look := filepath.Join(dir, "look")
	if err := os.Mkdir(look, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(look)
	c, err := k.look(ctx, l.Package, "="+l.Version, look)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w since it was locked: %w", ErrPulled, err)
	}
	if err != nil {
		return err
	}
	if "sha256:"+c.Checksum != l.Integrity { // cargo install compares the crate only with the index
		return fmt.Errorf("%w: its checksum was %s and is sha256:%s", ErrIntegrity, l.Integrity, c.Checksum)
	}
	args := []string{"install", "--quiet", "--locked", "--no-track", "--version", "=" + l.Version, "--root", dir}
	if l.Registry != "" {
		args = append(args, "--index", l.Registry)
	}
	if l.Bin != "" {
		args = append(args, "--bin="+l.Bin)
	}
	_, err = run(ctx, command{name: "cargo", args: append(args, "--", l.Name), dir: dir, time: buildTime})
	return err
}

func (cargo) program(l *Locked, dir string) (*Program, error) {
	if len(l.Program) != 1 || !strings.HasPrefix(l.Program[0], "./bin/") {
		return nil, ErrNotInstalled
	}
	return compiled(strings.TrimPrefix(l.Program[0], "./bin/"), l.Bin == "", filepath.Join(dir, "bin"), dir)
}

// compiled returns the program with a name in a folder. If any is set, it also accepts a single
// program with another name.
func compiled(name string, any bool, bin, dir string) (*Program, error) {
	entries, err := os.ReadDir(bin)
	if err != nil {
		return nil, ErrNotInstalled
	}
	var names []string
	for _, e := range entries {
		if strings.TrimSuffix(e.Name(), ".exe") == name {
			return &Program{Dir: dir, Argv: []string{filepath.Join(bin, e.Name())}}, nil
		}
		names = append(names, e.Name())
	}
	if any && len(names) == 1 {
		return &Program{Dir: dir, Argv: []string{filepath.Join(bin, names[0])}}, nil
	}
	return nil, fmt.Errorf("%w %q: choose one of %s", ErrNoProgram, name, strings.Join(names, ", "))
}

func (k cargo) advice(ctx context.Context, l *Locked, dir string) (Advice, error) {
	c, err := k.look(ctx, l.Package, "="+l.Version, dir)
	a := Advice{Pulled: errors.Is(err, ErrPulled) || errors.Is(err, ErrNotFound)}
	if err != nil && !a.Pulled {
		return a, err
	}
	if !a.Pulled && "sha256:"+c.Checksum != l.Integrity {
		return a, fmt.Errorf("%w: its checksum was %s and is sha256:%s", ErrIntegrity, l.Integrity, c.Checksum)
	}
	if err := os.RemoveAll(filepath.Join(dir, "Cargo.lock")); err != nil {
		return a, err
	}
	newest, err := k.look(ctx, l.Package, "*", dir)
	a.Newest = newest.Version
	if a.Pulled && err != nil {
		err = nil // every version was pulled
	}
	return a, err
}

func (cargo) audit(ctx context.Context, l *Locked, dir string) ([]Vulnerability, error) {
	var lock crateLock
	if json.Unmarshal(l.Dependencies, &lock) != nil || lock.CargoLock == "" {
		return nil, fmt.Errorf("%w: the crate has no Cargo.lock", ErrNoAudit)
	}
	if !present("cargo-audit") {
		return nil, fmt.Errorf("%w: cargo-audit %w: cargo install cargo-audit", ErrNoAudit, ErrRuntime)
	}
	file := filepath.Join(dir, "Cargo.lock")
	if err := os.WriteFile(file, []byte(lock.CargoLock), 0o600); err != nil {
		return nil, err
	}
	out, err := run(ctx, command{name: "cargo", args: []string{"audit", "--json", "--file", file}, dir: dir, time: askTime})
	var said struct {
		Vulnerabilities *struct {
			List []struct {
				Advisory struct {
					ID    string `json:"id"`
					Title string `json:"title"`
				} `json:"advisory"`
				Versions struct {
					Patched []string `json:"patched"`
				} `json:"versions"`
				Package struct {
					Name    string `json:"name"`
					Version string `json:"version"`
				} `json:"package"`
			} `json:"list"`
		} `json:"vulnerabilities"`
	}
	if json.Unmarshal(out, &said) != nil || said.Vulnerabilities == nil { // cargo audit exits with 1 if it finds vulnerabilities
		return nil, errors.Join(fmt.Errorf("%w by cargo audit", ErrNoAudit), err)
	}
	var found []Vulnerability
	for _, v := range said.Vulnerabilities.List {
		found = append(found, Vulnerability{Package: v.Package.Name, Version: v.Package.Version, ID: v.Advisory.ID, Title: oneLine(v.Advisory.Title), FixedIn: strings.Join(v.Versions.Patched, ", ")})
	}
	return found, nil
}
