package tui

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/picture"
)

// maxAttached is how many bytes of files of text go along with one question.
const maxAttached = 4 << 20

// Files are the local files that can be attached as @PATH. Its methods are called from
// several goroutines.
type Files interface {
	// Find returns paths that what was typed could become, the best first; folders end in
	// a slash.
	Find(ctx context.Context, typed string) []string
	// Read returns a file to be attached. found is false where the text names none, as
	// @somebody does; the error says why a file cannot be attached.
	Read(path string) (a host.Attachment, found bool, err error)
	// Picture returns a picture that the person dropped on the terminal, wherever it is.
	// found is false where there is no file, or one of another kind.
	Picture(path string) (a host.Attachment, found bool, err error)
}

// attachFile attaches a file, if the text behind an @ is the path of one. Punctuation at
// the end belongs to the sentence, unless there is a file of that name.
func (s *screen) attachFile(q *host.Question, path string) error {
	if s.ui.options.Files == nil {
		return nil
	}
	for _, path := range slices.Compact([]string{path, strings.TrimRight(path, ".,;:!?)")}) {
		a, found, err := s.ui.options.Files.Read(path)
		if !found {
			continue
		}
		size := len(a.Text)
		for _, other := range q.Attach {
			size += len(other.Text)
		}
		if err == nil && size > maxAttached {
			return fmt.Errorf("the attached files have more than %s", bytes(maxAttached))
		}
		if err == nil && !slices.ContainsFunc(q.Attach, func(other host.Attachment) bool {
			return other.Server == "" && other.URI == a.URI && string(other.Picture) == string(a.Picture)
		}) {
			q.Attach = append(q.Attach, a)
		}
		return err
	}
	if named := strings.TrimRight(path, ".,;:!?)"); strings.ContainsAny(named, "./") {
		s.absent = append(s.absent, named)
	}
	return nil
}

// mention is an @ at the beginning of a word, with what stands behind it.
var mention = regexp.MustCompile(`(?:^|[ \t\n])@(?:"([^"\n]+)"|([^" \t\n][^ \t\n]*))`)

// mentions are the words behind an @, where quotes hold one together that has spaces.
func mentions(text string) (all []string) {
	for _, found := range mention.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1]+found[2])
	}
	return all
}

// files asks for the files that a word can become.
func (m *menu) files(s *screen, word string) {
	asked := m.asked
	s.later(func(ctx context.Context) func(*screen) {
		found := s.ui.options.Files.Find(ctx, strings.TrimPrefix(word, "@"))
		return func(s *screen) {
			m := &s.menu
			if m.asked != asked || m.word != word {
				return
			}
			for _, path := range found[:min(len(found), max(0, maxMenu-len(m.items)))] {
				insert := "@" + path
				if strings.ContainsAny(path, " \t") {
					insert = `@"` + path + `"`
				}
				if insert != word {
					m.items = append(m.items, item{insert: insert, label: "@" + path})
				}
			}
			if m.selected == 0 { // else what is selected stays where it is
				m.best()
			}
		}
	})
}

func (s *screen) attachedLine(names []string) {
	if len(names) > 0 {
		s.add(ink.Indent(ink.Lines(ink.Muted, "attached: "+strings.Join(names, ", "), s.width-2), ink.Of("  "), ink.Of("  "))...)
	}
}

func attachedName(a *host.Attachment) string {
	name := oneLine(a.URI, 200)
	if p, err := picture.Read(a.Picture); err == nil {
		return fmt.Sprintf("picture %s (%s)", name, p)
	}
	return name + " (" + bytes(len(a.Text)) + ")"
}
