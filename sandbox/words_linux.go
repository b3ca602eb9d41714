package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// named are the paths that are there of those that the words name, but not all files, and the folder that the program is started in.
func (p *proposing) named(l Learned) []string {
	list := slices.DeleteFunc(p.inWords(l), func(path string) bool { return path == "/" || !exists(path) })
	if l.Dir != "" && !isShared(l.Dir, p.home) && !p.isGiven(l.Dir) && !p.isTemporary(l.Dir) {
		list = append(list, l.Dir)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return list
}

// inWords are the paths that the words name; some may be missing.
func (p *proposing) inWords(l Learned) (list []string) {
	for _, word := range l.Words {
		if _, value, isOption := strings.Cut(word, "="); isOption && !filepath.IsAbs(word) {
			word = value
		}
		if rest, found := strings.CutPrefix(word, "~/"); found && p.home != "" {
			word = filepath.Join(p.home, rest)
		}
		if !filepath.IsAbs(word) && l.Dir != "" && strings.ContainsAny(word, `./\`) && !strings.Contains(word, "://") {
			word = filepath.Join(l.Dir, word)
		}
		if path := filepath.Clean(word); filepath.IsAbs(path) && !p.isGiven(path) {
			list = append(list, path)
		}
	}
	return list
}

// inTemporary is what is named in folders for temporary files: a folder, or the one in which a file stands or is to stand. If that
// is the one of all programs, it is the path itself.
func (p *proposing) inTemporary(l Learned) (list []string) {
	words := slices.Concat(l.Words, l.Named)
	for _, word := range words[:len(words):len(words)] { // lists, and URLs such as file:///tmp/project
		words = append(words, strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(` ,:;="'`, r) })...)
	}
	for _, path := range p.inWords(Learned{Words: words, Dir: l.Dir}) {
		if !p.isTemporary(path) || isSocket(path) {
			continue
		}
		if info, err := os.Stat(path); (err != nil || !info.IsDir()) && !p.isShared(filepath.Dir(path)) {
			path = filepath.Dir(path)
		}
		list = append(list, path)
	}
	return list
}

// isKept reports whether a path in a folder for temporary files was named.
func (p *proposing) isKept(path string) bool { return isWithinAny(path, p.kept) }

// showNamed shows what is named in folders for temporary files, of which the program else has its own. Nothing is made: what is missing, the
// program makes in its own.
func (v *view) showNamed(l Learned, own []string) error {
	p := &proposing{home: v.home, temporary: temporaryFolders()}
	for _, path := range p.inTemporary(l) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || isWithinAny(real, own) || inSecret(real) {
			continue
		}
		switch {
		case isWithinAny(real, p.temporary):
			err = v.add(path, writable, true)
		case v.isShown(real): // a link leads out of the folder
			err = v.add(path, shown, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
