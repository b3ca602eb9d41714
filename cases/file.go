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

// Limits of files of cases.
const (
	maxFile  = 4 << 20 // bytes of a file
	maxFiles = 1_000   // files of one run
	maxCases = 10_000  // cases of a file
	maxSteps = 1_000   // steps of a case
)

// inArchive is the name of the file with the cases in an archive.
const inArchive = "cases.yaml"

// A File is a file of cases.
type File struct {
	// Path is the path of the file.
	Path string
	// Server is the tested server. It is the zero Server if the file does not name one.
	Server Server

	files       []txtar.File // files for the server's working folder; nil means that the server works in the folder of the file itself
	isArchive   bool
	timeout     time.Duration
	perCase     bool // whether each case gets a new server
	revisions   []string
	transports  []string
	mask        []mask
	answers     answers
	declared    []string // names of capabilities that the client declares without replies
	cases       []*testCase
	wantsLog    bool
	wantsListen bool
	watched     []string // URIs of the resources to subscribe to
}

// A Server is the server that a file tests. Exactly one of Name, Command and Recording is set.
type Server struct {
	// Name is the name of a server in a configuration, or a URL.
	Name string
	// Command is a program with its arguments. Env has additional variables for its environment.
	Command []string
	Env     map[string]string
	// Recording is the path of a recording, and Recorded the name of the recorded server to replay.
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

// Find returns the paths of files of cases. For a folder in paths it returns all files of cases in
// the folder.
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

// parse parses the text of a file.
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

// archive unpacks an archive and returns the content of the file with the cases.
func (f *File) archive(text []byte, p *parser) (cases []byte, err error) {
	a := txtar.Parse(text)
	line := bytes.Count(a.Comment, []byte("\n"))
	for _, file := range a.Files {
		line++ // counts the line with the name
		switch name := filepath.FromSlash(file.Name); {
		case file.Name == inArchive && cases != nil:
			return nil, fmt.Errorf("line %d: %s occurs twice", line, inArchive)
		case file.Name == inArchive:
			cases, p.before = file.Data, line
		case !filepath.IsLocal(name):
			return nil, fmt.Errorf("line %d: %q is not a name within the server's folder", line, file.Name)
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

// folder returns the working folder for a server, and a function that removes the folder if it is
// temporary.
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
		dir = real // path without links; servers report paths in this form
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
