package install

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/runner"
)

var (
	// ErrNotInstalled reports that a locked package is not in the store yet.
	ErrNotInstalled = errors.New("is not installed")
	// ErrIntegrity reports that bytes differ from those in the lock or the registry.
	ErrIntegrity = errors.New("has other contents than the lock")
	// ErrNotFound reports that the registry does not have the package or the version.
	ErrNotFound = errors.New("is not in the registry")
	// ErrPulled reports that a version was yanked, or was unpublished after it was locked.
	ErrPulled = errors.New("was pulled")
	// ErrRuntime reports that a required program is missing on this machine. The error names it and
	// a way to install it.
	ErrRuntime = errors.New("is not on this machine")
	// ErrScripts reports that installing a package would run its code without permission; see
	// [Package.Scripts].
	ErrScripts = errors.New("would run its code during the installation")
	// ErrNoProgram reports that a package lacks the requested program. It may also have several
	// programs and none with the package's name.
	ErrNoProgram = errors.New("has no program")
	// ErrNoAudit reports that no audit was possible: a command is missing, or a registry has no
	// advisories.
	ErrNoAudit = errors.New("could not be audited")
)

// A Package names a package in the terms of a user or of a server.json.
type Package struct {
	Type     string `json:"type"` // such as npm
	Name     string `json:"name"` // name in its registry; for mcpb a URL or file, for oci the image without tag, for folder the path
	Version  string `json:"version,omitempty"`
	Registry string `json:"registry,omitempty"` // base URL; empty means the one in the package manager's settings
	SHA256   string `json:"sha256,omitempty"`   // for mcpb, in hexadecimal, if it is known beforehand
	Bin      string `json:"bin,omitempty"`      // program to start; empty means the one that npx, uvx or dnx would start
	With     string `json:"with,omitempty"`     // for pypi, an additional requirement, like uvx --with; mcp<2 avoids a version that is too new for the package
	Scripts  bool   `json:"scripts,omitempty"`  // the installation may run code of the package and its dependencies
}

// IsContainer reports whether a container engine runs and confines the package.
func (p Package) IsContainer() bool { return runner.Of(p.Type).IsContainer }

// A Locked is a package with every byte determined. It suffices to repeat the installation, also on
// another machine.
type Locked struct {
	Package          // the version is exact
	Integrity string `json:"integrity,omitempty"` // sha512-BASE64 for npm, the digest for oci, otherwise sha256:HEX; for pypi, the hash of the universal wheel
	// Program is the command line to start. Words that begin with ./ are paths in the folder of the
	// installed package. Any other first word is a program on this machine.
	Program      []string        `json:"program"`
	Dependencies json.RawMessage `json:"dependencies,omitempty"` // data from which the package manager installs the same dependencies
	WantScripts  []string        `json:"wantScripts,omitempty"`  // packages, with versions, that have install scripts that do not run without Scripts
}

// A Program is an installed package, ready to be started.
type Program struct {
	Dir  string            // folder of the package; must not be modified
	Argv []string          // absolute command line; the entry's arguments follow it
	Env  map[string]string // variables in addition to the environment of the entry

	// Config holds the settings that a bundle (mcpb) needs from the user. Argv and Env contain
	// ${user_config.NAME} in their places until Fill replaces them.
	Config map[string]Setting
	// Passed lists the variables that docker passes from its own environment to the container, if
	// set. Their values must come from the entry, not from the environment of the process that
	// starts docker.
	Passed []string
}

// Advice is a registry's current information about a locked package.
type Advice struct {
	Newest     string // newest version that is not a prerelease
	Deprecated string // text of the author
	Pulled     bool   // yanked or unpublished
}

// A Vulnerability is a known vulnerability in a package or in one of its dependencies.
type Vulnerability struct {
	Package  string `json:"package"`
	Version  string `json:"version,omitempty"`
	ID       string `json:"id,omitempty"`
	Severity string `json:"severity,omitempty"`
	Title    string `json:"title,omitempty"`
	FixedIn  string `json:"fixedIn,omitempty"`
}

var plainVersion = lazy.Regexp(`^v?[0-9]{1,9}(?:\.[0-9]{1,9}){0,4}$`)

// numbers returns the numbers of a version, or nil if the version has other parts.
func numbers(version string) []int {
	version, _, _ = strings.Cut(version, "+")
	if !plainVersion().MatchString(version) {
		return nil
	}
	var all []int
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		n, _ := strconv.Atoi(part)
		all = append(all, n)
	}
	return all
}

// isNewerVersion reports whether text is a version such as 1.2.3 or v1.2, without a suffix, and
// newer than another version.
func isNewerVersion(text, than string) bool {
	version := numbers(text)
	return version != nil && (than == "" || slices.Compare(version, numbers(than)) > 0)
}

// maxAbout is the number of bytes read of each file that describes a package.
const maxAbout = 1 << 20

// About is the author's description of an installed package. Fields that cannot be read are empty.
type About struct {
	Licence, Source, Description, Readme string
}

// AboutOf returns the licence, source, description and readme of the package installed in a folder.
func AboutOf(l *Locked, dir string) About {
	read := rows[l.Type].about
	root, err := os.OpenRoot(dir)
	if err != nil || read == nil {
		return About{}
	}
	defer root.Close()
	return read(l, root)
}

// aboutNode reads a package.json and the README in the same folder.
func aboutNode(root *os.Root, folder string) (about About) {
	var manifest struct {
		License     any    `json:"license"`
		Description string `json:"description"`
		Homepage    string `json:"homepage"`
		Repository  any    `json:"repository"`
	}
	if json.Unmarshal(readIn(root, path.Join(folder, "package.json")), &manifest) != nil {
		return about
	}
	about.Description = manifest.Description
	about.Readme = string(readIn(root, path.Join(folder, "README.md")))
	about.Licence, _ = manifest.License.(string)
	switch repository := manifest.Repository.(type) {
	case string:
		about.Source = repository
	case map[string]any:
		about.Source, _ = repository["url"].(string)
	}
	if about.Source == "" {
		about.Source = manifest.Homepage
	}
	return about
}

// aboutPyPI reads the metadata of a package in a virtual environment.
func aboutPyPI(l *Locked, root *os.Root) (about About) {
	wanted := strings.ReplaceAll(runner.Of(PyPI).Canonical(l.Name), "-", "_") + "-"
	found, _ := filepath.Glob(filepath.Join(escapeGlob(root.Name()), "*", "lib", "python*", "site-packages", "*.dist-info"))
	more, _ := filepath.Glob(filepath.Join(escapeGlob(root.Name()), "lib", "python*", "site-packages", "*.dist-info"))
	for _, info := range append(found, more...) {
		if base := strings.ReplaceAll(strings.ToLower(filepath.Base(info)), ".", "_"); !strings.HasPrefix(base, wanted) {
			continue
		}
		if path, err := filepath.Rel(root.Name(), filepath.Join(info, "METADATA")); err == nil {
			about = aboutMetadata(string(readIn(root, path)))
		}
	}
	return about
}

// aboutMetadata reads the headers of a Python package.
func aboutMetadata(text string) (about About) {
	head, readme, _ := strings.Cut(text, "\n\n")
	about.Readme = readme
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch value = strings.TrimSpace(value); {
		case name == "License-Expression", name == "License" && about.Licence == "" && value != "UNKNOWN":
			about.Licence = value
		case name == "Summary":
			about.Description = value
		case name == "Home-page" && about.Source == "":
			about.Source = value
		case name == "Project-URL":
			if label, address, found := strings.Cut(value, ", "); found && slices.Contains([]string{"repository", "source", "homepage", "github"}, strings.ToLower(label)) {
				about.Source = address
			}
		}
	}
	return about
}

func readIn(root *os.Root, path string) []byte {
	f, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxAbout)) // the end of a longer file is ignored
	return data
}
