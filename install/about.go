package install

import (
	"encoding/json"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/runner"
)

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
