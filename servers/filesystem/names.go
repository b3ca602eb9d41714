package filesystem

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxLookedAt is the maximum number of entries of a folder that are compared with a name.
const maxLookedAt = 10_000

// lookAlike returns p if it exists, or else the existing place whose name looks the same. If
// several names look the same, the error lists them with escapes. If none does, lookAlike returns
// p.
func (p place) lookAlike() (place, error) {
	if _, err := p.root.fs.Lstat(p.rel); p.rel == "." || !errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	at := "."
	for name := range strings.SplitSeq(p.rel, string(filepath.Separator)) {
		next := filepath.Join(at, name)
		if _, err := p.root.fs.Lstat(next); errors.Is(err, fs.ErrNotExist) {
			same, err := place{p.root, at}.sameLook(name)
			switch {
			case err != nil || len(same) == 0:
				return p, nil // the following operation will report the missing name
			case len(same) > 1:
				slices.Sort(same)
				return place{}, fmt.Errorf("%s: several names are similar: %+q", p, same)
			}
			next = filepath.Join(at, same[0])
		}
		at = next
	}
	return place{p.root, at}, nil
}

// sameLook returns the entries of a folder whose names look like name.
func (p place) sameLook(name string) (same []string, err error) {
	folder, err := p.root.fs.Open(p.rel)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	want := look(name)
	for range maxLookedAt / 1000 {
		entries, err := folder.ReadDir(1000)
		for _, e := range entries {
			if look(e.Name()) == want {
				same = append(same, e.Name())
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return same, err
		}
	}
	return nil, nil // another entry, not read, may also look the same
}

// look returns a name reduced to its appearance: accents composed, one kind of space, quote and
// hyphen, no invisible characters.
func look(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Zs, r):
			return ' '
		case r == '\u2018' || r == '\u2019':
			return '\''
		case r == '\u201c' || r == '\u201d':
			return '"'
		case '\u2010' <= r && r <= '\u2015' || r == '\u2212':
			return '-'
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, norm.NFKC.String(name))
}
