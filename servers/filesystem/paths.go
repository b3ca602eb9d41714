package filesystem

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxPath is the maximum length of a path in bytes.
const maxPath = 8 << 10

// A root is a folder that the server can reach.
type root struct {
	name string   // first segment of paths in tools
	dir  string   // absolute, as given
	real string   // with links resolved
	fs   *os.Root // opened folder; all file access uses it
}

func openRoots(dirs []string) ([]*root, error) {
	if len(dirs) == 0 {
		return nil, errors.New("no roots: name at least one folder to serve")
	}
	var roots []*root
	taken := map[string]bool{}
	for _, dir := range dirs {
		r, err := openRoot(dir)
		if err != nil {
			for _, opened := range roots {
				opened.fs.Close()
			}
			return nil, fmt.Errorf("root %s: %w", dir, err)
		}
		r.name = freeName(filepath.Base(r.dir), taken)
		roots = append(roots, r)
	}
	return roots, nil
}

func openRoot(dir string) (*root, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return nil, err
	}
	opened, err := os.OpenRoot(absolute)
	if err != nil {
		return nil, err
	}
	return &root{dir: absolute, real: real, fs: opened}, nil
}

// freeName returns a root's name that is not in taken, and adds it.
func freeName(base string, taken map[string]bool) string {
	base = strings.Trim(strings.ReplaceAll(base, string(filepath.Separator), ""), " ")
	if base == "" || base == "." {
		base = "root"
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	taken[name] = true
	return name
}

// A place is a path within a root, "." for the root itself.
type place struct {
	root *root
	rel  string
}

// String returns the path in the form of the tools: root/folder/file.
func (p place) String() string {
	if p.rel == "." {
		return p.root.name
	}
	return p.root.name + "/" + filepath.ToSlash(p.rel)
}

// join returns the place of an entry in the folder p.
func (p place) join(name string) place { return place{p.root, filepath.Join(p.rel, name)} }

// uri returns the place as a file: URI.
func (p place) uri() string {
	path := filepath.ToSlash(filepath.Join(p.root.dir, p.rel))
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // on Windows: C:/…
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// find converts a caller's path to a place. If no entry has this exact name, it returns the entry
// whose name looks the same. For example, macOS writes a special space into the names of
// screenshots, and models write an ordinary one.
func (f *files) find(path string) (place, error) {
	p, err := f.findExact(path)
	if err != nil {
		return place{}, err
	}
	return p.lookAlike()
}

// findExact converts a path to a place. It checks only the syntax of the path; os.Root checks the
// file and its links.
func (f *files) findExact(path string) (place, error) {
	switch {
	case len(path) > maxPath:
		return place{}, fmt.Errorf("path: at most %d bytes, got %d", maxPath, len(path))
	case strings.ContainsRune(path, 0):
		return place{}, fmt.Errorf("path %q: must not contain a zero byte", path)
	}
	native := filepath.FromSlash(path)
	if filepath.IsAbs(native) {
		cleaned := filepath.Clean(native)
		found, longest := place{}, -1
		for _, r := range f.roots {
			for _, dir := range []string{r.dir, r.real} {
				rel, err := filepath.Rel(dir, cleaned)
				if err == nil && filepath.IsLocal(rel) && len(dir) > longest {
					found, longest = place{r, rel}, len(dir)
				}
			}
		}
		if longest < 0 {
			return place{}, fmt.Errorf("path %q: lies outside of the roots; %s", path, f.rootList())
		}
		return found, nil
	}
	first, rest, _ := strings.Cut(native, string(filepath.Separator))
	for _, r := range f.roots {
		if r.name == first {
			return inside(r, rest, path)
		}
	}
	if len(f.roots) == 1 { // the path can only mean this root
		return inside(f.roots[0], native, path)
	}
	return place{}, fmt.Errorf("path %q: does not begin with a root; %s", path, f.rootList())
}

func inside(r *root, rel, path string) (place, error) {
	rel = filepath.Clean(rel) // "" becomes "."
	if !filepath.IsLocal(rel) {
		return place{}, fmt.Errorf("path %q: leads out of the root %s (%s)", path, r.name, r.dir)
	}
	return place{r, rel}, nil
}

// rootList returns a list of the roots for an error.
func (f *files) rootList() string {
	names := make([]string, len(f.roots))
	for i, r := range f.roots {
		names[i] = fmt.Sprintf("%s (%s)", r.name, r.dir)
	}
	return "roots: " + strings.Join(names, ", ")
}

// wrap replaces the operating system's path in an error by the place, and adds a hint for models.
func (p place) wrap(err error) error {
	for {
		var at *fs.PathError
		var link *os.LinkError
		if errors.As(err, &at) {
			err = at.Err
		} else if errors.As(err, &link) {
			err = link.Err
		} else {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w; list-folder shows the existing files", p, err)
	}
	return fmt.Errorf("%s: %w", p, err)
}

// open opens a regular file for reading. It refuses all other kinds.
func (p place) open() (*os.File, fs.FileInfo, error) {
	info, err := p.root.fs.Stat(p.rel)
	if err != nil {
		return nil, nil, p.wrap(err)
	}
	if err := p.regular(info); err != nil {
		return nil, nil, err
	}
	// The file may have been replaced by a pipe since the check, so opening must not block.
	file, err := p.root.fs.OpenFile(p.rel, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, p.wrap(err)
	}
	if info, err = file.Stat(); err == nil {
		err = p.regular(info)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func (p place) regular(info fs.FileInfo) error {
	switch kind := kindOf(info.Mode()); kind {
	case kindFile:
		return nil
	case kindFolder:
		return fmt.Errorf("%s: is a folder; use list-folder or tree", p)
	default:
		return fmt.Errorf("%s: is not a regular file (%s)", p, info.Mode().Type())
	}
}

// Kinds of entries.
const (
	kindFile   = "file"
	kindFolder = "folder"
	kindLink   = "link"
	kindOther  = "other"
)

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return kindFile
	case mode.IsDir():
		return kindFolder
	case mode&fs.ModeSymlink != 0:
		return kindLink
	}
	return kindOther
}
