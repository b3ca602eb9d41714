package add

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
)

// missingFolders are what looks like folders among the arguments that the person typed, and is not there: a path whose last name has no dot.
func (w *addition) missingFolders() (all []string) {
	if w.locked == nil || w.locked.IsContainer() { // its paths are those of the container
		return nil
	}
	for _, arg := range w.written.Args {
		if !slices.Contains(w.typed, arg) || !filepath.IsAbs(arg) && !isPath(arg) || strings.Contains(filepath.Base(arg), ".") {
			continue
		}
		if _, err := os.Stat(arg); os.IsNotExist(err) {
			all = append(all, arg)
		}
	}
	return all
}

// makeFolders makes those that the person wants made, so that the server can be started and may write into them. What undo
// takes back are those that are still empty.
func (w *addition) makeFolders(ctx context.Context) (undo func(), err error) {
	var made []string
	undo = func() {
		for _, folder := range slices.Backward(made) {
			_ = os.Remove(folder) // what the server put there stays
		}
	}
	if !w.asks() { // its start, or a note, says what is missing
		return undo, nil
	}
	for _, folder := range w.missingFolders() {
		agreed, err := w.confirm(ctx, fmt.Sprintf("There is no folder %s, which %s is to be given. Make it?", plaintext.Line(folder, maxReason), w.name))
		if err != nil {
			return undo, err
		}
		if !agreed {
			continue
		}
		for parent, end := folder, len(made); ; parent = filepath.Dir(parent) {
			if _, err := os.Stat(parent); err == nil || parent == filepath.Dir(parent) {
				break
			}
			made = slices.Insert(made, end, parent)
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return undo, err
		}
	}
	return undo, nil
}

// missingFiles are what looks like files among the arguments that the person typed, and is not there, in a folder that is: a path whose last
// name has a dot. A server can make them.
func (w *addition) missingFiles() (all []string) {
	for _, arg := range w.typedArgs() {
		if !filepath.IsAbs(arg) && !isPath(arg) || !strings.Contains(filepath.Base(arg), ".") {
			continue
		}
		if _, err := os.Stat(arg); os.IsNotExist(err) && isFolder(filepath.Dir(arg)) {
			all = append(all, launch.ProfilePath(filename.Absolute(arg)))
		}
	}
	return all
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// noteMissing notes what the server was started without.
func (w *addition) noteMissing() {
	for _, folder := range w.missingFolders() {
		note := "there is no folder " + folder
		if w.sandbox != nil {
			note += fmt.Sprintf("; once there is, it may write into it with junction sandbox allow %s --write FOLDER", plaintext.ShellWord(w.name))
		}
		w.notes = append(w.notes, note)
	}
}
