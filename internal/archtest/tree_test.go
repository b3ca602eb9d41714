package archtest

import (
	"flag"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the files in api/ again")

const module = "github.com/junction-mcp/junction"

// root is the folder of the repository, relative to this one.
const root = "../.."

// A source is one Go file of the repository.
type source struct {
	path   string // from the root, with slashes
	text   []byte
	file   *ast.File
	isTest bool
}

func (s *source) dir() string { return path.Dir(s.path) }

// inModule reports whether the file belongs to the main module and not to one next to it.
func (s *source) inModule() bool {
	return !below(s.path, "bench") && !below(s.path, "deploy") && !below(s.path, "integration")
}

// below reports whether the path is the folder or inside it.
func below(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

// walk calls f with every file of the repository that is not generated.
func walk(t *testing.T, f func(p string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "bin"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || d.Name() == ".git" { // a worktree has a file of that name
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		f(filepath.ToSlash(rel), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var files = token.NewFileSet()

// parsed holds every Go file of the repository, read once.
var parsed = sync.OnceValues(func() ([]*source, error) {
	var all []*source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		all = append(all, &source{filepath.ToSlash(rel), text, file, strings.HasSuffix(name, "_test.go") || below(filepath.ToSlash(rel), "cmd/junction/internal/clitest")})
		return err
	})
	return all, err
})

func sources(t *testing.T) []*source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// publicPackages returns the folders of packages that other programs can import, with their files
// for Linux, without tests.
func publicPackages(t *testing.T) map[string][]*ast.File {
	t.Helper()
	linux := build.Default
	linux.GOOS, linux.GOARCH = "linux", "amd64"
	packages := make(map[string][]*ast.File)
	for _, s := range sources(t) {
		hidden := below(s.path, "cmd") || below(s.path, "docs") || strings.Contains("/"+s.path, "/internal/")
		if s.isTest || hidden || !s.inModule() || s.file.Name.Name == "main" {
			continue
		}
		name := filepath.Join(root, s.path)
		if fits, err := linux.MatchFile(filepath.Dir(name), filepath.Base(name)); err != nil || !fits {
			continue
		}
		packages[s.dir()] = append(packages[s.dir()], s.file)
	}
	return packages
}
