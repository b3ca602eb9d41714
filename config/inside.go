package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// readNamed reads a file that an entry names. If a project's configuration names the file, it must
// be in the project's folder after links are followed.
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

// file returns the path of a file that an entry names. A project's entry can name only a file in
// the project's folder.
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

// fileNamed returns the arguments of [readInside] for a path. With a workspace, the path must be in
// the workspace, and readInside checks the targets of links. Without one, the user's own
// configuration names the file. That file may be a link to any place; files with secrets often are
// links.
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

// readInside reads a regular file of up to most bytes. name, with all its links and "..", must lead
// to a file below folder.
func readInside(folder, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", cause(err))
	}
	defer root.Close()
	// The check comes before the open, because opening a named pipe waits for a writer.
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

// cause removes the path from an error, because the path may contain values of variables.
func cause(err error) error {
	var failed *os.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
