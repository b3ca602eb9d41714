package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Options holds the settings of [Run].
type Options struct {
	// Write is set to change the files. Otherwise Run only writes their differences.
	Write bool
	// Optional is set if fields are optional unless their jsonschema tag has the keyword required.
	// Run also detects this in the files, by a Reflector with RequiredFromJSONSchemaTags.
	Optional bool
	// Diff receives the differences, unless Write is set.
	Diff io.Writer
	// Report receives the problems and a summary.
	Report io.Writer
}

// ErrLeft is the error of [Run] if some tags were left as they are.
var ErrLeft = errors.New("some tags were left as they are")

// A file is a Go file with tags of other libraries.
type file struct {
	name   string
	mode   fs.FileMode
	source []byte
}

// Run rewrites the tags of Go files. A path is a file or a folder with all below it. Folders named
// vendor or testdata are left out, as are those whose names begin with a dot or an underscore.
//
// If some of the files import an SDK, Run leaves the tags of folders in which no file does. The
// schemas of a configuration, for example, have the same tags. Run reports these folders. A run with
// such a folder alone rewrites it.
func Run(paths []string, o Options) error {
	var files []file
	users := map[string]bool{} // folders with a file that imports an SDK
	for _, path := range paths {
		found, err := read(path, users, &o)
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	tags, changed, left := 0, 0, 0
	others := map[string]int{} // tags in folders that import no SDK
	for _, f := range files {
		rewritten, n, problems, err := Source(f.name, f.source, o.Optional)
		if err != nil {
			return err
		}
		if folder := filepath.Dir(f.name); len(users) > 0 && !users[folder] {
			if n += len(problems); n > 0 {
				others[folder] += n
			}
			continue
		}
		for _, p := range problems {
			fmt.Fprintln(o.Report, p)
		}
		left += len(problems)
		if bytes.Equal(rewritten, f.source) {
			continue
		}
		tags, changed = tags+n, changed+1
		if o.Write {
			err = os.WriteFile(f.name, rewritten, f.mode.Perm())
		} else {
			_, err = o.Diff.Write(diff.Diff(f.name, f.source, f.name, rewritten))
		}
		if err != nil {
			return err
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(others)) {
		left += others[folder]
		fmt.Fprintf(o.Report, "%s: %d tags left, because no file of this folder imports an SDK; if tools have these types, run mcpdoc migrate on this folder alone\n", folder, others[folder])
	}
	did := "would be rewritten; -w writes the files"
	if o.Write {
		did = "rewritten"
	}
	fmt.Fprintf(o.Report, "%d tags in %d files %s\n", tags, changed, did)
	if left > 0 {
		return fmt.Errorf("%d: %w", left, ErrLeft)
	}
	return nil
}

// imports matches the import of an SDK, or of package mcp in a program that is partly ported.
var imports = regexp.MustCompile(`(?m)^[^/\n]*"github\.com/(?:(?:modelcontextprotocol/go-sdk|mark3labs/mcp-go|junction-mcp/junction)/mcp|mark3labs/mcp-go/server)"`)

var fromTags = regexp.MustCompile(`(?m)^[^/\n]*\bRequiredFromJSONSchemaTags:\s*true\b`)

// read reads the Go files of a path that contain tags of other libraries. It adds the folders that
// import an SDK to users, and sets o.Optional if a file says so.
func read(root string, users map[string]bool, o *Options) (files []file, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry; {
		case err != nil:
			return err
		case name.IsDir() && path != root && isLeftOut(name.Name()):
			return fs.SkipDir
		case name.IsDir() || !strings.HasSuffix(path, ".go") || !name.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if imports.Match(source) {
			users[filepath.Dir(path)] = true
		}
		if !o.Optional && fromTags.Match(source) {
			o.Optional = true
			fmt.Fprintf(o.Report, "%s: RequiredFromJSONSchemaTags: fields are optional unless their tag has required\n", path)
		}
		if bytes.Contains(source, []byte("jsonschema")) || bytes.Contains(source, []byte("mcp:")) {
			files = append(files, file{path, info.Mode(), source})
		}
		return nil
	})
	return files, err
}

// isLeftOut reports whether a folder is not searched.
func isLeftOut(name string) bool {
	return name == "vendor" || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}
