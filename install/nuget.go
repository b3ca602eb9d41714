package install

import (
	"cmp"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/lazy"
)

// nuget installs .NET tools. It downloads a package with NuGet's HTTP API and unpacks it. It does
// not use dotnet tool install, which cannot check a given hash, nor dnx, which would look for the
// package at each start. The package of a tool contains all its dependencies.
type nuget struct {
	web     *http.Client
	blobs   string
	neutral string
}

var (
	nugetName    = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)
	nugetVersion = lazy.Regexp(`^[0-9]+(?:\.[0-9]+){1,3}(?:-[0-9A-Za-z.-]+)?$`)
)

// nugetSource holds the addresses of a registry's services.
type nugetSource struct {
	packages      string // PackageBaseAddress: versions and packages
	registrations string // RegistrationsBaseUrl: information about versions; may be empty
}

// source returns the services of the package's registry, or else of the first registry in the
// user's dotnet settings.
func (k nuget) source(ctx context.Context, p Package) (nugetSource, error) {
	var s nugetSource
	index := p.Registry
	if index == "" {
		out, err := run(ctx, command{name: "dotnet", args: []string{"nuget", "list", "source", "--format", "Short"}, dir: k.neutral, time: askTime})
		if err != nil {
			return s, err
		}
		for line := range strings.Lines(string(out)) {
			if _, address, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(line, "E ") && strings.Contains(address, "://") {
				index = address
				break
			}
		}
	}
	if err := checkAddress(index); err != nil {
		return s, err
	}
	if !strings.HasSuffix(index, ".json") {
		index = strings.TrimRight(index, "/") + "/v3/index.json"
	}
	var said struct {
		Resources []struct {
			ID   string `json:"@id"`
			Type string `json:"@type"`
		} `json:"resources"`
	}
	if err := getJSON(ctx, k.web, index, "", &said); err != nil {
		return s, err
	}
	for _, r := range said.Resources {
		switch {
		case strings.HasPrefix(r.Type, "PackageBaseAddress/"):
			s.packages = strings.TrimRight(r.ID, "/")
		case strings.HasPrefix(r.Type, "RegistrationsBaseUrl"):
			s.registrations = strings.TrimRight(r.ID, "/") // later entries are newer and cover more versions
		}
	}
	if s.packages == "" {
		return s, fmt.Errorf("%s is not the index of a NuGet registry: it names no PackageBaseAddress", index)
	}
	return s, checkAddress(s.packages)
}

// versions returns the versions of a package, oldest first.
func (k nuget) versions(ctx context.Context, s nugetSource, name string) ([]string, error) {
	var said struct {
		Versions []string `json:"versions"`
	}
	err := getJSON(ctx, k.web, s.packages+"/"+strings.ToLower(name)+"/index.json", "", &said)
	return said.Versions, err
}

// newestNuGet returns the newest version that is not a prerelease, or else the last one.
func newestNuGet(versions []string) string {
	newest := ""
	for _, v := range versions {
		if isNewerVersion(v, newest) {
			newest = v
		}
	}
	if newest == "" && len(versions) > 0 {
		newest = versions[len(versions)-1]
	}
	return newest
}

// fetch downloads and stores a package and returns its SHA-256. If the registry reports a SHA-512,
// fetch checks it.
func (k nuget) fetch(ctx context.Context, s nugetSource, name, version, dir string) (hash string, err error) {
	name, version = strings.ToLower(name), strings.ToLower(version)
	response, err := get(ctx, k.web, fmt.Sprintf("%s/%s/%s/%s.%s.nupkg", s.packages, name, version, name, version), "")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	sum := sha512.New()
	if hash, err = keep(io.TeeReader(response.Body, sum), dir, k.blobs); err != nil {
		return "", err
	}
	said, err := k.registration(ctx, s, name, version)
	if err != nil {
		return "", errors.Join(err, os.Remove(filepath.Join(k.blobs, hash)))
	}
	if got := base64.StdEncoding.EncodeToString(sum.Sum(nil)); said.PackageHash != "" && strings.EqualFold(said.Algorithm, "SHA512") && said.PackageHash != got {
		return "", errors.Join(fmt.Errorf("%w: the registry has sha512-%s, but the package has sha512-%s", ErrIntegrity, said.PackageHash, got), os.Remove(filepath.Join(k.blobs, hash)))
	}
	return hash, nil
}

// A nugetEntry is a registry's information about a version.
type nugetEntry struct {
	Listed      *bool  `json:"listed"`
	PackageHash string `json:"packageHash"`
	Algorithm   string `json:"packageHashAlgorithm"`
	Deprecation *struct {
		Message string   `json:"message"`
		Reasons []string `json:"reasons"`
	} `json:"deprecation"`
	Vulnerabilities []struct {
		Advisory string `json:"advisoryUrl"`
		Severity string `json:"severity"`
	} `json:"vulnerabilities"`
}

// registration returns a version's registration, merged with its catalog entry if there is one. For
// a registry without registrations the result is empty.
func (k nuget) registration(ctx context.Context, s nugetSource, name, version string) (nugetEntry, error) {
	var entry nugetEntry
	if s.registrations == "" {
		return entry, nil
	}
	var leaf struct {
		Entry  json.RawMessage `json:"catalogEntry"` // an object, or the address of one
		Listed *bool           `json:"listed"`
	}
	err := getJSON(ctx, k.web, fmt.Sprintf("%s/%s/%s.json", s.registrations, strings.ToLower(name), strings.ToLower(version)), "", &leaf)
	if errors.Is(err, ErrNotFound) {
		return entry, nil
	}
	if err != nil {
		return entry, err
	}
	var address string
	if json.Unmarshal(leaf.Entry, &address) == nil && address != "" {
		if err := checkAddress(address); err != nil {
			return entry, err
		}
		err = getJSON(ctx, k.web, address, "", &entry)
	} else if len(leaf.Entry) > 0 {
		err = json.Unmarshal(leaf.Entry, &entry)
	}
	if leaf.Listed != nil {
		entry.Listed = leaf.Listed
	}
	return entry, err
}

func (k nuget) resolve(ctx context.Context, p Package, dir string) (*Locked, error) {
	if !nugetName().MatchString(p.Name) || p.Version != "" && p.Version != "latest" && !nugetVersion().MatchString(p.Version) {
		return nil, errors.New("is not the name of a NuGet package with an exact version")
	}
	s, err := k.source(ctx, p)
	if err != nil {
		return nil, err
	}
	versions, err := k.versions(ctx, s, p.Name)
	if err != nil {
		return nil, err
	}
	if p.Version == "" || p.Version == "latest" {
		p.Version = newestNuGet(versions)
	}
	if !slices.Contains(versions, strings.ToLower(p.Version)) {
		return nil, fmt.Errorf("%w: the registry has no version %s of it", ErrNotFound, p.Version)
	}
	hash, err := k.fetch(ctx, s, p.Name, p.Version, dir)
	if err != nil {
		return nil, err
	}
	l := &Locked{Package: p, Integrity: "sha256:" + hash}
	err = withBundle(k.blobs, hash, func(b *bundle) error {
		l.Program, err = nugetProgram(b, p.Bin)
		return err
	})
	return l, err
}

// nugetProgram returns the command line in a tool's DotnetToolSettings.xml, for the newest
// framework.
func nugetProgram(files fs.FS, bin string) ([]string, error) {
	found, err := fs.Glob(files, "tools/*/any/DotnetToolSettings.xml")
	if err != nil || len(found) == 0 {
		return nil, errors.New("is not a .NET tool that runs on every platform: it has no tools/…/any/DotnetToolSettings.xml")
	}
	slices.SortFunc(found, func(a, b string) int { return slices.Compare(frameworkOf(a), frameworkOf(b)) })
	file := found[len(found)-1]
	f, err := files.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var settings struct {
		Commands []struct {
			Name   string `xml:"Name,attr"`
			Entry  string `xml:"EntryPoint,attr"`
			Runner string `xml:"Runner,attr"`
		} `xml:"Commands>Command"`
	}
	if err := xml.NewDecoder(io.LimitReader(f, maxManifest)).Decode(&settings); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, c := range settings.Commands {
		if bin != "" && c.Name != bin {
			continue
		}
		entry := path.Clean(path.Dir(file) + "/" + c.Entry)
		if c.Runner != "dotnet" || c.Entry == "" || path.Dir(entry) != path.Dir(file) {
			return nil, fmt.Errorf("its program %.100q is run by %.100q, which is not dotnet", c.Entry, c.Runner)
		}
		return []string{"dotnet", "exec", "./" + entry}, nil
	}
	return nil, fmt.Errorf("%w %q", ErrNoProgram, cmp.Or(bin, "at all"))
}

// frameworkOf returns the version of the framework in a path such as tools/net8.0/any/…. A tool for
// several frameworks runs with the newest one.
func frameworkOf(file string) []int {
	name := strings.Split(file, "/")[1]
	return numbers(strings.TrimPrefix(strings.TrimPrefix(name, "netcoreapp"), "net"))
}

func (k nuget) install(ctx context.Context, l *Locked, dir string) error {
	want, ok := strings.CutPrefix(l.Integrity, "sha256:")
	if !ok || !hexHash().MatchString(want) || !nugetName().MatchString(l.Name) || !nugetVersion().MatchString(l.Version) {
		return fmt.Errorf("the lock has the version %.100q with the hash %.100q, which is not a SHA-256", l.Version, l.Integrity)
	}
	archive, err := openOrGet(k.blobs, want, func() (string, error) {
		s, err := k.source(ctx, l.Package)
		if err != nil {
			return "", err
		}
		return k.fetch(ctx, s, l.Name, l.Version, dir)
	})
	if err != nil {
		return err
	}
	defer os.Remove(filepath.Join(k.blobs, want))
	defer archive.Close()
	return unpack(ctx, archive.Reader, archive.size, dir)
}

func (nuget) program(l *Locked, dir string) (*Program, error) {
	if err := l.expect("dotnet", "exec", "./tools/*"); err != nil {
		return nil, err
	}
	return programIn(l.Program, dir)
}

func (k nuget) advice(ctx context.Context, l *Locked, _ string) (Advice, error) {
	s, err := k.source(ctx, l.Package)
	if err != nil {
		return Advice{}, err
	}
	versions, err := k.versions(ctx, s, l.Name)
	if errors.Is(err, ErrNotFound) {
		return Advice{Pulled: true}, nil
	}
	if err != nil {
		return Advice{}, err
	}
	said, err := k.registration(ctx, s, l.Name, l.Version)
	a := Advice{Newest: newestNuGet(versions), Pulled: !slices.Contains(versions, strings.ToLower(l.Version)) || said.Listed != nil && !*said.Listed}
	if d := said.Deprecation; d != nil {
		a.Deprecated = oneLine(cmp.Or(d.Message, strings.Join(d.Reasons, ", "), "deprecated"))
	}
	return a, err
}

// audit returns the vulnerabilities that the registry lists for the tool's own version. The
// registry does not list those of dependencies in the package.
func (k nuget) audit(ctx context.Context, l *Locked, _ string) ([]Vulnerability, error) {
	s, err := k.source(ctx, l.Package)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAudit, err)
	}
	if s.registrations == "" {
		return nil, fmt.Errorf("%w: the registry lists no versions", ErrNoAudit)
	}
	said, err := k.registration(ctx, s, l.Name, l.Version)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAudit, err)
	}
	var found []Vulnerability
	for _, v := range said.Vulnerabilities {
		u, err := url.Parse(v.Advisory)
		if err != nil {
			continue
		}
		severity := v.Severity
		if i := slices.Index([]string{"0", "1", "2", "3"}, severity); i >= 0 {
			severity = []string{"low", "moderate", "high", "critical"}[i]
		}
		found = append(found, Vulnerability{Package: l.Name, Version: l.Version, ID: path.Base(u.Path), Severity: severity, Title: oneLine(v.Advisory)})
	}
	return found, nil
}
