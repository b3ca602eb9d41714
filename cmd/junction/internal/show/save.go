package show

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxNumbered is the maximum number of files in a folder that share a base name.
const maxNumbered = 1_000

// SaveTo returns a Save that stores data at path. If path is a folder or ends with a slash, the
// data goes into new files in that folder. Otherwise path is a file, which Save overwrites, but
// only once: a second call fails.
func SaveTo(path string) Save {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if os.IsPathSeparator(path[len(path)-1]) || err == nil && info.IsDir() {
		return func(name, mimeType string, data []byte) (string, error) { return saveIn(path, name, mimeType, data) }
	}
	saved := false
	return func(_, _ string, data []byte) (string, error) {
		if saved {
			return "", fmt.Errorf("--output %s: the result holds several files; name a folder", path)
		}
		saved = true
		return path, os.WriteFile(path, data, 0o666)
	}
}

// saveIn creates a new file in a folder. A name from a server cannot lead out of the folder.
func saveIn(dir, name, mimeType string, data []byte) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	base, extension := fileName(name, mimeType)
	for n := range maxNumbered {
		file := base + extension
		if n > 0 {
			file = fmt.Sprintf("%s-%d%s", base, n+1, extension)
		}
		f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(data)
		return filepath.Join(dir, file), errors.Join(err, f.Close())
	}
	return "", fmt.Errorf("%s: there are too many files called %s%s", dir, base, extension)
}

// fileName derives a safe file name from the name that a server gave its data.
func fileName(name, mimeType string) (base, extension string) {
	name, _, _ = strings.Cut(name, "?")
	name = path.Base(name)
	extension = path.Ext(name)
	base = harmless(strings.TrimSuffix(name, extension))
	if extension = harmless(strings.TrimPrefix(extension, ".")); extension == "" {
		extension = extensionOf(mimeType)
	}
	if base == "" {
		base, _, _ = strings.Cut(mimeType, "/")
		if base = harmless(base); base == "" {
			base = "data"
		}
	}
	if extension == "" {
		return base, ""
	}
	return base, "." + extension
}

// extensionOf returns the usual file name extension for a media type, without the dot.
func extensionOf(mimeType string) string {
	mimeType, _, _ = mime.ParseMediaType(mimeType)
	switch _, kind, _ := strings.Cut(mimeType, "/"); kind {
	case "png", "gif", "webp", "wav", "ogg", "flac", "pdf", "json", "zip", "mp4":
		return kind
	case "jpeg":
		return "jpg"
	case "svg+xml":
		return "svg"
	case "mpeg":
		return "mp3"
	case "x-wav":
		return "wav"
	case "plain":
		return "txt"
	}
	return "bin"
}

// harmless removes all characters except letters, digits and a few punctuation marks. It keeps at
// most 64 characters.
func harmless(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return -1
	}, name)
	name = strings.Trim(name, ".-")
	return name[:min(len(name), 64)]
}
