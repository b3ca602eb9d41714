package install

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// folder starts a program in a folder of the user, or a program file of the user, in place. It
// copies nothing. Of a folder only the command line is locked, because the user may be working in
// it. A program file is locked by its hash.
type folder struct{}

// maxProgram is the maximum size of a program file in bytes.
const maxProgram = 1 << 30

func (folder) resolve(ctx context.Context, p Package, _ string) (*Locked, error) {
	where, err := filepath.Abs(p.Name)
	if err != nil {
		return nil, err
	}
	p.Name = where
	info, err := os.Stat(where)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no such file or folder", ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() { // a compiled program or a script
		words, err := fileWords(where, info)
		if err != nil {
			return nil, err
		}
		hash, err := hashFile(where)
		return &Locked{Package: p, Integrity: hash, Program: words}, err
	}
	var words []string
	var version string
	m, err := manifestIn(where)
	switch {
	case err == nil:
		words, version = m.words(), m.Version
	case errors.Is(err, fs.ErrNotExist):
		words, version, err = folderWords(where, p.Bin)
	}
	if err != nil {
		return nil, err
	}
	p.Version = cmp.Or(p.Version, version)
	return &Locked{Package: p, Program: words}, nil
}

// folderWords returns the command line of a folder that is not a bundle.
func folderWords(dir, bin string) (words []string, version string, err error) {
	for _, kind := range []func(dir, bin string) (words []string, version string, err error){nodeFolder, pythonFolder, goFolder} {
		words, version, err := kind(dir, bin)
		if !errors.Is(err, fs.ErrNotExist) {
			return words, version, err
		}
	}
	return nil, "", errors.New("has no manifest.json, package.json, pyproject.toml, or go.mod with its program")
}

// fileWords returns the command line that starts a file.
func fileWords(file string, info fs.FileInfo) ([]string, error) {
	switch ext := strings.ToLower(filepath.Ext(file)); {
	case !info.Mode().IsRegular():
		return nil, errors.New("is neither a folder nor a file")
	case ext == ".js" || ext == ".mjs" || ext == ".cjs":
		return []string{"node", file}, nil
	case ext == ".py":
		return []string{"python3", file}, nil
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return nil, fmt.Errorf("may not be executed: chmod +x %s", file)
	}
	return []string{file}, nil
}

func hashFile(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, maxProgram+1))
	if err == nil && n > maxProgram {
		err = fmt.Errorf("has more than %d bytes", maxProgram)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), err
}

// manifestIn reads the manifest.json of an unpacked bundle (mcpb).
func manifestIn(dir string) (*manifest, error) {
	text, err := readLimited(filepath.Join(dir, "manifest.json"), maxManifest)
	if err != nil {
		return nil, err
	}
	return readManifest(text)
}

// nodeFolder returns the command line for an npm package: a file in its bin, or else its main file.
func nodeFolder(dir, bin string) ([]string, string, error) {
	text, err := readLimited(filepath.Join(dir, "package.json"), maxManifest)
	if err != nil {
		return nil, "", err
	}
	var read struct {
		Name    string          `json:"name"`
		Version string          `json:"version"`
		Main    string          `json:"main"`
		Bin     json.RawMessage `json:"bin"` // a file, or an object with files by name
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, "", fmt.Errorf("package.json: %w", err)
	}
	bins := map[string]string{}
	var one string
	if json.Unmarshal(read.Bin, &one) == nil {
		bins[path.Base(read.Name)] = one
	} else if len(read.Bin) > 0 {
		if err := json.Unmarshal(read.Bin, &bins); err != nil {
			return nil, "", fmt.Errorf("package.json: bin: %w", err)
		}
	}
	file := read.Main
	if len(bins) > 0 || bin != "" {
		if file, err = chooseBin(Package{Name: cmp.Or(read.Name, filepath.Base(dir)), Bin: bin}, bins); err != nil {
			return nil, "", err
		}
	}
	file = path.Clean(cmp.Or(file, "index.js"))
	if !isFile(filepath.Join(dir, filepath.FromSlash(file))) {
		return nil, "", fmt.Errorf("package.json starts %s, which does not exist: you may have to build it first (npm install, npm run build)", file)
	}
	return []string{"node", "./" + file}, read.Version, nil
}

// pythonFolder returns the command line for a Python project: a script in its virtual environment,
// or else uv, which creates one.
func pythonFolder(dir, bin string) ([]string, string, error) {
	text, err := readLimited(filepath.Join(dir, "pyproject.toml"), maxManifest)
	if err != nil {
		return nil, "", err
	}
	var read struct {
		Project struct {
			Name    string            `toml:"name"`
			Version string            `toml:"version"`
			Scripts map[string]string `toml:"scripts"`
		} `toml:"project"`
	}
	if err := toml.Unmarshal(text, &read); err != nil {
		return nil, "", fmt.Errorf("pyproject.toml: %w", err)
	}
	names := slices.Sorted(maps.Keys(read.Project.Scripts))
	chosen := cmp.Or(bin, read.Project.Name)
	if !slices.Contains(names, chosen) && bin == "" && len(names) == 1 {
		chosen = names[0]
	}
	if !slices.Contains(names, chosen) || strings.HasPrefix(chosen, "-") {
		return nil, "", fmt.Errorf("pyproject.toml has no script %q under project.scripts, but %q: choose the one that starts the server", chosen, names)
	}
	for _, file := range []string{".venv/bin/" + chosen, "venv/bin/" + chosen, ".venv/Scripts/" + chosen + ".exe"} {
		if isFile(filepath.Join(dir, filepath.FromSlash(file))) {
			return []string{"./" + file}, read.Project.Version, nil
		}
	}
	return []string{"uv", "run", "--directory", dir, chosen}, read.Project.Version, nil
}

// goFolder returns the command line for a Go module whose program was built inside its folder.
func goFolder(dir, bin string) ([]string, string, error) {
	text, err := readLimited(filepath.Join(dir, "go.mod"), maxManifest)
	if err != nil {
		return nil, "", err
	}
	module := ""
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			module = strings.Trim(strings.TrimSpace(rest), `"`)
			break
		}
	}
	name := cmp.Or(bin, path.Base(module))
	for _, file := range []string{name, "bin/" + name, name + ".exe", "bin/" + name + ".exe"} {
		if isFile(filepath.Join(dir, filepath.FromSlash(file))) {
			return []string{"./" + file}, "", nil
		}
	}
	return nil, "", fmt.Errorf("is a Go module without its program: build it first with go build -C %s -o %s", dir, name)
}

func (folder) install(context.Context, *Locked, string) error {
	return errors.New("is used in place, and not installed")
}

func (folder) program(l *Locked, dir string) (*Program, error) {
	if !filepath.IsAbs(dir) {
		return nil, errors.New("is not an absolute path in the lock, so it would depend on the folder in which junction runs")
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if info.IsDir() {
		m, err := manifestIn(dir)
		if err == nil {
			return m.programOf(l, dir)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		words, _, err := folderWords(dir, l.Bin)
		if err == nil && !slices.Equal(l.Program, words) {
			err = fmt.Errorf("the lock starts %q, but this folder now starts with %q: if that is right, lock it again (junction server upgrade)", l.Program, words)
		}
		if err != nil {
			return nil, err
		}
		return programIn(words, dir)
	}
	hash, err := hashFile(dir)
	if err == nil && hash != l.Integrity {
		err = fmt.Errorf("%w: its hash was %s and is %s: if that is right, lock it again (junction server upgrade)", ErrIntegrity, l.Integrity, hash)
	}
	if err != nil {
		return nil, err
	}
	words, err := fileWords(dir, info)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(l.Program, words) {
		return nil, fmt.Errorf("the lock starts %q, but this file starts with %q", l.Program, words)
	}
	if len(words) > 1 && words[0] == "python3" {
		words[0] = python()
	}
	return programIn(words, filepath.Dir(dir))
}

func (folder) advice(context.Context, *Locked, string) (Advice, error) { return Advice{}, nil }

func (folder) audit(context.Context, *Locked, string) ([]Vulnerability, error) {
	return nil, fmt.Errorf("%w: it is your own folder or program", ErrNoAudit)
}
