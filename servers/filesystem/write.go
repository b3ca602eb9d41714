package filesystem

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

type writeInput struct {
	Path      string `json:"path" doc:"Absolute path, or the root's name and the rest of the path, such as root/folder/file.txt."`
	Content   string `json:"content" doc:"The whole new content of the file."`
	Encoding  string `json:"encoding,omitempty" doc:"The form of content: text, or bytes in base64." enum:"text,base64" default:"text"`
	Overwrite bool   `json:"overwrite,omitempty" doc:"Replace the file if it exists."`
}

type writeOutput struct {
	Path     string `json:"path"`
	Bytes    int    `json:"bytes" doc:"Size of the file now."`
	Replaced bool   `json:"replaced" doc:"Whether the file existed before."`
}

func (f *files) writeFile(_ context.Context, in writeInput) (writeOutput, error) {
	p, err := f.find(in.Path)
	if err != nil {
		return writeOutput{}, err
	}
	data := []byte(in.Content)
	if in.Encoding == "base64" {
		if data, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
			return writeOutput{}, fmt.Errorf("content: %w", err)
		}
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if parent := filepath.Dir(p.rel); parent != "." {
		if err := p.root.fs.MkdirAll(parent, 0o755); err != nil {
			return writeOutput{}, place{p.root, parent}.wrap(err)
		}
	}
	replaced, err := p.replace(data, in.Overwrite)
	if err != nil {
		return writeOutput{}, err
	}
	f.log.Info("filesystem: wrote a file", "path", p.String(), "bytes", len(data))
	return writeOutput{p.String(), len(data), replaced}, nil
}

// replace replaces a file atomically: readers see either the old content or the new one. It never
// writes into the old file, so the content under other hard links stays.
func (p place) replace(data []byte, overwrite bool) (replaced bool, err error) {
	if p.rel == "." {
		return false, fmt.Errorf("%s: is a root, not a file", p)
	}
	// All steps below use this open folder, even if its name changes meanwhile.
	folder, err := p.root.fs.OpenRoot(filepath.Dir(p.rel))
	if err != nil {
		return false, p.wrap(err)
	}
	defer folder.Close()
	base := filepath.Base(p.rel)
	old, err := folder.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return false, p.wrap(err)
	case old.Mode()&fs.ModeSymlink != 0:
		return false, fmt.Errorf("%s: is a link; write to the file it leads to", p)
	case !old.Mode().IsRegular():
		return false, p.regular(old)
	case !overwrite:
		return false, p.exists()
	}
	temporary := ".junction-" + rand.Text()
	if err := writeTemporary(folder, temporary, data, old); err != nil {
		folder.Remove(temporary)
		return false, p.wrap(err)
	}
	if err := moveIntoPlace(folder, temporary, base, overwrite); err != nil {
		folder.Remove(temporary)
		if errors.Is(err, fs.ErrExist) {
			return false, p.exists()
		}
		return false, p.wrap(err)
	}
	return old != nil, nil
}

func (p place) exists() error {
	return fmt.Errorf("%s: %w; set overwrite to replace it, or change it with edit-file", p, fs.ErrExist)
}

// writeTemporary writes a complete new file, with the permissions of the old one.
func writeTemporary(folder *os.Root, name string, data []byte, old fs.FileInfo) error {
	file, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil && old != nil {
		err = file.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// moveIntoPlace renames a temporary file to its final name. Without overwrite it makes a hard link,
// which fails if the name was taken meanwhile. On file systems without hard links, only the earlier
// check prevents overwriting.
func moveIntoPlace(in *os.Root, from, to string, overwrite bool) error {
	if overwrite {
		return in.Rename(from, to)
	}
	err := in.Link(from, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return err
	case err != nil:
		return in.Rename(from, to)
	}
	if err := in.Remove(from); err != nil {
		return errors.Join(err, in.Remove(to)) // the file stays at the old name
	}
	return nil
}

type moveInput struct {
	From string `json:"from" doc:"The file or folder to move: absolute path, or the root's name and the rest of the path."`
	To   string `json:"to" doc:"Its new path, in the same root. Missing folders are made."`
}

type moveOutput struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func (f *files) move(_ context.Context, in moveInput) (moveOutput, error) {
	from, err := f.find(in.From)
	if err != nil {
		return moveOutput{}, fmt.Errorf("from: %w", err)
	}
	to, err := f.findExact(in.To) // no look-alikes here, because the move may only change such a name
	if err != nil {
		return moveOutput{}, fmt.Errorf("to: %w", err)
	}
	switch {
	case from.root != to.root:
		return moveOutput{}, fmt.Errorf("%s and %s are in different roots; read the one and write the other", from, to)
	case from.rel == "." || to.rel == ".":
		return moveOutput{}, fmt.Errorf("%s: a root cannot be moved or replaced", from.root.name)
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := f.moveWithin(from, to); err != nil {
		return moveOutput{}, err
	}
	f.log.Info("filesystem: moved", "from", from.String(), "to", to.String())
	return moveOutput{from.String(), to.String()}, nil
}

// moveWithin moves an entry to a path that must be free. A file can never replace another. A folder
// could replace an empty folder that was made after the check.
func (f *files) moveWithin(from, to place) error {
	in := from.root.fs
	info, err := in.Lstat(from.rel)
	if err != nil {
		return from.wrap(err)
	}
	taken := fmt.Errorf("%s: %w; delete it first, or choose another path", to, fs.ErrExist)
	if _, err := in.Lstat(to.rel); err == nil {
		return taken
	} else if !errors.Is(err, fs.ErrNotExist) {
		return to.wrap(err)
	}
	if err := in.MkdirAll(filepath.Dir(to.rel), 0o755); err != nil {
		return to.wrap(err)
	}
	err = moveIntoPlace(in, from.rel, to.rel, !info.Mode().IsRegular())
	switch {
	case errors.Is(err, fs.ErrExist):
		return taken
	case err != nil:
		return from.wrap(err)
	}
	return nil
}

type pathInput struct {
	Path string `json:"path" doc:"Absolute path, or the root's name and the rest of the path."`
}

type pathOutput struct {
	Path string `json:"path"`
}

func (f *files) makeFolder(_ context.Context, in pathInput) (pathOutput, error) {
	p, err := f.find(in.Path)
	if err != nil {
		return pathOutput{}, err
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := p.root.fs.MkdirAll(p.rel, 0o755); err != nil {
		return pathOutput{}, p.wrap(err)
	}
	f.log.Info("filesystem: made a folder", "path", p.String())
	return pathOutput{p.String()}, nil
}

func (f *files) delete(_ context.Context, in pathInput) (pathOutput, error) {
	p, err := f.find(in.Path)
	if err != nil {
		return pathOutput{}, err
	}
	if p.rel == "." {
		return pathOutput{}, fmt.Errorf("%s: a root cannot be deleted", p)
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := p.root.fs.Remove(p.rel); err != nil {
		return pathOutput{}, p.wrap(err)
	}
	f.log.Info("filesystem: deleted", "path", p.String())
	return pathOutput{p.String()}, nil
}
