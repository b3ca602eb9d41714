package install

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxFirstLine is how many bytes of a program are read to find out who runs it.
const maxFirstLine = 512

// expect checks that a lock, which a colleague may have changed, starts what packages of its type are started by: no other program of this
// machine, and no more words. A word that ends in * stands for all that begin with it.
func (l *Locked) expect(words ...string) error {
	if slices.EqualFunc(l.Program, words, func(got, want string) bool {
		prefix, any := strings.CutSuffix(want, "*")
		return got == want || any && strings.HasPrefix(got, prefix)
	}) {
		return nil
	}
	return fmt.Errorf("the lock starts %q, and packages of %s are started by %q", l.Program, l.Type, words)
}

// programIn makes the words of a Locked the absolute ones of a folder. A first word such as node gives way to what the first line of the
// file names.
func programIn(words []string, dir string) (*Program, error) {
	words, err := inFolder(words, dir)
	if err != nil {
		return nil, err
	}
	if len(words) > 1 && words[0] == "node" {
		if asked := interpreter(words[1]); len(asked) > 0 {
			words = append(asked, words[1:]...)
		}
	}
	if !filepath.IsAbs(words[0]) {
		if words[0], err = lookUp(words[0]); err != nil {
			return nil, err
		}
	}
	return &Program{Dir: dir, Argv: words}, nil
}

// inFolder replaces the ./ of words by a folder. What does not lie there is not installed.
func inFolder(words []string, dir string) ([]string, error) {
	if len(words) == 0 {
		return nil, ErrNotInstalled
	}
	all := make([]string, len(words))
	for i, word := range words {
		rel, ok := strings.CutPrefix(word, "./")
		if !ok {
			all[i] = word
			continue
		}
		rel = filepath.FromSlash(rel)
		if !filepath.IsLocal(rel) {
			return nil, ErrNotInstalled
		}
		all[i] = filepath.Join(dir, rel)
		if _, err := os.Stat(all[i]); err != nil {
			return nil, ErrNotInstalled
		}
	}
	return all, nil
}

// interpreter returns the words of a file's first line after #!, with the name of the interpreter without its folder: a package cannot
// know where it lies here. It is empty where there is no such line.
func interpreter(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxFirstLine)).ReadString('\n')
	if err != nil && len(line) == maxFirstLine {
		return nil // no system would start that
	}
	rest, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return nil
	}
	words[0] = path.Base(words[0])
	if words[0] == "env" {
		words = words[1:]
		if len(words) > 0 && words[0] == "-S" {
			words = words[1:]
		}
		if len(words) == 0 || strings.ContainsAny(words[0], "=") || strings.HasPrefix(words[0], "-") {
			return nil // variables are set: nobody does that for node
		}
		words[0] = path.Base(words[0])
	}
	return words
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
