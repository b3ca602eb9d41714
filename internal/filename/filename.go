// Package filename compares, shortens and stamps paths of files.
package filename

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Absolute returns a path that does not depend on where a program is started.
func Absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// Real returns the absolute path of a file, without symbolic links.
func Real(path string) string {
	path = Absolute(path)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return path
}

// Short returns a path with the home folder as ~.
func Short(path string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	if rest, found := strings.CutPrefix(path, home+string(filepath.Separator)); found {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// URL returns the URL of a file, of which the path is absolute.
func URL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// ReadAtMost reads a file that should have at most so many bytes.
func ReadAtMost(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if len(data) > most {
		return nil, fmt.Errorf("%s has more than %d KiB", path, most>>10)
	}
	return data, err
}

// Stamp returns a text that changes when a file does; empty where there is no file.
func Stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintln(path, info.ModTime().UnixNano(), info.Size())
}

// State returns the path of a file in which Junction keeps its state: in the folder that JUNCTION_STATE names, or in Junction's own below the
// user's configuration.
func State(name string) (string, error) {
	folder := os.Getenv("JUNCTION_STATE")
	if folder == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("your configuration folder is not known, name another with JUNCTION_STATE: %w", err)
		}
		folder = filepath.Join(config, "junction")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("the folder of conversations and approvals cannot be made, name another with JUNCTION_STATE: %w", err)
	}
	return filepath.Join(folder, name), nil
}
