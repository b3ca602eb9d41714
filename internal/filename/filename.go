// Package filename makes paths absolute, finds changed files and reads small files.
package filename

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Absolute returns the absolute form of a path, or the path itself if there is none.
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

// URL returns the URL of a file with an absolute path.
func URL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// ReadAtMost reads a file. It returns an error if the file has more than most bytes.
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

// Stamp returns a text that changes when the file changes. It returns "" if the file does not
// exist.
func Stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintln(path, info.ModTime().UnixNano(), info.Size())
}
