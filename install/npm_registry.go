package install

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// npmRegistry returns the registry to ask for: none where it is npm's own default, so that the person's setting (their company's registry, say)
// holds for packages whose server.json names the public one.
func npmRegistry(ctx context.Context, registry, dir string) (string, error) {
	if registry == "" {
		return "", nil
	}
	if err := checkAddress(registry); err != nil {
		return "", err
	}
	none := filepath.Join(dir, "no-npmrc") // of which npm takes each for one purpose only
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

// npmView is what npm view says of one version; the last two are of all.
type npmView struct {
	Version    string            `json:"version"`
	Integrity  string            `json:"dist.integrity"`
	Deprecated any               `json:"deprecated"` // the author's words; some have true
	Versions   []string          `json:"versions"`
	Tags       map[string]string `json:"dist-tags"`
}

func viewNPM(ctx context.Context, neutral string, p Package, spec string) (v npmView, err error) {
	if !npmName.MatchString(p.Name) {
		return v, fmt.Errorf("is not a name of npm")
	}
	out, err := runNPM(ctx, p, neutral, "view", spec, "version", "dist.integrity", "deprecated", "versions", "dist-tags")
	if err != nil {
		return v, err
	}
	if len(out) == 0 && spec != p.Name {
		return v, fmt.Errorf("%w: npm says nothing of %s", ErrNotFound, spec) // as older ones do of a version that is not there
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
			return Advice{Pulled: true}, nil // the whole package
		}
		return Advice{Pulled: true, Newest: newestNPM(all)}, err
	}
	if err != nil {
		return Advice{}, err
	}
	if v.Integrity != "" && v.Integrity != l.Integrity {
		return Advice{}, fmt.Errorf("%w: the registry now has %s, and locked is %s", ErrIntegrity, v.Integrity, l.Integrity)
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

// newestNPM is what npx would start, unless that is a preview.
func newestNPM(v npmView) string {
	latest := v.Tags["latest"]
	if !strings.Contains(latest, "-") {
		return latest
	}
	for _, version := range slices.Backward(v.Versions) { // npm sorts them
		if !strings.Contains(version, "-") {
			return version
		}
	}
	return latest
}

// npmAudit is what npm audit --json says, as far as it is read.
type npmAudit struct {
	Vulnerabilities map[string]struct {
		Name         string            `json:"name"`
		Severity     string            `json:"severity"`
		Via          []json.RawMessage `json:"via"` // advisories, or names of dependencies that have them
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
	out, err := run(ctx, command{name: "npm", args: args, dir: dir, time: askTime}) // its status is 1 where it finds something
	var said npmAudit
	if json.Unmarshal(out, &said) != nil || said.Vulnerabilities == nil {
		why := oneLine(said.Message)
		if said.Error != nil {
			why = cmp.Or(oneLine(said.Error.Summary), why)
		}
		return nil, fmt.Errorf("%w by npm audit: %s: does the registry have an endpoint for audits?", ErrNoAudit, cmp.Or(why, fmt.Sprint(err)))
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
				continue // a dependency, which is listed itself
			}
			fixed := "" // the version that ends the range of vulnerable ones, where the range names it
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
