package install

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// npm installs packages with the person's own npm.
type npm struct{ neutral string }

var (
	npmName    = regexp.MustCompile(`^(?:@[A-Za-z0-9~][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_][A-Za-z0-9._~-]*$`)
	npmVersion = regexp.MustCompile(`^[0-9A-Za-z.*^~<>=|+ -]*$`) // a version, a range or a tag; no address, no other package
)

// An npmLock is a package-lock.json: npm's own form, of which we read what has to be checked, and keep the rest.
type npmLock struct {
	Name            string                     `json:"name"`
	LockfileVersion int                        `json:"lockfileVersion"`
	Requires        bool                       `json:"requires"`
	Packages        map[string]json.RawMessage `json:"packages"`
}

// An npmEntry is one package of the lock, by the folder that it goes to.
type npmEntry struct {
	Name             string            `json:"name"`
	Version          string            `json:"version"`
	Resolved         string            `json:"resolved"`
	Integrity        string            `json:"integrity"`
	Link             bool              `json:"link"`
	HasInstallScript bool              `json:"hasInstallScript"`
	Bin              map[string]string `json:"bin"`

	BundleDependencies   npmNames          `json:"bundleDependencies"`
	Dependencies         map[string]string `json:"dependencies"`
	OptionalDependencies map[string]string `json:"optionalDependencies"`
	PeerDependencies     map[string]string `json:"peerDependencies"`
}

func (npm) resolve(ctx context.Context, p Package, dir string) (*Locked, error) {
	if !npmName.MatchString(p.Name) {
		return nil, fmt.Errorf("is not a name of npm")
	}
	if !npmVersion.MatchString(p.Version) {
		return nil, fmt.Errorf("is not a version, a range or a tag; addresses and folders are other types of packages")
	}
	var err error
	if p.Registry, err = npmRegistry(ctx, p.Registry, dir); err != nil {
		return nil, err
	}
	if err := writeNPM(dir, p.Name, cmp.Or(p.Version, "latest")); err != nil {
		return nil, err
	}
	if _, err := runNPM(ctx, p, dir, "install", "--package-lock-only", "--ignore-scripts", "--omit-lockfile-registry-resolved"); err != nil {
		return nil, err
	}
	text, err := readLimited(filepath.Join(dir, "package-lock.json"), maxDependencies)
	if err != nil {
		return nil, err
	}
	return lockNPM(p, text)
}

// writeNPM writes the package.json that has one dependency.
func writeNPM(dir, name, version string) error {
	return writeJSON(filepath.Join(dir, "package.json"), map[string]any{"name": "junction-installed", "private": true, "dependencies": map[string]string{name: version}})
}

// runNPM runs npm in a folder with a package.json.
func runNPM(ctx context.Context, p Package, dir string, args ...string) ([]byte, error) {
	if _, err := lookUp("node"); err != nil {
		return nil, err
	}
	args = append(args, "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--lockfile-version=3", "--loglevel=error", "--json")
	if p.Registry != "" {
		args = append(args, "--registry="+p.Registry)
		if scope, _, ok := strings.Cut(p.Name, "/"); ok {
			args = append(args, "--"+scope+":registry="+p.Registry)
		}
	}
	limit := installTime
	if args[0] == "view" || args[0] == "audit" {
		limit = askTime
		args = append(args, "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=1000") // npm's own wait is over a minute where there is no network
		cache, err := os.MkdirTemp("", "junction-npm-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(cache)
		args = append(args, "--cache="+cache) // from its own cache npm answers without a network, and what is there may be old
	}
	out, err := run(ctx, command{name: "npm", args: args, dir: dir, time: limit})
	return out, explainNPM(p.Name, out, err)
}

// explainNPM says what a failure of npm means for a package.
func explainNPM(name string, out []byte, err error) error {
	var failed *commandError
	if !errors.As(err, &failed) {
		return err
	}
	var said struct {
		Error struct{ Code, Summary string }
	}
	if at := bytes.LastIndex(out, []byte("{\n  \"error\"")); at >= 0 {
		out = out[at:]
	}
	if json.Unmarshal(out, &said) != nil || said.Error.Code == "" {
		return err
	}
	summary := oneLine(said.Error.Summary)
	switch said.Error.Code {
	case "ETARGET":
		if wanted, is := strings.CutPrefix(summary, "No matching version found for "); is && !strings.HasPrefix(wanted, name+"@") {
			return fmt.Errorf("it needs a package that %w: %s", ErrNotFound, summary)
		}
		return fmt.Errorf("%w: %s", ErrNotFound, summary)
	case "E404", "ENOVERSIONS":
		return fmt.Errorf("%w: %s", ErrNotFound, summary)
	case "EINTEGRITY":
		return fmt.Errorf("%w: %s", ErrIntegrity, summary)
	}
	return &commandError{failed.what, failed.cause, said.Error.Code + ": " + summary}
}

// lockNPM checks a package-lock.json that npm wrote, and makes a Locked of it.
func lockNPM(p Package, text []byte) (*Locked, error) {
	lock, entries, err := readNPMLock(text)
	if err != nil {
		return nil, err
	}
	folder := "node_modules/" + p.Name
	entry, ok := entries[folder]
	if !ok {
		return nil, fmt.Errorf("npm's lock has no %s", folder)
	}
	p.Version = entry.Version
	l := &Locked{Package: p, Integrity: entry.Integrity}
	for where, e := range entries {
		if e.HasInstallScript {
			l.WantScripts = append(l.WantScripts, nameOfNPM(where, e)+"@"+e.Version)
		}
	}
	slices.Sort(l.WantScripts)
	l.WantScripts = slices.Compact(l.WantScripts)
	bin, err := chooseBin(p, entry.Bin)
	if err != nil {
		return nil, err
	}
	l.Program = []string{"node", "./" + path.Join(folder, bin)}
	if l.Dependencies, err = json.Marshal(lock); err != nil {
		return nil, err
	}
	return l, nil
}

// nameOfNPM is the name of a package that goes to a folder.
func nameOfNPM(folder string, e npmEntry) string {
	return cmp.Or(e.Name, folder[strings.LastIndex(folder, "node_modules/")+len("node_modules/"):])
}

// readNPMLock reads a package-lock.json and checks that each package has an integrity. It omits where packages come from: that is the
// setting of whoever installs them.
func readNPMLock(text []byte) (*npmLock, map[string]npmEntry, error) {
	var lock npmLock
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, nil, fmt.Errorf("npm's lock: %w", err)
	}
	if lock.LockfileVersion != 3 {
		return nil, nil, fmt.Errorf("npm's lock has version %d where 3 was asked for: npm 7 or later is needed", lock.LockfileVersion)
	}
	entries := map[string]npmEntry{}
	for folder, raw := range lock.Packages {
		if folder == "" {
			delete(lock.Packages, "") // our package.json, whose words depend on how the version was asked for; install writes its own
			continue
		}
		var e npmEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, nil, fmt.Errorf("npm's lock: %s: %w", folder, err)
		}
		if !strings.HasPrefix(folder, "node_modules/") || !filepath.IsLocal(filepath.FromSlash(folder)) || path.Clean(folder) != folder {
			return nil, nil, fmt.Errorf("npm's lock has a package at %q, which is outside of node_modules", folder)
		}
		entries[folder] = e
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return nil, nil, err
		}
		for _, name := range []string{"resolved", "funding", "license"} { // nothing is installed by them
			delete(members, name)
		}
		var err error
		if lock.Packages[folder], err = json.Marshal(members); err != nil {
			return nil, nil, err
		}
	}
	bundled := bundledNPM(entries)
	for _, folder := range slices.Sorted(maps.Keys(entries)) {
		if err := entries[folder].check(folder, bundled[folder] != ""); err != nil {
			return nil, nil, err
		}
		if err := lock.forgetMissing(folder, entries); err != nil {
			return nil, nil, err
		}
	}
	return &lock, entries, nil
}

// forgetMissing removes from a package the optional dependencies that the lock lacks: npm install does without such a dependency and
// locks none, and npm ci then refuses the lock.
func (l *npmLock) forgetMissing(folder string, entries map[string]npmEntry) error {
	wanted := entries[folder].OptionalDependencies
	there := maps.Clone(wanted)
	maps.DeleteFunc(there, func(name, _ string) bool { return findNPM(entries, folder, name) == "" })
	if len(there) == len(wanted) {
		return nil
	}
	return l.set(folder, "optionalDependencies", there)
}

// set sets a member of the package that goes to a folder.
func (l *npmLock) set(folder, member string, value any) error {
	var members map[string]json.RawMessage
	err := json.Unmarshal(l.Packages[folder], &members)
	if err == nil {
		members[member], err = json.Marshal(value)
	}
	if err == nil {
		l.Packages[folder], err = json.Marshal(members)
	}
	return err
}

// chooseBin chooses as npx does: the only program, or that with the package's own name.
func chooseBin(p Package, bins map[string]string) (string, error) {
	_, own, scoped := strings.Cut(p.Name, "/")
	if !scoped {
		own = p.Name
	}
	names := slices.Sorted(maps.Keys(bins))
	chosen := cmp.Or(p.Bin, own)
	if _, ok := bins[chosen]; !ok && p.Bin == "" && len(names) > 0 {
		chosen = names[0]
		if slices.ContainsFunc(names, func(name string) bool { return bins[name] != bins[chosen] }) {
			return "", fmt.Errorf("has several programs, and none with its own name: say which of %s", strings.Join(names, ", "))
		}
	}
	file, ok := bins[chosen]
	switch {
	case len(names) == 0:
		return "", errors.New("has no program that could be started: it is a library")
	case !ok:
		return "", fmt.Errorf("%w %q: it has %s", ErrNoProgram, chosen, strings.Join(names, ", "))
	}
	if file = path.Clean(file); !filepath.IsLocal(filepath.FromSlash(file)) {
		return "", fmt.Errorf("its program %s lies at %q, outside of the package", chosen, file)
	}
	return file, nil
}

func (npm) install(ctx context.Context, l *Locked, dir string) error {
	// A lock may be written by anybody: this one must be one that resolve makes.
	switch {
	case !npmName.MatchString(l.Name):
		return errors.New("is not a name of npm")
	case !npmExact.MatchString(l.Version):
		return errors.New("has no exact version in the lock")
	case l.Registry != "":
		if err := checkAddress(l.Registry); err != nil {
			return err
		}
	}
	lock, entries, err := readNPMLock(l.Dependencies)
	if err != nil {
		return err
	}
	entry := entries["node_modules/"+l.Name]
	if name := nameOfNPM("node_modules/"+l.Name, entry); name != l.Name {
		return fmt.Errorf("the lock contradicts itself: in its dependencies %s stands for it", name)
	}
	if entry.Version != l.Version || entry.Integrity != l.Integrity || l.Integrity == "" {
		return fmt.Errorf("the lock contradicts itself: version %s with %s, and in its dependencies version %s with %s", l.Version, l.Integrity, entry.Version, entry.Integrity)
	}
	if err := writeNPM(dir, l.Name, l.Version); err != nil {
		return err
	}
	for folder, e := range entries {
		if e.Integrity == "" { // npm fails where it would download this package
			if err := lock.set(folder, "integrity", noArchive); err != nil {
				return err
			}
		}
	}
	root := map[string]any{"name": "junction-installed", "dependencies": map[string]string{l.Name: l.Version}}
	if lock.Packages[""], err = json.Marshal(root); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(dir, "package-lock.json"), lock); err != nil {
		return err
	}
	scripts := "--ignore-scripts"
	if l.Scripts {
		scripts = "--ignore-scripts=false"
	}
	_, err = runNPM(ctx, l.Package, dir, "ci", scripts, "--include=optional")
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w, it or one of its dependencies, since it was locked: %w", ErrPulled, err)
	}
	return err
}

// program starts the file of a package's bin with what its first line asks for, which mostly is node; npx would do the same by way of a link.
func (npm) program(l *Locked, dir string) (*Program, error) {
	if err := l.expect("node", "./node_modules/"+l.Name+"/*"); err != nil {
		return nil, err
	}
	return programIn(l.Program, dir)
}
