package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/lazy"
)

// otherPython matches pip's note about a newest version that requires another Python.
var otherPython = lazy.Regexp(`Requires-Python ([^;\n]+)\n`)

// cannotConnect lists messages of pip and uv for a failed connection.
var cannotConnect = []string{"Failed to establish a new connection", "error sending request"}

// atOnce is the number of concurrent requests to an index.
const atOnce = 8

// An indexPage is the JSON page of a project in an index's simple API.
type indexPage struct {
	Files []struct {
		Name   string            `json:"filename"`
		Hashes map[string]string `json:"hashes"`
		Yanked any               `json:"yanked"` // true, or a string with the reason
	} `json:"files"`
	Status struct {
		Status string `json:"status"`
		Reason string `json:"reason"`
	} `json:"project-status"`
}

// versionOf returns the version in the name of a file.
func versionOf(file string) string {
	if wheel, ok := strings.CutSuffix(file, ".whl"); ok {
		parts := strings.Split(wheel, "-")
		return parts[min(1, len(parts)-1)]
	}
	for _, end := range []string{".tar.gz", ".zip", ".tar.bz2", ".tgz"} {
		if plain, ok := strings.CutSuffix(file, end); ok {
			return plain[strings.LastIndexByte(plain, '-')+1:]
		}
	}
	return ""
}

// pulled reports whether all files of a version were yanked.
func (page *indexPage) pulled(version string) bool {
	n := 0
	for _, f := range page.Files {
		if versionOf(f.Name) == version {
			n++
			if f.Yanked == nil || f.Yanked == false {
				return false
			}
		}
	}
	return n > 0
}

// why returns the author's reason for yanking a version.
func (page *indexPage) why(version string) string {
	for _, f := range page.Files {
		if why, ok := f.Yanked.(string); ok && versionOf(f.Name) == version {
			return oneLine(why)
		}
	}
	return "the author gave no reason"
}

// mainHash returns the hash of the file that represents a version. It is the same for all users and
// systems: the universal wheel; without one, the source; without both, the file whose name sorts
// first.
func (page *indexPage) mainHash(version string) (hash string) {
	best := ""
	for _, f := range page.Files {
		if versionOf(f.Name) != version {
			continue
		}
		rank := "3 " + f.Name
		switch {
		case strings.HasSuffix(f.Name, "-none-any.whl"):
			rank = "1 " + f.Name
		case !strings.HasSuffix(f.Name, ".whl"):
			rank = "2 " + f.Name
		}
		if best == "" || rank < best {
			best, hash = rank, "sha256:"+f.Hashes["sha256"]
		}
	}
	return hash
}

// has reports whether a version has files, and whether any of them is a wheel.
func (page *indexPage) has(version string) (any, built bool) {
	for _, f := range page.Files {
		if version == "" || versionOf(f.Name) == version {
			any = true
			built = built || strings.HasSuffix(f.Name, ".whl")
		}
	}
	return any, built
}

// page returns the page of a project from the package's index, or else from the index in pip's
// settings.
func (k pypi) page(ctx context.Context, p Package, name string) (*indexPage, error) {
	index := p.Registry
	if index == "" {
		var err error
		if index, err = k.pipIndex(ctx); err != nil {
			return nil, err
		}
	}
	var page indexPage
	err := getJSON(ctx, k.web, strings.TrimRight(index, "/")+"/"+normal(name)+"/", "application/vnd.pypi.simple.v1+json", &page)
	return &page, err
}

// addHashes adds the hashes of the other files of each version to the lock, so that it works on
// other systems. It skips versions for which the index does not list the file that pip chose.
func (k pypi) addHashes(ctx context.Context, p Package, lock *pypiLock) {
	if p.Registry == "" {
		index, err := k.pipIndex(ctx)
		if err != nil {
			return // the lock is also valid without them
		}
		p.Registry = index
	}
	var all sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i := range lock.Requirements {
		r := &lock.Requirements[i]
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			page, err := k.page(ctx, p, r.Name)
			if err != nil {
				return
			}
			var others []string
			known := false
			for _, f := range page.Files {
				hash := "sha256:" + f.Hashes["sha256"]
				known = known || hash == r.Hashes[0]
				if versionOf(f.Name) == r.Version && pypiHash().MatchString(hash) && hash != r.Hashes[0] {
					others = append(others, hash)
				}
			}
			if known {
				slices.Sort(others)
				r.Hashes = append(r.Hashes, others...)
			}
		})
	}
	all.Wait()
}

// explain returns the reason why pip or uv failed. It queries the index, because their messages
// vary with their versions.
func (k pypi) explain(ctx context.Context, p Package, failed error) error {
	if failedWith(failed, "DO NOT MATCH THE HASHES", "Hash mismatch", "hash mismatch") {
		return fmt.Errorf("%w: %w", ErrIntegrity, failed)
	}
	var ran *commandError
	if !errors.As(failed, &ran) {
		return failed
	}
	plain, _, err := splitExtras(p.Name)
	if err != nil {
		return failed
	}
	page, err := k.page(ctx, p, plain)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: the index has no %s", ErrNotFound, plain)
	}
	if err != nil && failedWith(failed, cannotConnect...) {
		return fmt.Errorf("its index cannot be reached: %w", err)
	}
	if err != nil {
		return failed
	}
	version := p.Version
	if !pypiVersion().MatchString(version) || version == "latest" {
		version = ""
	}
	any, built := page.has(version)
	switch {
	case !any:
		return fmt.Errorf("%w: the index has no version %s of it", ErrNotFound, version)
	case !built && !p.Scripts:
		return fmt.Errorf("%w: it exists only as source, and a build would run that", ErrScripts)
	}
	if m := otherPython().FindStringSubmatch(ran.stderr); m != nil && failedWith(failed, "No matching distribution found for "+p.Name) {
		return fmt.Errorf("it needs Python %s, which %w: install it, so that %s starts it", m[1], ErrRuntime, python())
	}
	return failed
}

// pipIndex returns the index in pip's settings.
func (k pypi) pipIndex(ctx context.Context) (string, error) {
	for _, name := range []string{"UV_DEFAULT_INDEX", "UV_INDEX_URL"} {
		if index := os.Getenv(name); index != "" && present("uv") {
			return index, nil
		}
	}
	if index := k.pipSetting(ctx, "index-url"); index != "" {
		return index, nil
	}
	return k.pipDefault(ctx)
}

// pipDefault returns the index that pip uses without settings.
func (k pypi) pipDefault(ctx context.Context) (string, error) {
	out, err := run(ctx, command{name: python(), args: []string{"-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"}, dir: k.neutral, time: askTime})
	return strings.TrimSpace(string(out)), err
}

// pipSetting returns the value of a setting of pip install, or "".
func (k pypi) pipSetting(ctx context.Context, name string) (value string) {
	out, err := run(ctx, command{name: python(), args: []string{"-m", "pip", "config", "list", "--disable-pip-version-check"}, dir: k.neutral, time: askTime})
	if err != nil {
		return "" // pip is missing; uv has its own settings
	}
	rank := -1
	for line := range strings.Lines(string(out)) {
		key, quoted, _ := strings.Cut(strings.TrimSpace(line), "=")
		section, option, _ := strings.Cut(key, "."+name)
		if r := slices.Index([]string{"global", "install", ":env:"}, section); option == "" && key != section && r > rank {
			rank, value = r, strings.Trim(quoted, `'"`)
		}
	}
	return value
}

// uvEnv returns variables that select the index for uv. It is the package's index or, if uv has no
// setting either, the index in pip's settings. uv would ignore these, and bypass a company's index.
func (k pypi) uvEnv(ctx context.Context, p Package) []string {
	if p.Registry != "" {
		return []string{"UV_DEFAULT_INDEX=" + p.Registry}
	}
	for _, name := range []string{"UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_CONFIG_FILE"} {
		if os.Getenv(name) != "" {
			return nil
		}
	}
	own := os.Getenv("XDG_CONFIG_HOME")
	if own == "" {
		home, _ := os.UserHomeDir()
		own = filepath.Join(home, ".config")
	}
	for _, dir := range []string{own, "/etc"} {
		if _, err := os.Stat(filepath.Join(dir, "uv", "uv.toml")); err == nil {
			return nil
		}
	}
	if index := k.pipSetting(ctx, "index-url"); index != "" {
		return []string{"UV_DEFAULT_INDEX=" + index}
	}
	return nil
}

// registry returns the index to use, or "" for pip's default, so that the user's setting applies.
func (k pypi) registry(ctx context.Context, registry string) (string, error) {
	if registry == "" {
		return "", nil
	}
	if err := checkAddress(registry); err != nil {
		return "", err
	}
	u, err := url.Parse(registry)
	if err != nil {
		return "", err
	}
	if own, err := k.pipDefault(ctx); err == nil && strings.HasPrefix(own, u.Scheme+"://"+u.Host+"/") {
		return "", nil
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/simple" // a server.json names the site without the path of the index
	}
	return u.String(), nil
}

func (k pypi) advice(ctx context.Context, l *Locked, dir string) (Advice, error) {
	plain, _, err := splitExtras(l.Name)
	if err != nil {
		return Advice{}, err
	}
	page, err := k.page(ctx, l.Package, plain)
	if errors.Is(err, ErrNotFound) {
		return Advice{Pulled: true}, nil
	}
	if err != nil {
		return Advice{}, err
	}
	any, _ := page.has(l.Version)
	a := Advice{Pulled: !any || page.pulled(l.Version)}
	if page.Status.Status != "" && page.Status.Status != "active" {
		a.Deprecated = oneLine(page.Status.Status + ": " + page.Status.Reason)
	}
	p := l.Package
	p.Version = ""
	var lock *pypiLock
	if present("uv") {
		lock, err = k.compile(ctx, p, []string{plain}, dir, askTime, "--no-deps")
	} else {
		lock, err = k.report(ctx, p, dir, "--no-deps", plain)
	}
	switch {
	case err != nil && a.Pulled:
		err = nil // every version was yanked
	case err == nil && len(lock.Requirements) > 0:
		a.Newest = lock.Requirements[0].Version
	}
	return a, err
}

func (k pypi) audit(ctx context.Context, l *Locked, dir string) ([]Vulnerability, error) {
	lock, err := readPyPILock(l)
	if err != nil {
		return nil, err
	}
	if !present("pip-audit") {
		return nil, fmt.Errorf("%w: pip-audit %w: pip install pip-audit, or pipx install pip-audit", ErrNoAudit, ErrRuntime)
	}
	file := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(file, lock.text(), 0o600); err != nil {
		return nil, err
	}
	out, err := run(ctx, command{name: "pip-audit", args: []string{"-r", file, "--require-hashes", "--disable-pip", "--format=json", "--progress-spinner=off"}, dir: dir, time: askTime})
	var said struct {
		Dependencies []struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			Vulns   []struct {
				ID          string   `json:"id"`
				Fixed       []string `json:"fix_versions"`
				Description string   `json:"description"`
			} `json:"vulns"`
		} `json:"dependencies"`
	}
	if json.Unmarshal(out, &said) != nil || said.Dependencies == nil { // pip-audit exits with 1 if it finds vulnerabilities
		return nil, errors.Join(fmt.Errorf("%w by pip-audit", ErrNoAudit), err)
	}
	var found []Vulnerability
	for _, d := range said.Dependencies {
		for _, v := range d.Vulns {
			found = append(found, Vulnerability{Package: d.Name, Version: d.Version, ID: v.ID, Title: oneLine(v.Description), FixedIn: strings.Join(v.Fixed, ", ")})
		}
	}
	return found, nil
}

// A pypiLock is Locked.Dependencies of a Python package. It has the hashes of all files of each
// version, so that the lock works on other systems. The package itself is in the list.
type pypiLock struct {
	// For is the interpreter and system for which the lock is valid, because pip resolves only for
	// its own. Empty, as with uv, means all.
	For          string        `json:"for,omitempty"`
	Requirements []requirement `json:"requirements"`
}

// A requirement is one package with an exact version.
type requirement struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Marker  string   `json:"marker,omitempty"` // condition under which the package is needed
	Hashes  []string `json:"hashes"`           // each as sha256:HEX
}

var (
	pypiName    = lazy.Regexp(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	pypiExtras  = lazy.Regexp(`^\[[A-Za-z0-9._, -]*\]$`)
	pypiVersion = lazy.Regexp(`^[0-9A-Za-z.!+_-]+$`)
	pypiRange   = lazy.Regexp(`^(?:(?:[<>!=]=|~=|<|>) *[0-9A-Za-z.!+_*-]+ *,? *)+$`)
	pypiMarker  = lazy.Regexp(`^[A-Za-z0-9_.'"<>=!~() +-]*$`)
	pypiHash    = lazy.Regexp(`^sha256:[0-9a-f]{64}$`)
	pypiRuns    = lazy.Regexp(`[-_.]+`)
)

// normal returns the normalized name of a Python package.
func normal(name string) string { return strings.ToLower(pypiRuns().ReplaceAllString(name, "-")) }

// splitExtras splits a name with extras, such as fastmcp[cli].
func splitExtras(name string) (plain, extras string, err error) {
	plain, rest, found := strings.Cut(name, "[")
	if found {
		extras = "[" + rest
	}
	if !pypiName().MatchString(plain) || found && !pypiExtras().MatchString(extras) {
		return "", "", errors.New("is not the name of a PyPI package")
	}
	return plain, extras, nil
}

// wanted returns the requirements of a package in the syntax of pip and uv.
func wanted(p Package) (all []string, err error) {
	plain, extras, err := splitExtras(p.Name)
	if err != nil {
		return nil, err
	}
	switch {
	case p.Version == "" || p.Version == "latest":
		all = []string{plain + extras}
	case pypiVersion().MatchString(p.Version):
		all = []string{plain + extras + "==" + p.Version}
	case pypiRange().MatchString(p.Version):
		all = []string{plain + extras + " " + p.Version}
	default:
		return nil, errors.New("is not a PyPI version or range")
	}
	if p.With == "" {
		return all, nil
	}
	name := strings.TrimSpace(p.With[:strings.IndexAny(p.With+"=", "<>=!~")])
	if limits := p.With[len(name):]; !pypiName().MatchString(name) || limits != "" && !pypiRange().MatchString(strings.TrimSpace(limits)) {
		return nil, fmt.Errorf("has the requirement %.100q: expected the name of a PyPI package with versions, such as mcp<2", p.With)
	}
	return append(all, p.With), nil
}

// readPyPILock parses the dependencies of a Locked. They become lines of a file for pip, so it
// checks every word.
func readPyPILock(l *Locked) (*pypiLock, error) {
	var lock pypiLock
	if err := json.Unmarshal(l.Dependencies, &lock); err != nil {
		return nil, fmt.Errorf("its dependencies in the lock: %w", err)
	}
	plain, _, err := splitExtras(l.Name)
	if err != nil {
		return nil, err
	}
	self := false
	for _, r := range lock.Requirements {
		if !pypiName().MatchString(r.Name) || !pypiVersion().MatchString(r.Version) || !pypiMarker().MatchString(r.Marker) || len(r.Hashes) == 0 {
			return nil, fmt.Errorf("the lock's dependency %q, version %q, is not a name, a version and hashes", r.Name, r.Version)
		}
		for _, hash := range r.Hashes {
			if !pypiHash().MatchString(hash) {
				return nil, fmt.Errorf("the lock's dependency %q has the hash %.100q, which is not a SHA-256", r.Name, hash)
			}
		}
		if normal(r.Name) == normal(plain) {
			if r.Version != l.Version || !slices.Contains(r.Hashes, l.Integrity) {
				return nil, fmt.Errorf("the lock contradicts itself: version %s with %s, and in its dependencies version %s without that hash", l.Version, l.Integrity, r.Version)
			}
			self = true
		}
	}
	if !self {
		return nil, errors.New("the lock contradicts itself: the package is not among its dependencies")
	}
	return &lock, nil
}

// text returns the lock as a requirements file for pip.
func (lock *pypiLock) text() []byte {
	var b strings.Builder
	for _, r := range lock.Requirements {
		fmt.Fprintf(&b, "%s==%s", r.Name, r.Version)
		if r.Marker != "" {
			fmt.Fprintf(&b, " ; %s", r.Marker)
		}
		for _, hash := range r.Hashes {
			fmt.Fprintf(&b, " --hash=%s", hash)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// parseRequirements parses the output of uv pip compile --generate-hashes.
func parseRequirements(text string) ([]requirement, error) {
	var all []requirement
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		head, rest, _ := strings.Cut(line, "--hash=")
		head, marker, _ := strings.Cut(head, ";")
		name, version, ok := strings.Cut(strings.TrimSpace(head), "==")
		if !ok || rest == "" {
			return nil, fmt.Errorf("uv's line %.100q is not an exact version with a hash: only packages from an index can be locked", line)
		}
		name, _, _ = strings.Cut(name, "[") // packages of an extra have their own lines
		r := requirement{Name: name, Version: version, Marker: strings.TrimSpace(marker)}
		for hash := range strings.SplitSeq(rest, "--hash=") {
			r.Hashes = append(r.Hashes, strings.TrimSpace(hash))
		}
		all = append(all, r)
	}
	return all, nil
}
