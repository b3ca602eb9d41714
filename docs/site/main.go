// Site makes web pages of the documentation, with a search. They need neither a server nor a network:
//
//	go run ./docs/site -out FOLDER
//
// The Markdown stays as it is. README.md becomes index.html, and its last list is the menu. Links to
// files that are not pages lead to the repository.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("out", "", "write the pages to a new or empty `FOLDER`")
	from := flag.String("from", ".", "the `FOLDER` of the repository")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(*from, *out); err != nil {
		fmt.Fprintf(os.Stderr, "site: %v\n", err)
		os.Exit(1)
	}
}

// write builds the site of a repository and writes it to a folder. The folder must be new or empty.
func write(from, out string) error {
	entries, err := os.ReadDir(out)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read the folder for the pages: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty; name a new folder", out)
	}
	files, err := build(os.DirFS(from))
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write the pages: %w", err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return fmt.Errorf("write the pages: %w", err)
		}
	}
	return nil
}
