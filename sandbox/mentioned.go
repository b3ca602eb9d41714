package sandbox

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxMentioned      = 32        // paths that are found in the texts of one failure
	maxMentionedText  = 64 << 10  // bytes of each text that are searched
	maxMentionedTexts = 256 << 10 // of all of them
	maxMentionedPath  = 4096      // bytes, as in Linux
)

// pathsIn are the absolute paths that texts name: a text that is one, and those that stand in quotes or between spaces.
func pathsIn(texts []string) (paths []string) {
	add := func(text string) {
		if address, is := strings.CutPrefix(text, "file://"); is {
			unescaped, err := url.PathUnescape(address)
			if err != nil {
				return
			}
			text = unescaped
		}
		if rest, is := strings.CutPrefix(text, "~/"); is && home() != "" {
			text = filepath.Join(home(), rest)
		}
		if path := filepath.Clean(text); strings.HasPrefix(text, "/") && path != "/" && len(path) <= maxMentionedPath && len(paths) < maxMentioned && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	left := maxMentionedTexts
	for _, text := range texts {
		text = text[:min(len(text), maxMentionedText, left)]
		left -= len(text)
		for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r < ' ' }) {
			add(line) // with the spaces that it has
			for _, quoted := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("\"'`‘’“”", r) }) {
				add(quoted)
				for _, word := range strings.FieldsFunc(quoted, func(r rune) bool { return strings.ContainsRune(" =,;()[]{}<>", r) }) {
					add(strings.TrimRight(word, ".:!?"))
				}
			}
		}
	}
	return paths
}
