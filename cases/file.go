package cases

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// The limits of what is read.
const (
	maxFile  = 4 << 20 // bytes of a file
	maxFiles = 1_000   // of one run
	maxCases = 10_000  // of a file
	maxSteps = 1_000   // of a case
)

// inArchive is the file of an archive that has the cases.
const inArchive = "cases.yaml"

// A File is a file of cases.
type File struct {
	// Path is where it is.
	Path string
	// Server is what it tests; the zero value if it does not say.
	Server Server

	files       []txtar.File // for the server's folder; nil: the server works in that of the file
	isArchive   bool
	timeout     time.Duration
	perCase     bool // a server for each case
	revisions   []string
	transports  []string
	mask        []mask
	answers     answers
	declared    []string // of capabilities
	cases       []*testCase
	wantsLog    bool
	wantsListen bool
	watched     []string // resources
}

// A Server is what a file says of the server that it tests. One of Name, Command and Recording is given.
type Server struct {
	// Name is a server of a configuration, or a URL.
	Name string
	// Command is a program and its arguments, and Env what it has in its environment in addition.
	Command []string
	Env     map[string]string
	// Recording is the path of a file, and Recorded which of its servers is played.
	Recording, Recorded string
}

func (s *Server) isZero() bool { return s.Name == "" && len(s.Command) == 0 && s.Recording == "" }

// A testCase is one case.
type testCase struct {
	name       string
	line       int
	revisions  []string
	transports []string
	answers    answers
	steps      []*step
}

// Find returns the files that paths lead to: files themselves, and all with cases in folders.
func Find(paths []string) ([]string, error) {
	var found []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no such file or folder: %s", path)
		}
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			found = append(found, path)
			continue
		}
		err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			switch base := d.Name(); {
			case err != nil:
				return err
			case d.IsDir() && name != path && (strings.HasPrefix(base, ".") || strings.HasSuffix(base, snapshotFolder) || base == "node_modules"):
				return fs.SkipDir
			case d.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml", ".txtar"}, filepath.Ext(base)):
				found = append(found, name)
			}
			if len(found) > maxFiles {
				return fmt.Errorf("%s has more than %d files with cases", path, maxFiles)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no file with cases (.yaml, .yml or .txtar) in %s", strings.Join(paths, ", "))
	}
	return found, nil
}

// Load reads a file of cases. The error names the file and the line.
func Load(path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	f, err := parse(path, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// parse reads the text of a file.
func parse(path string, text []byte) (*File, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	f := &File{Path: path}
	p := &parser{}
	if filepath.Ext(path) == ".txtar" {
		f.isArchive = true
		var err error
		if text, err = f.archive(text, p); err != nil {
			return nil, err
		}
	}
	root, err := p.document(text)
	if err != nil {
		return nil, err
	}
	return f, p.file(f, root)
}

// archive takes an archive apart, and returns the file that has the cases.
func (f *File) archive(text []byte, p *parser) (cases []byte, err error) {
	a := txtar.Parse(text)
	line := bytes.Count(a.Comment, []byte("\n"))
	for _, file := range a.Files {
		line++ // that of the name
		switch name := filepath.FromSlash(file.Name); {
		case file.Name == inArchive && cases != nil:
			return nil, fmt.Errorf("line %d: %s is there twice", line, inArchive)
		case file.Name == inArchive:
			cases, p.before = file.Data, line
		case !filepath.IsLocal(name):
			return nil, fmt.Errorf("line %d: %q is no name within the server's folder", line, file.Name)
		default:
			f.files = append(f.files, file)
		}
		line += bytes.Count(file.Data, []byte("\n"))
	}
	if cases == nil {
		return nil, errors.New("the archive has no -- " + inArchive + " --")
	}
	return cases, nil
}

// folder makes the working folder of a server, and what takes it away again.
func (f *File) folder() (dir string, remove func() error, err error) {
	if !f.isArchive {
		dir, err = filepath.Abs(filepath.Dir(f.Path))
		return dir, func() error { return nil }, err
	}
	if dir, err = os.MkdirTemp("", "junction-test-"); err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // as servers name it
	}
	if err := f.unpack(dir); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return dir, remove, nil
}

func (f *File) unpack(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, file := range f.files {
		name := filepath.FromSlash(file.Name)
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(name, file.Data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
