package install

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/runner"
)

var (
	// ErrNotInstalled reports that a locked package is not in the store yet.
	ErrNotInstalled = errors.New("is not installed")
	// ErrIntegrity reports that bytes differ from those in the lock or the registry.
	ErrIntegrity = errors.New("has other contents than the lock")
	// ErrNotFound reports that the registry does not have the package or the version.
	ErrNotFound = errors.New("is not in the registry")
	// ErrPulled reports that a version was yanked, or unpublished after it was locked.
	ErrPulled = errors.New("was pulled")
	// ErrRuntime reports that a program is missing on this machine. The error names it and how to
	// get it.
	ErrRuntime = errors.New("is not on this machine")
	// ErrScripts reports that the installation of a package would run its code without permission;
	// see [Package.Scripts].
	ErrScripts = errors.New("would run its code during the installation")
	// ErrNoProgram reports that a package lacks the requested program, or has several and none with
	// its own name.
	ErrNoProgram = errors.New("has no program")
	// ErrNoAudit reports that no audit was possible: a command is missing, or a registry has no
	// advisories.
	ErrNoAudit = errors.New("could not be audited")
)

// A Package names a package as a user or a server.json does.
type Package struct {
	Type     string `json:"type"` // such as NPM
	Name     string `json:"name"` // the name in its registry; for mcpb the URL or file, for oci the image without tag, for folder the path
	Version  string `json:"version,omitempty"`
	Registry string `json:"registry,omitempty"` // base URL; empty means the package manager's setting
	SHA256   string `json:"sha256,omitempty"`   // for mcpb, hexadecimal, if known beforehand
	Bin      string `json:"bin,omitempty"`      // the program to start; empty means the one that npx, uvx or dnx would start
	With     string `json:"with,omitempty"`     // for pypi, one more requirement, like uvx --with: mcp<2 avoids a dependency that is too new for the package
	Scripts  bool   `json:"scripts,omitempty"`  // permits the installation to run code of the package and its dependencies
}

// IsContainer reports whether a container engine runs the package, and confines it.
func (p Package) IsContainer() bool { return runner.Of(p.Type).IsContainer }

// A Locked is a package of which every byte is determined. It suffices to install the same again,
// also on another machine.
type Locked struct {
	Package          // with the exact version
	Integrity string `json:"integrity,omitempty"` // sha512-BASE64 for npm, sha256:HEX for others; for pypi of the wheel for all systems; for oci the digest
	// Program is the command line to start. Words that begin with ./ are in the folder of the
	// installed package. Any other first word is a program of this machine.
	Program      []string        `json:"program"`
	Dependencies json.RawMessage `json:"dependencies,omitempty"` // data with which the package manager installs the same dependencies
	WantScripts  []string        `json:"wantScripts,omitempty"`  // packages with versions whose install scripts do not run without Scripts
}

// A Program is an installed package, ready to be started.
type Program struct {
	Dir  string            // folder of the package; it is only read
	Argv []string          // absolute; the arguments of the entry follow
	Env  map[string]string // variables in addition to the environment of the entry

	// Config lists the settings that a bundle (mcpb) needs from the user. Until Fill, Argv and Env
	// have ${user_config.NAME} in their places.
	Config map[string]Setting
	// Passed lists the variables that the container of an image gets from the environment of
	// docker, if set. Their values must come from the entry, not from the process that starts it.
	Passed []string
}

// Advice is a registry's current information about a locked package.
type Advice struct {
	Newest     string // newest version that is not a preview
	Deprecated string // the author's text
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

var plainVersion = regexp.MustCompile(`^v?[0-9]{1,9}(?:\.[0-9]{1,9}){0,4}$`)

// numbers returns the numbers of a version, or nil if it is not made of numbers only.
func numbers(version string) []int {
	version, _, _ = strings.Cut(version, "+")
	if !plainVersion.MatchString(version) {
		return nil
	}
	var all []int
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		n, _ := strconv.Atoi(part)
		all = append(all, n)
	}
	return all
}

// isNewerVersion reports whether text is a version without a suffix, such as 1.2.3 or v1.2, and
// newer than another version.
func isNewerVersion(text, than string) bool {
	version := numbers(text)
	return version != nil && (than == "" || slices.Compare(version, numbers(than)) > 0)
}

// maxAbout is the number of bytes read of a file that describes a package.
const maxAbout = 1 << 20

// About is an installed package's own description. Unreadable fields are empty.
type About struct {
	Licence, Source, Description, Readme string
}

// AboutOf returns the licence, source, description and readme of the package in a folder.
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
	data, _ := io.ReadAll(io.LimitReader(f, maxAbout)) // a longer file is cut
	return data
}
