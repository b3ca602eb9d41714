package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/install"
)

// missingFolders are what looks like folders among the arguments that the person typed, and is not there: a path whose last name has no dot.
func (w *addition) missingFolders() (all []string) {
	if w.locked == nil || w.locked.Type == install.OCI { // its paths are those of the container
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

// missingFiles are what looks like files among the arguments that the person typed, and is not there, in a folder that is: a path whose last
// name has a dot. A server can make them.
func (w *addition) missingFiles() (all []string) {
	for _, arg := range w.typedArgs() {
		if !filepath.IsAbs(arg) && !isPath(arg) || !strings.Contains(filepath.Base(arg), ".") {
			continue
		}
		if _, err := os.Stat(arg); os.IsNotExist(err) && isFolder(filepath.Dir(arg)) {
			all = append(all, profilePath(absolute(arg)))
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
			note += fmt.Sprintf("; once there is, it may write into it with junction sandbox allow %s --write FOLDER", shellWord(w.name))
		}
		w.notes = append(w.notes, note)
	}
}
