package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/picture"
)

const (
	maxPastedBytes = 32 << 20 // bytes of pictures that are remembered by their labels
	maxDropped     = 16 << 10 // bytes of a paste in which paths of pictures are looked for
)

// dropped takes a paste that is nothing but the paths of pictures, as terminals send it
// when files are dropped on them, and reports whether it is.
func (s *screen) dropped(text string) bool {
	files := s.ui.options.Files
	if files == nil || len(text) > maxDropped {
		return false
	}
	for _, paths := range [][]string{{strings.TrimSpace(text)}, droppedPaths(text)} {
		var all []host.Attachment
		for _, path := range paths {
			if !filepath.IsAbs(path) {
				break
			}
			a, found, err := files.Picture(path)
			if err != nil {
				s.hint = err.Error()
			}
			if !found || err != nil {
				break
			}
			all = append(all, a)
		}
		if len(all) > 0 && len(all) == len(paths) {
			for _, a := range all {
				s.takePicture(a)
			}
			return true
		}
	}
	return false
}

var (
	droppedWord  = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|\\.|[^\s'"])+`)
	droppedPiece = regexp.MustCompile(`'([^']*)'|"([^"]*)"|\\(.)`)
)

// droppedPaths are paths as terminals write them: in quotes, with backslashes before
// spaces, or as URLs.
func droppedPaths(text string) []string {
	paths := droppedWord.FindAllString(text, -1)
	for i, word := range paths {
		paths[i] = droppedPiece.ReplaceAllString(word, "$1$2$3")
		if u, err := url.Parse(word); err == nil && u.Scheme == "file" {
			paths[i] = filepath.FromSlash(u.Path)
		}
	}
	return paths
}

// fromClipboard puts the picture that is in the clipboard into the input.
func (s *screen) fromClipboard() {
	read := s.ui.options.Clipboard
	if read == nil {
		s.hint = "the clipboard cannot be read here"
		return
	}
	s.later(func(ctx context.Context) func(*screen) {
		data, err := read(ctx)
		return func(s *screen) {
			if err != nil {
				s.hint = err.Error()
				return
			}
			s.takePicture(host.Attachment{URI: "clipboard", Picture: data})
			s.menu.update(s)
		}
	})
}

// takePicture puts a picture into the input, where its label stands for it.
func (s *screen) takePicture(a host.Attachment) {
	p, err := picture.Read(a.Picture)
	if err != nil {
		s.hint = a.URI + " " + err.Error()
		return
	}
	s.pastes.count++
	label := fmt.Sprintf("[picture %d: %s (%s)]", s.pastes.count, oneLine(a.URI, 60), p)
	if before := s.input.Before(); strings.TrimRight(before, " \n") == before && before != "" {
		s.input.Insert(" ")
	}
	s.input.Insert(s.remembered(pasted{label: label, text: label, picture: &a}))
}

// lostPicture finds the label of a picture.
var lostPicture = regexp.MustCompile(`\[picture \d+: [^\n]*? \(\d+x\d+, [\d.]+ (?:bytes|KB|MB)\)\]`)

// attachPictures attaches the pictures whose labels a text has, in the order in which they
// stand there, and returns the text without them.
func (s *screen) attachPictures(q *host.Question, text string) (rest string, err error) {
	var found []pasted
	rest = text
	for _, p := range s.pastes.all {
		if p.picture != nil && strings.Contains(text, p.label) {
			found = append(found, p)
			rest = strings.ReplaceAll(rest, p.label, " ")
		}
	}
	slices.SortFunc(found, func(a, b pasted) int { return cmp.Compare(strings.Index(text, a.label), strings.Index(text, b.label)) })
	for _, p := range found {
		q.Attach = append(q.Attach, *p.picture)
	}
	if lost := lostPicture.FindString(rest); lost != "" {
		return rest, errors.New(lost + " is not remembered any more: paste it again, or delete the label")
	}
	return rest, nil
}

// forgetPastes keeps what is remembered within its limits. What stands in the input or
// waits to be sent stays, and so does the last one, which has just come.
func (s *screen) forgetPastes() {
	tooMany := func() bool {
		held := 0
		for _, p := range s.pastes.all {
			if p.picture != nil {
				held += len(p.picture.Picture)
			}
		}
		return held > maxPastedBytes || len(s.pastes.all) > maxPastes
	}
	for tooMany() {
		used := append(slices.Clone(s.waiting.texts), s.input.Text())
		i := slices.IndexFunc(s.pastes.all[:len(s.pastes.all)-1], func(p pasted) bool {
			return !slices.ContainsFunc(used, func(text string) bool { return strings.Contains(text, p.label) })
		})
		if i < 0 {
			return
		}
		s.pastes.all = slices.Delete(s.pastes.all, i, i+1)
	}
}
