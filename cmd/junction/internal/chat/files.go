package chat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/internal/picture"
	"github.com/junction-mcp/junction/internal/place"
)

const (
	MaxAttachment   = 1 << 20 // largest size of a text file in bytes
	maxFound        = 200     // largest number of paths suggested for a word
	maxFilesVisited = 5_000   // largest number of files visited by a search
)

// localFiles implements [tui.Files] for the folder where chat was started. Only Picture reads files
// in other folders.
type localFiles struct {
	place.Place
	root *os.Root
}

// Files returns the files that can be attached on the screen, and a function that closes them. If
// the folder cannot be read, it returns nil files.
func Files(p place.Place) (tui.Files, func()) {
	root, err := os.OpenRoot(p.Path("."))
	if err != nil {
		return nil, func() {}
	}
	return localFiles{p, root}, func() { root.Close() }
}

// Read implements [tui.Files]. It returns a file below the folder as an attachment.
func (l localFiles) Read(name string) (a host.Attachment, found bool, err error) {
	if !filepath.IsLocal(name) {
		if info, err := os.Stat(l.Path(name)); err != nil || !info.Mode().IsRegular() {
			return a, false, nil
		}
		return a, true, fmt.Errorf("@%s is not below this folder; start with --attach, or copy it here", name)
	}
	info, err := l.root.Stat(name)
	switch {
	case err != nil:
		if _, linked := l.root.Lstat(name); linked == nil {
			return a, true, fmt.Errorf("@%s is a link that leads out of this folder, or nowhere", name)
		}
		return a, false, nil
	case info.IsDir() && strings.HasSuffix(name, "/"):
		return a, true, fmt.Errorf("@%s is a folder; name a file in it", name)
	case !info.Mode().IsRegular():
		return a, false, nil
	}
	f, err := l.root.Open(name)
	if err != nil {
		return a, true, fmt.Errorf("@%s: %w", name, pathless(err))
	}
	defer f.Close()
	if a, err = attachedContent(filepath.ToSlash(filepath.Clean(name)), f); err != nil {
		return a, true, fmt.Errorf("@%w", err)
	}
	return a, true, nil
}

// Picture implements [tui.Files]. It returns a picture at any path, because the user dropped the
// picture on the terminal.
func (l localFiles) Picture(name string) (a host.Attachment, found bool, err error) {
	if info, err := os.Stat(l.Path(name)); err != nil || !info.Mode().IsRegular() {
		return a, false, nil
	}
	f, err := os.Open(l.Path(name))
	if err != nil {
		return a, false, nil
	}
	defer f.Close()
	head := make([]byte, 32)
	if n, _ := io.ReadFull(f, head); !picture.Is(head[:n]) {
		return a, false, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return a, false, nil
	}
	a, err = attachedContent(filepath.Base(name), f)
	return a, true, err
}

// pathless returns an error without its path, which the caller's message already contains.
func pathless(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// attachedContent returns the content of a file as an attachment.
func attachedContent(name string, f io.Reader) (host.Attachment, error) {
	data, err := io.ReadAll(io.LimitReader(f, max(MaxAttachment, picture.MaxBytes)+1))
	switch {
	case err != nil:
		return host.Attachment{}, fmt.Errorf("%s: %w", name, pathless(err))
	case len(data) > MaxAttachment && !picture.Is(data):
		return host.Attachment{}, fmt.Errorf("%s is larger than %d MiB", name, MaxAttachment>>20)
	}
	return attachable(name, data)
}

// attachable returns a picture or a text as an attachment, and an error for any other data.
func attachable(name string, data []byte) (host.Attachment, error) {
	if picture.Is(data) {
		if _, err := picture.Read(data); err != nil {
			return host.Attachment{}, fmt.Errorf("%s %w", name, err)
		}
		return host.Attachment{URI: name, Picture: data}, nil
	}
	switch {
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return host.Attachment{}, fmt.Errorf("%s is neither text in UTF-8 nor a picture (%s), and cannot be attached", name, picture.Kinds)
	case len(bytes.TrimSpace(data)) == 0:
		return host.Attachment{}, fmt.Errorf("%s is empty", name)
	}
	return host.Attachment{URI: name, Text: string(data)}, nil
}

// attachedFile returns the file that --attach names as an attachment. The file may be in any
// folder.
func attachedFile(p place.Place, name string) (host.Attachment, error) {
	f, err := os.Open(p.Path(name))
	if err != nil {
		return host.Attachment{}, fmt.Errorf("--attach: %w", err)
	}
	defer f.Close()
	a, err := attachedContent(name, f)
	if err != nil {
		return a, cli.Usagef("--attach: %w", err)
	}
	return a, nil
}

// Find implements [tui.Files]. It returns paths that complete the typed path. Paths in the folder
// that it names come first, then paths in subfolders.
func (l localFiles) Find(ctx context.Context, typed string) []string {
	folder, word := path.Split(typed)
	at := path.Clean(cmp.Or(folder, "."))
	if !fs.ValidPath(at) {
		return nil
	}
	var begin, within []string
	entries, _ := fs.ReadDir(l.root.FS(), at)
	for _, e := range entries {
		name := folder + e.Name()
		if e.IsDir() {
			name += "/"
		}
		switch {
		case strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(word, "."), !offerable(name):
		case strings.HasPrefix(e.Name(), word):
			begin = append(begin, name)
		case matches(e.Name(), word):
			within = append(within, name)
		}
	}
	found := append(begin, within...)
	if len(word) >= 2 {
		found = append(found, l.below(ctx, at, folder, word)...)
	}
	return found[:min(len(found), maxFound)]
}

// below returns the files in subfolders whose names contain the word. It skips hidden folders and
// folders of dependencies.
func (l localFiles) below(ctx context.Context, at, typed, word string) []string {
	var found []string
	visited := 0
	_ = fs.WalkDir(l.root.FS(), at, func(name string, e fs.DirEntry, err error) error {
		visited++
		switch {
		case visited > maxFilesVisited, len(found) >= maxFound, ctx.Err() != nil:
			return fs.SkipAll
		case err != nil, name == at:
			return nil
		case e.IsDir() && (strings.HasPrefix(e.Name(), ".") || slices.Contains([]string{"node_modules", "vendor", "target"}, e.Name())):
			return fs.SkipDir
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(name, at), "/")
		if at == "." {
			rest = name
		}
		if strings.Contains(rest, "/") && !e.IsDir() && matches(e.Name(), word) && offerable(name) {
			found = append(found, typed+rest)
		}
		return nil
	})
	return found
}

// matches reports whether a name contains a word. It ignores case.
func matches(name, word string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(word))
}

// offerable reports whether a path can be typed after an @ and parsed again.
func offerable(name string) bool {
	return !strings.ContainsAny(name, "\"\n\r") && utf8.ValidString(name)
}
