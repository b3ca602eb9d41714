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
	"sync"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/plan"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/picture"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

// A Store stores conversations. Its methods accept every id that List returns, and may accept
// others.
type Store interface {
	// New returns a record for a new conversation.
	New(ctx context.Context) (Record, error)
	// Open returns the record of a stored conversation, and its entries.
	Open(ctx context.Context, id string) (Record, []host.Entry, error)
	// Fork copies the first entries of a conversation; 0 means all. It also copies later entries
	// for which [host.Entry.TakesBack] is true. It returns the id of the copy.
	Fork(ctx context.Context, id string, entries int) (string, error)
	// List returns the stored conversations, the newest first.
	List(ctx context.Context) ([]Saved, error)
	// Export writes a conversation to a file in the format of the path's extension, and returns the
	// path. With an empty path, the store chooses one.
	Export(ctx context.Context, id, path string) (string, error)
}

// A Record is the record of one conversation in a [Store].
type Record interface {
	host.Record
	// Saved describes the current state; the ID is empty while nothing is stored.
	Saved() Saved
}

// attached is the Session of a host and its store.
type attached struct {
	*host.Host
	store Store

	mu     sync.Mutex
	record Record
	talk   *host.Conversation
}

// Attach returns a session of a host. store stores its conversations; nil stores none. Attach
// starts a new conversation, or continues the stored one with the id if it is not empty.
func Attach(ctx context.Context, h *host.Host, store Store, id string) (Session, error) {
	a := &attached{Host: h, store: store}
	begin := a.New
	if id != "" {
		begin = func(ctx context.Context) error { return a.Resume(ctx, id) }
	}
	if err := begin(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *attached) now() (*host.Conversation, Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.talk, a.record
}

func (a *attached) set(talk *host.Conversation, record Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.talk, a.record = talk, record
}

// Model returns the description of the host's model.
func (a *attached) Model() model.Info { return a.Host.Model().Info() }

// Talk returns the current conversation.
func (a *attached) Talk() Talk {
	talk, _ := a.now()
	return talk
}

// Propose and Execute use the conversation's plan.

func (a *attached) Propose(ctx context.Context, goal string) (host.Plan, error) {
	talk, _ := a.now()
	return plan.Propose(ctx, talk, goal)
}

func (a *attached) Execute(ctx context.Context, changed func(host.Plan)) error {
	talk, _ := a.now()
	return plan.Execute(ctx, talk, changed)
}

func (a *attached) Name(_ context.Context, title string) error {
	talk, record := a.now()
	if record == nil {
		return ErrNotKept
	}
	return talk.Name(title)
}

// Saved describes the stored conversation.
func (a *attached) Saved() Saved {
	if _, record := a.now(); record != nil {
		return record.Saved()
	}
	return Saved{}
}

// New starts another conversation.
func (a *attached) New(ctx context.Context) error { return a.newWith(ctx, nil) }

// newWith starts another conversation with some entries.
func (a *attached) newWith(ctx context.Context, begin []host.Entry) error {
	if a.store == nil {
		a.set(a.Conversation(nil, begin...), nil)
		return nil
	}
	record, err := a.store.New(ctx)
	if err != nil {
		return err
	}
	for _, e := range begin {
		if err := record.Append(e); err != nil {
			return err
		}
	}
	a.set(a.Conversation(record, begin...), record)
	return nil
}

// Resume continues a stored conversation.
func (a *attached) Resume(ctx context.Context, id string) error {
	if a.store == nil {
		return ErrNotKept
	}
	record, entries, err := a.store.Open(ctx, id)
	if err != nil {
		return err
	}
	a.set(a.Conversation(record, entries...), record)
	return nil
}

// Fork continues with a copy of the conversation.
func (a *attached) Fork(ctx context.Context) error { return a.fork(ctx, 0) }

func (a *attached) fork(ctx context.Context, entries int) error {
	saved := a.Saved()
	if a.store == nil || saved.ID == "" {
		return ErrNotKept
	}
	id, err := a.store.Fork(ctx, saved.ID, entries)
	if err != nil {
		return err
	}
	return a.Resume(ctx, id)
}

// Rewind continues with a copy of the first entries, and of later withdrawals.
func (a *attached) Rewind(ctx context.Context, entries int) error {
	all := a.Talk().Entries()
	begin := slices.Clone(all[:min(entries, len(all))])
	for _, e := range all[len(begin):] {
		if e.TakesBack() {
			begin = append(begin, e)
		}
	}
	if entries == 0 {
		return a.newWith(ctx, begin)
	}
	err := a.fork(ctx, entries)
	if errors.Is(err, ErrNotKept) { // a copy in memory suffices
		a.set(a.Conversation(nil, begin...), nil)
		return nil
	}
	return err
}

// List returns the stored conversations.
func (a *attached) List(ctx context.Context) ([]Saved, error) {
	if a.store == nil {
		return nil, ErrNotKept
	}
	return a.store.List(ctx)
}

// Export writes the conversation to a file.
func (a *attached) Export(ctx context.Context, path string) (string, error) {
	saved := a.Saved()
	if a.store == nil || saved.ID == "" {
		return "", ErrNotKept
	}
	return a.store.Export(ctx, saved.ID, path)
}

// maxAttached is the maximum number of bytes of text files attached to one question.
const maxAttached = 4 << 20

// Files finds the local files that can be attached as @PATH. Its methods are called from several
// goroutines.
type Files interface {
	// Find returns paths that complete the typed text, the best first. Folders end in a slash.
	Find(ctx context.Context, typed string) []string
	// Read returns a file as an attachment. found is false if path does not name a file, as in
	// @somebody. The error is the reason why a file cannot be attached.
	Read(path string) (a host.Attachment, found bool, err error)
	// Picture returns a picture that the user dropped on the terminal, from any folder. found is
	// false if there is no such file, or it is not a picture.
	Picture(path string) (a host.Attachment, found bool, err error)
}

// attachFile attaches a file if the text after an @ is a path. Punctuation at the end belongs to
// the sentence, unless a file has that name.
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

// mention matches an @ at the beginning of a word with the text after it. Quotes allow spaces in
// it.
var mention = regexp.MustCompile(`(?:^|[ \t\n])@(?:"([^"\n]+)"|([^" \t\n][^ \t\n]*))`)

// files requests the files that complete a word.
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
			if m.selected == 0 { // otherwise the selection stays
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

const (
	maxPastedBytes = 32 << 20 // bytes of pictures that labels stand for
	maxDropped     = 16 << 10 // bytes of a paste that is searched for paths of pictures
)

// dropped reports whether a paste consists only of paths of pictures, and then attaches them.
// Terminals send such a paste when files are dropped on them.
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

// droppedPaths returns the paths in a text that a terminal wrote: in quotes, with backslashes
// before spaces, or as URLs.
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

// fromClipboard attaches the picture in the clipboard.
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

// takePicture attaches a picture, and inserts its label into the input.
func (s *screen) takePicture(a host.Attachment) {
	p, err := picture.Read(a.Picture)
	if err != nil {
		s.hint = a.URI + " " + err.Error()
		return
	}
	s.pastes.count++
	label := fmt.Sprintf("[picture %d: %s (%s)]", s.pastes.count, plaintext.Line(a.URI, 60), p)
	if before := s.input.Before(); strings.TrimRight(before, " \n") == before && before != "" {
		s.input.Insert(" ")
	}
	s.input.Insert(s.remembered(pasted{label: label, text: label, picture: &a}))
}

// lostPicture matches the label of a picture.
var lostPicture = regexp.MustCompile(`\[picture \d+: [^\n]*? \(\d+x\d+, [\d.]+ (?:bytes|KB|MB)\)\]`)

// attachPictures attaches the pictures whose labels are in a text, in the same order, and returns
// the text without the labels.
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
		return rest, errors.New(lost + " is no longer remembered: paste it again, or delete the label")
	}
	return rest, nil
}

// forgetPastes drops old pastes beyond the limits. It keeps pastes in the input or in waiting
// questions, and the newest one.
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

const (
	maxPasteLines = 6     // lines of a paste that is shown unfolded
	maxPasteBytes = 1_000 // bytes of a paste that is shown unfolded
	maxPastes     = 50    // pastes that labels stand for
)

// A pasted is a long pasted text, or a picture, with a label in its place in the input. The text is
// sent in full. For a picture, the label is sent as text.
type pasted struct {
	label, text string
	picture     *host.Attachment // nil for a text
}

// fold returns the label of a pasted text, or the text itself if it is short.
func (s *screen) fold(text string) string {
	var clean editor.Buffer
	clean.Insert(text)
	text = clean.Text()
	lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	if lines <= maxPasteLines && len(text) <= maxPasteBytes {
		return text
	}
	s.pastes.count++
	size := plural(lines, "line", "lines")
	if lines == 1 {
		size = bytes(len(text))
	}
	return s.remembered(pasted{label: fmt.Sprintf("[paste %d: %s]", s.pastes.count, size), text: text})
}

// remembered stores a paste, and returns its label.
func (s *screen) remembered(p pasted) string {
	s.pastes.all = append(s.pastes.all, p)
	s.forgetPastes()
	s.input.Solid = nil
	for _, p := range s.pastes.all {
		s.input.Solid = append(s.input.Solid, p.label)
	}
	return p.label
}

// unfolded returns a text with the pasted texts in place of their labels.
func (s *screen) unfolded(text string) string {
	var pairs []string
	for _, p := range s.pastes.all {
		pairs = append(pairs, p.label, p.text)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// folded returns a text with labels in place of the pasted texts.
func (s *screen) folded(text string) string {
	for _, p := range s.pastes.all {
		text = strings.ReplaceAll(text, p.text, p.label)
		text = strings.ReplaceAll(text, strings.TrimSpace(p.text), p.label) // sending trims space at the ends
	}
	return text
}

// refold puts labels back into the input after a text returned to it.
func (s *screen) refold() {
	if text := s.folded(s.input.Text()); text != s.input.Text() {
		s.input.Set(text)
	}
}

// largeQuestion is the percentage of the model's window from which a question needs a second Enter.
const largeQuestion = 50

// holdsLarge reports whether a question is held back because it is large for the model's window.
// The second attempt to send it succeeds.
func (s *screen) holdsLarge(text string) bool {
	tokens, window := model.EstimateTokens(len(text)), s.used.Window
	if text == s.large || tokens*100 < window*largeQuestion || window == 0 {
		s.large = ""
		return false
	}
	s.large = text
	s.hint = fmt.Sprintf("Press Enter again to send it: about %s tokens; the model sees %s at a time", count(tokens), count(window))
	return true
}

// inked returns a row of the input with highlighted labels.
func (s *screen) inked(text string) ink.Line {
	var line ink.Line
	for text != "" {
		at, label := len(text), ""
		for _, p := range s.pastes.all {
			if i := strings.Index(text, p.label); i >= 0 && i < at {
				at, label = i, p.label
			}
		}
		line = append(line, ink.T(ink.Plain, text[:at]), ink.T(ink.Accent, label))
		text = text[at+len(label):]
	}
	return line
}
