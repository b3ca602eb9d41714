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
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/lazy"
)

// npm installs packages with the user's npm.
type npm struct{ neutral string }

var (
	npmName    = lazy.Regexp(`^(?:@[A-Za-z0-9~][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_][A-Za-z0-9._~-]*$`)
	npmVersion = lazy.Regexp(`^[0-9A-Za-z.*^~<>=|+ -]*$`) // matches a version, a range or a tag, but not an address or another package
)

// An npmLock is a package-lock.json, npm's own format. The members to check are decoded, and the
// others are kept as they are.
type npmLock struct {
	Name            string                     `json:"name"`
	LockfileVersion int                        `json:"lockfileVersion"`
	Requires        bool                       `json:"requires"`
	Packages        map[string]json.RawMessage `json:"packages"`
}

// An npmEntry is a package in the lock. Its key is the folder.
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
	if !npmName().MatchString(p.Name) {
		return nil, fmt.Errorf("is not the name of an npm package")
	}
	if !npmVersion().MatchString(p.Version) {
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

// writeNPM writes a package.json with one dependency.
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
		args = append(args, "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=1000") // npm would otherwise wait more than a minute without a network
		cache, err := os.MkdirTemp("", "junction-npm-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(cache)
		args = append(args, "--cache="+cache) // a new cache, because without a network npm would use old data from its own cache
	}
	out, err := run(ctx, command{name: "npm", args: args, dir: dir, time: limit})
	return out, explainNPM(p.Name, out, err)
}

// explainNPM returns the reason why npm failed for a package.
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

// lockNPM checks a package-lock.json that npm wrote and returns a Locked.
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

// nameOfNPM returns the name of a package from its folder and its entry.
func nameOfNPM(folder string, e npmEntry) string {
	return cmp.Or(e.Name, folder[strings.LastIndex(folder, "node_modules/")+len("node_modules/"):])
}

// readNPMLock parses a package-lock.json and checks that each package has a hash. It removes the
// origins of packages, which depend on the user's settings.
func readNPMLock(text []byte) (*npmLock, map[string]npmEntry, error) {
	var lock npmLock
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, nil, fmt.Errorf("npm's lock: %w", err)
	}
	if lock.LockfileVersion != 3 {
		return nil, nil, fmt.Errorf("npm's lock has version %d, expected 3: use npm 7 or later", lock.LockfileVersion)
	}
	entries := map[string]npmEntry{}
	for folder, raw := range lock.Packages {
		if folder == "" {
			delete(lock.Packages, "") // the root is our package.json with the requested version; install writes a new one
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
		for _, name := range []string{"resolved", "funding", "license"} { // not needed for the installation
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

// forgetMissing removes from a package's entry the optional dependencies that are not in the lock.
// npm install skips such dependencies without locking them, and then npm ci would refuse the lock.
func (l *npmLock) forgetMissing(folder string, entries map[string]npmEntry) error {
	wanted := entries[folder].OptionalDependencies
	there := maps.Clone(wanted)
	maps.DeleteFunc(there, func(name, _ string) bool { return findNPM(entries, folder, name) == "" })
	if len(there) == len(wanted) {
		return nil
	}
	return l.set(folder, "optionalDependencies", there)
}

// set sets a member in the entry of a folder.
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

// chooseBin chooses a program as npx does: the only one, or the one with the package's own name.
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
			return "", fmt.Errorf("has several programs, and none with its own name: choose one of %s", strings.Join(names, ", "))
		}
	}
	file, ok := bins[chosen]
	switch {
	case len(names) == 0:
		return "", errors.New("has no program to start: it is a library")
	case !ok:
		return "", fmt.Errorf("%w %q: it has %s", ErrNoProgram, chosen, strings.Join(names, ", "))
	}
	if file = path.Clean(file); !filepath.IsLocal(filepath.FromSlash(file)) {
		return "", fmt.Errorf("its program %s lies at %q, outside of the package", chosen, file)
	}
	return file, nil
}

func (npm) install(ctx context.Context, l *Locked, dir string) error {
	// A lock may come from anyone, so it must have the form that resolve writes.
	switch {
	case !npmName().MatchString(l.Name):
		return errors.New("is not the name of an npm package")
	case !npmExact().MatchString(l.Version):
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
		return fmt.Errorf("the lock contradicts itself: its dependencies have %s for it", name)
	}
	if entry.Version != l.Version || entry.Integrity != l.Integrity || l.Integrity == "" {
		return fmt.Errorf("the lock contradicts itself: version %s with %s, and in its dependencies version %s with %s", l.Version, l.Integrity, entry.Version, entry.Integrity)
	}
	if err := writeNPM(dir, l.Name, l.Version); err != nil {
		return err
	}
	for folder, e := range entries {
		if e.Integrity == "" { // npm would have to download this package, and then fails
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

// program returns the command line that starts the file in a package's bin with the interpreter in
// its first line, usually node. npx would start the same file through a link.
func (npm) program(l *Locked, dir string) (*Program, error) {
	if err := l.expect("node", "./node_modules/"+l.Name+"/*"); err != nil {
		return nil, err
	}
	return programIn(l.Program, dir)
}

var (
	npmExact     = lazy.Regexp(`^[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]*)?$`)
	npmIntegrity = lazy.Regexp(`^sha(?:256|384|512)-[A-Za-z0-9+/]+={0,2}(?: sha(?:256|384|512)-[A-Za-z0-9+/]+={0,2})*$`) // npm ignores values that it cannot parse
)

// npmNames is a list of names. A boolean in its place, as in some packages, counts as empty.
type npmNames []string

func (n *npmNames) UnmarshalJSON(text []byte) error {
	var list []string
	if json.Unmarshal(text, &list) == nil {
		*n = list
	}
	return nil
}

const nodeModules = "/node_modules/"

// check returns an error for an entry that could make npm install anything except packages with
// hashes from the registry. A lock may come from anyone, so check does not rely on npm.
func (e npmEntry) check(folder string, isBundled bool) error {
	name := nameOfNPM(folder, e)
	if e.Link || e.Integrity == "" && !isBundled {
		return fmt.Errorf("its dependency %s comes from %s, without a hash: only packages from a registry can be locked", name, cmp.Or(e.Resolved, "a folder"))
	}
	if e.Integrity != "" && !npmIntegrity().MatchString(e.Integrity) {
		return fmt.Errorf("its dependency %s has the hash %.100q: expected sha256, sha384 or sha512", name, e.Integrity)
	}
	for part := range strings.SplitSeq("/"+folder, nodeModules) {
		if part != "" && !npmName().MatchString(part) {
			return fmt.Errorf("npm's lock has a package at %.100q, which is not the folder of a package", folder)
		}
	}
	if !npmName().MatchString(name) {
		return fmt.Errorf("its dependency at %s has the name %.100q, which is not that of an npm package", folder, name)
	}
	if !npmExact().MatchString(e.Version) {
		return fmt.Errorf("its dependency %s has the version %.100q, which is not an exact one", name, e.Version)
	}
	for _, wanted := range []map[string]string{e.Dependencies, e.OptionalDependencies, e.PeerDependencies} {
		for of, version := range wanted {
			if err := checkRange(version); err != nil {
				return fmt.Errorf("its dependency %s requires %.100s in the version %.100q: %w", name, of, version, err)
			}
		}
	}
	return nil
}

// checkRange returns an error for a version that is an address, a folder or a repository. It allows
// an alias for a package, which is common.
func checkRange(version string) error {
	if !strings.ContainsAny(version, ":/") {
		return nil
	}
	alias, ok := strings.CutPrefix(version, "npm:")
	at := strings.LastIndexByte(alias, '@')
	if !ok || at <= 0 || !npmName().MatchString(alias[:at]) || !npmVersion().MatchString(alias[at+1:]) {
		return errors.New("only packages from a registry can be locked")
	}
	return nil
}

// bundledNPM returns the folders of packages that are inside the archive of another package, mapped
// to that package's folder. The hash of the archive covers them. It ignores the lock's own mark
// (inBundle), because npm ignores it too and downloads all other packages.
func bundledNPM(entries map[string]npmEntry) map[string]string {
	bundler := map[string]string{}
	var queue []string
	add := func(folder, by string) {
		if _, is := entries[folder]; is && bundler[folder] == "" {
			bundler[folder] = by
			queue = append(queue, folder)
		}
	}
	inside := map[string][]string{}
	for folder, e := range entries {
		inside[aboveNPM(folder)] = append(inside[aboveNPM(folder)], folder)
		for _, name := range e.BundleDependencies {
			add(folder+nodeModules+name, folder)
		}
	}
	for len(queue) > 0 {
		folder := queue[0]
		queue = queue[1:]
		by, e := bundler[folder], entries[folder]
		for _, child := range inside[folder] {
			add(child, by)
		}
		for _, wanted := range []map[string]string{e.Dependencies, e.OptionalDependencies, e.PeerDependencies} {
			for name := range wanted {
				// a package that npm finds in a folder above is not in the archive
				if found := findNPM(entries, folder, name); found != "" && aboveNPM(found) == by {
					add(found, by)
				}
			}
		}
	}
	return bundler
}

// aboveNPM returns the folder of the package whose node_modules contains a folder, or "" at the
// top.
func aboveNPM(folder string) string {
	return folder[:max(0, strings.LastIndex(folder, nodeModules))]
}

// findNPM returns the folder in which Node finds a package that another one requires, or "".
func findNPM(entries map[string]npmEntry, from, name string) string {
	for at := from; ; at = aboveNPM(at) {
		if found := strings.TrimPrefix(at+nodeModules+name, "/"); entries[found].Version != "" {
			return found
		}
		if at == "" {
			return ""
		}
	}
}

// noArchive is the hash of zero bytes, which no archive has. npm downloads a bundled package if the
// archive lacks it. Bundled packages have no hash, and with this one such a download fails.
const noArchive = "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="

// npmRegistry returns the registry to use, or "" for npm's default. With "" the user's setting,
// such as a company's registry, applies, even if a server.json names the public registry.
func npmRegistry(ctx context.Context, registry, dir string) (string, error) {
	if registry == "" {
		return "", nil
	}
	if err := checkAddress(registry); err != nil {
		return "", err
	}
	none := filepath.Join(dir, "no-npmrc") // npm refuses the same file for both options
	out, err := run(ctx, command{name: "npm", args: []string{"config", "get", "registry", "--userconfig=" + none + "-1", "--globalconfig=" + none + "-2"}, dir: dir, time: askTime,
		env: []string{"npm_config_registry=", "NPM_CONFIG_REGISTRY="}})
	if err != nil {
		return "", err
	}
	if strings.TrimRight(registry, "/") == strings.TrimRight(strings.TrimSpace(string(out)), "/") {
		return "", nil
	}
	return registry, nil
}

// npmView is the output of npm view for one version. Versions and Tags cover the whole package.
type npmView struct {
	Version    string            `json:"version"`
	Integrity  string            `json:"dist.integrity"`
	Deprecated any               `json:"deprecated"` // text of the author; in some packages true
	Versions   []string          `json:"versions"`
	Tags       map[string]string `json:"dist-tags"`
}

func viewNPM(ctx context.Context, neutral string, p Package, spec string) (v npmView, err error) {
	if !npmName().MatchString(p.Name) {
		return v, fmt.Errorf("is not the name of an npm package")
	}
	out, err := runNPM(ctx, p, neutral, "view", spec, "version", "dist.integrity", "deprecated", "versions", "dist-tags")
	if err != nil {
		return v, err
	}
	if len(out) == 0 && spec != p.Name {
		return v, fmt.Errorf("%w: npm knows nothing about %s", ErrNotFound, spec) // older registries return nothing if a version is missing
	}
	if err := json.Unmarshal(out, &v); err != nil {
		return v, fmt.Errorf("npm view: %w", err)
	}
	return v, nil
}

func (k npm) advice(ctx context.Context, l *Locked, _ string) (Advice, error) {
	v, err := viewNPM(ctx, k.neutral, l.Package, l.Name+"@"+l.Version)
	if errors.Is(err, ErrNotFound) {
		all, err := viewNPM(ctx, k.neutral, l.Package, l.Name)
		if errors.Is(err, ErrNotFound) {
			return Advice{Pulled: true}, nil // the whole package is gone
		}
		return Advice{Pulled: true, Newest: newestNPM(all)}, err
	}
	if err != nil {
		return Advice{}, err
	}
	if v.Integrity != "" && v.Integrity != l.Integrity {
		return Advice{}, fmt.Errorf("%w: the registry now has %s, but the lock has %s", ErrIntegrity, v.Integrity, l.Integrity)
	}
	a := Advice{Newest: newestNPM(v)}
	switch words := v.Deprecated.(type) {
	case string:
		a.Deprecated = oneLine(words)
	case bool:
		if words {
			a.Deprecated = "deprecated"
		}
	}
	return a, nil
}

// newestNPM returns the version that npx would start. If that is a prerelease, it returns the
// newest other version.
func newestNPM(v npmView) string {
	latest := v.Tags["latest"]
	if !strings.Contains(latest, "-") {
		return latest
	}
	for _, version := range slices.Backward(v.Versions) { // npm sorts versions
		if !strings.Contains(version, "-") {
			return version
		}
	}
	return latest
}

// npmAudit holds the members of the output of npm audit --json that are used.
type npmAudit struct {
	Vulnerabilities map[string]struct {
		Name         string            `json:"name"`
		Severity     string            `json:"severity"`
		Via          []json.RawMessage `json:"via"` // advisories, or names of vulnerable dependencies
		Nodes        []string          `json:"nodes"`
		FixAvailable any               `json:"fixAvailable"`
	} `json:"vulnerabilities"`
	Message string `json:"message"`
	Error   *struct {
		Summary string `json:"summary"`
	} `json:"error"`
}

func (npm) audit(ctx context.Context, l *Locked, dir string) ([]Vulnerability, error) {
	lock, entries, err := readNPMLock(l.Dependencies)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(writeNPM(dir, l.Name, l.Version), writeJSON(filepath.Join(dir, "package-lock.json"), lock)); err != nil {
		return nil, err
	}
	args := []string{"audit", "--json", "--omit=dev", "--package-lock-only", "--loglevel=error"}
	if l.Registry != "" {
		args = append(args, "--registry="+l.Registry)
	}
	out, err := run(ctx, command{name: "npm", args: args, dir: dir, time: askTime}) // npm audit exits with 1 if it finds vulnerabilities
	var said npmAudit
	if json.Unmarshal(out, &said) != nil || said.Vulnerabilities == nil {
		why := oneLine(said.Message)
		if said.Error != nil {
			why = cmp.Or(oneLine(said.Error.Summary), why)
		}
		return nil, fmt.Errorf("%w by npm audit: %s: the registry may have no endpoint for audits", ErrNoAudit, cmp.Or(why, fmt.Sprint(err)))
	}
	var found []Vulnerability
	for _, name := range slices.Sorted(maps.Keys(said.Vulnerabilities)) {
		v := said.Vulnerabilities[name]
		var versions []string
		for _, node := range v.Nodes {
			versions = append(versions, entries[node].Version)
		}
		slices.Sort(versions)
		for _, via := range v.Via {
			var advisory struct {
				Source                      any
				Title, URL, Severity, Range string
			}
			if via[0] != '{' || json.Unmarshal(via, &advisory) != nil {
				continue // a dependency, which has an entry of its own
			}
			fixed := "" // version at the end of the vulnerable range, if the range has one
			if at := strings.LastIndexByte(advisory.Range, '<'); at >= 0 && !strings.HasPrefix(advisory.Range[at:], "<=") {
				fixed = strings.TrimSpace(advisory.Range[at+1:])
			}
			found = append(found, Vulnerability{
				Package: name, Version: strings.Join(slices.Compact(versions), ", "), ID: cmp.Or(advisory.URL[strings.LastIndexByte(advisory.URL, '/')+1:], fmt.Sprint(advisory.Source)),
				Severity: advisory.Severity, Title: oneLine(advisory.Title), FixedIn: fixed,
			})
		}
	}
	return found, nil
}
