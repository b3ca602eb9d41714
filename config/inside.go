package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// readNamed reads a file that an entry names. Where a project's file does, it must lie in the project, whatever links lead
// to it.
func readNamed(workspace, path string) ([]byte, error) {
	folder, inside := filepath.Dir(path), filepath.Base(path)
	if workspace != "" {
		local := false
		if folder, inside, local = insideProject(workspace, path); !local {
			return nil, outsideProject(path)
		}
	} else if real, err := filepath.EvalSymlinks(path); err == nil { // the person's own file may name a link
		folder, inside = filepath.Dir(real), filepath.Base(real)
	}
	data, err := readInside(folder, inside, maxSecretFile)
	if err != nil {
		return nil, fmt.Errorf("file %s %w", quote(path), err)
	}
	return data, nil
}

// insideProject is a file as [readInside] reads it of a project; local is false for one outside of it. Links are left
// to readInside.
func insideProject(workspace, path string) (folder, inside string, local bool) {
	inside, err := filepath.Rel(workspace, path)
	return workspace, inside, err == nil && filepath.IsLocal(inside)
}

func outsideProject(written string) error {
	return fmt.Errorf("file %s is outside of the project's folder; put it there, or name it in a configuration of your own", quote(written))
}

// readInside reads a regular file below folder, whatever links and .. its name holds, of at most so many bytes.
func readInside(folder, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", cause(err))
	}
	defer root.Close()
	// Before it is opened: opening a pipe would wait for its other end.
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

// cause drops the path from an error, since variables are part of it.
func cause(err error) error {
	var failed *os.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
