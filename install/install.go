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
	// ErrNotInstalled says that a locked package is not in the store yet.
	ErrNotInstalled = errors.New("is not installed")
	// ErrIntegrity says that bytes are not those that the lock, or the registry, names.
	ErrIntegrity = errors.New("has other contents than were locked")
	// ErrNotFound says that the registry has no such package, or no such version of it.
	ErrNotFound = errors.New("is not in the registry")
	// ErrPulled says that a version was taken back: yanked, or unpublished after it was locked.
	ErrPulled = errors.New("was pulled")
	// ErrRuntime says that a program is missing on this machine; the error names it, and how to get it.
	ErrRuntime = errors.New("is not on this machine")
	// ErrScripts says that a package cannot be installed without running its code, and that nobody allowed that: [Package.Scripts].
	ErrScripts = errors.New("would run its code to be installed")
	// ErrNoProgram says that a package does not have the program that was asked for, or several and none with its own name.
	ErrNoProgram = errors.New("has no program")
	// ErrNoAudit says that nobody could be asked for known vulnerabilities: a command is missing, or a registry does not know.
	ErrNoAudit = errors.New("could not be audited")
)

// Package names a package as a person or a server.json does.
type Package struct {
	Type     string `json:"type"` // such as NPM
	Name     string `json:"name"` // the name in its registry; of mcpb the URL or file, of oci the image without tag, of folder the path
	Version  string `json:"version,omitempty"`
	Registry string `json:"registry,omitempty"` // base URL; none is what the package manager is set up for
	SHA256   string `json:"sha256,omitempty"`   // of mcpb, hexadecimal, where it is known beforehand
	Bin      string `json:"bin,omitempty"`      // which of its programs; none is the one that npx, uvx or dnx would start
	With     string `json:"with,omitempty"`     // of pypi, one more requirement, as uvx --with has it: mcp<2 keeps a dependency from becoming newer than the package knows
	Scripts  bool   `json:"scripts,omitempty"`  // the person allowed that its code, and that of its dependencies, runs while it is installed
}

// IsContainer reports whether a container engine runs it, and confines it.
func (p Package) IsContainer() bool { return runner.Of(p.Type).IsContainer }

// Locked is a package of which every byte is known: enough to install the same again, on another machine too.
type Locked struct {
	Package          // with the exact version
	Integrity string `json:"integrity,omitempty"` // sha512-BASE64 of npm, sha256:HEX of the others, of pypi that of the wheel for all systems; of oci the digest
	// Program is what is started. What begins with ./ lies in the folder that the package is installed into; another first word is a program of
	// this machine.
	Program      []string        `json:"program"`
	Dependencies json.RawMessage `json:"dependencies,omitempty"` // what its package manager needs to install the same dependencies
	WantScripts  []string        `json:"wantScripts,omitempty"`  // packages, with versions, whose install scripts do not run unless Scripts is set
}

// Program is an installed package, ready to be started.
type Program struct {
	Dir  string            // the folder that it was installed into; only this is read
	Argv []string          // absolute; the entry's own arguments follow
	Env  map[string]string // what it needs in addition to the environment of the entry

	// Config is what a bundle (mcpb) asks the person for. Argv and Env have ${user_config.NAME} where it goes, until Fill.
	Config map[string]Setting
	// Passed are the names of variables that the container of an image gets from the environment of docker, where it has them: they are to be
	// those of the entry, and not of whoever starts it.
	Passed []string
}

// Advice is what a registry says of a locked package today.
type Advice struct {
	Newest     string // the newest version that is no preview
	Deprecated string // the author's words
	Pulled     bool   // yanked or unpublished
}

// Vulnerability is a known one in a package or in one of its dependencies.
type Vulnerability struct {
	Package  string `json:"package"`
	Version  string `json:"version,omitempty"`
	ID       string `json:"id,omitempty"`
	Severity string `json:"severity,omitempty"`
	Title    string `json:"title,omitempty"`
	FixedIn  string `json:"fixedIn,omitempty"`
}

var plainVersion = regexp.MustCompile(`^v?[0-9]{1,9}(?:\.[0-9]{1,9}){0,4}$`)

// numbers are those of a version that is no preview: nil where it has more than numbers in it.
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

// isNewerVersion reports whether a text is a version without a suffix, such as 1.2.3 or v1.2, and newer than another.
func isNewerVersion(text, than string) bool {
	version := numbers(text)
	return version != nil && (than == "" || slices.Compare(version, numbers(than)) > 0)
}

// maxAbout is how many bytes of a file of a package are read that describes it.
const maxAbout = 1 << 20

// About is what an installed package says of itself. What cannot be read is empty.
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

// aboutNode reads a package.json and the README next to it.
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
	data, _ := io.ReadAll(io.LimitReader(f, maxAbout)) // what is cut short is not known
	return data
}
