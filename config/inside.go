package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// readNamed reads a file that an entry names. If a project's configuration names it, it must be in
// the project, even through links.
func readNamed(workspace, path string) ([]byte, error) {
	folder, inside, allowed := fileNamed(workspace, path)
	if !allowed {
		return nil, outsideProject(path)
	}
	data, err := readInside(folder, inside, maxSecretFile)
	if err != nil {
		return nil, fmt.Errorf("file %s %w", quote(path), err)
	}
	return data, nil
}

// file returns the path of a file that an entry names. A file of a project must be in the project.
func (x *expansion) file(written string) (string, error) {
	value, err := x.expandLine(written)
	if err != nil {
		return "", err
	}
	path := absolute(value, x.def.folder)
	if x.def.workspace != "" {
		if _, _, allowed := fileNamed(x.def.workspace, path); !allowed {
			return "", outsideProject(written)
		}
	}
	return path, nil
}

// fileNamed returns the folder and the name for [readInside]. Without a workspace, the user's own
// configuration names the file, and it may be a link, as files with secrets often are. A file of a
// project must be in the workspace; readInside checks the targets of links.
func fileNamed(workspace, path string) (folder, inside string, allowed bool) {
	if workspace != "" {
		inside, err := filepath.Rel(workspace, path)
		return workspace, inside, err == nil && filepath.IsLocal(inside)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.Dir(path), filepath.Base(path), true
}

func outsideProject(written string) error {
	return fmt.Errorf("file %s is outside of the project's folder; put it there, or name it in a configuration of your own", quote(written))
}

// readInside reads a regular file below folder, including all links and .. in name, of at most most
// bytes.
func readInside(folder, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", cause(err))
	}
	defer root.Close()
	// The check is before the open, because opening a pipe would wait for its other end.
	info, err := root.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", cause(err))
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", cause(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", cause(err))
	}
	if int64(len(data)) > most {
		if most < 1<<20 {
			return nil, caused(ErrLimit, "is larger than %d KiB", most>>10)
		}
		return nil, caused(ErrLimit, "is larger than %d MiB", most>>20)
	}
	return data, nil
}

// cause removes the path from an error, because it may have values of variables.
func cause(err error) error {
	var failed *os.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
