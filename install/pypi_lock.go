package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A pypiLock is what Locked.Dependencies holds of Python packages: each with the hashes of all files of its version, so that other systems
// find theirs. The package itself is among them.
type pypiLock struct {
	// For is the interpreter and system that it holds for: pip resolves for those that it runs on. Empty, as uv does it, is all.
	For          string        `json:"for,omitempty"`
	Requirements []requirement `json:"requirements"`
}

// A requirement is one package with an exact version.
type requirement struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Marker  string   `json:"marker,omitempty"` // the condition for needing it
	Hashes  []string `json:"hashes"`           // sha256:HEX
}

var (
	pypiName    = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	pypiExtras  = regexp.MustCompile(`^\[[A-Za-z0-9._, -]*\]$`)
	pypiVersion = regexp.MustCompile(`^[0-9A-Za-z.!+_-]+$`)
	pypiRange   = regexp.MustCompile(`^(?:(?:[<>!=]=|~=|<|>) *[0-9A-Za-z.!+_*-]+ *,? *)+$`)
	pypiMarker  = regexp.MustCompile(`^[A-Za-z0-9_.'"<>=!~() +-]*$`)
	pypiHash    = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	pypiRuns    = regexp.MustCompile(`[-_.]+`)
)

// normal is the form of a Python package's name by which two are the same.
func normal(name string) string { return strings.ToLower(pypiRuns.ReplaceAllString(name, "-")) }

// splitExtras takes fastmcp[cli] apart.
func splitExtras(name string) (plain, extras string, err error) {
	plain, rest, found := strings.Cut(name, "[")
	if found {
		extras = "[" + rest
	}
	if !pypiName.MatchString(plain) || found && !pypiExtras.MatchString(extras) {
		return "", "", errors.New("is not a name of PyPI")
	}
	return plain, extras, nil
}

// wanted are the requirements that a package stands for, as pip and uv read them.
func wanted(p Package) (all []string, err error) {
	plain, extras, err := splitExtras(p.Name)
	if err != nil {
		return nil, err
	}
	switch {
	case p.Version == "" || p.Version == "latest":
		all = []string{plain + extras}
	case pypiVersion.MatchString(p.Version):
		all = []string{plain + extras + "==" + p.Version}
	case pypiRange.MatchString(p.Version):
		all = []string{plain + extras + " " + p.Version}
	default:
		return nil, errors.New("is not a version or a range of PyPI")
	}
	if p.With == "" {
		return all, nil
	}
	name := strings.TrimSpace(p.With[:strings.IndexAny(p.With+"=", "<>=!~")])
	if limits := p.With[len(name):]; !pypiName.MatchString(name) || limits != "" && !pypiRange.MatchString(strings.TrimSpace(limits)) {
		return nil, fmt.Errorf("is asked for with %.100q, which is not a name of PyPI with versions, such as mcp<2", p.With)
	}
	return append(all, p.With), nil
}

// readPyPILock reads the dependencies of a Locked. What stands there becomes lines of a file for pip, so every word is checked.
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
		if !pypiName.MatchString(r.Name) || !pypiVersion.MatchString(r.Version) || !pypiMarker.MatchString(r.Marker) || len(r.Hashes) == 0 {
			return nil, fmt.Errorf("the lock's dependency %q, version %q, is not a name, a version and hashes", r.Name, r.Version)
		}
		for _, hash := range r.Hashes {
			if !pypiHash.MatchString(hash) {
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

// text is the lock in the form of pip's file of requirements.
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

// parseRequirements reads what uv pip compile --generate-hashes writes.
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
			return nil, fmt.Errorf("uv's line %.100q is not an exact version with a hash: only packages of an index can be locked", line)
		}
		name, _, _ = strings.Cut(name, "[") // what an extra brings has lines of its own
		r := requirement{Name: name, Version: version, Marker: strings.TrimSpace(marker)}
		for hash := range strings.SplitSeq(rest, "--hash=") {
			r.Hashes = append(r.Hashes, strings.TrimSpace(hash))
		}
		all = append(all, r)
	}
	return all, nil
}
