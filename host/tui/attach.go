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

// A Store keeps conversations. Where an id is asked for, any that List returned
// will do, and whatever else the store takes.
type Store interface {
	// New returns the record of a conversation that begins.
	New(ctx context.Context) (Record, error)
	// Open returns the record of a kept conversation, and its entries so far.
	Open(ctx context.Context, id string) (Record, []host.Entry, error)
	// Fork copies the first entries of a conversation, 0 for all of them, and of the others
	// those that [host.Entry.TakesBack] is true of. It returns the id of the copy.
	Fork(ctx context.Context, id string, entries int) (string, error)
	// List returns kept conversations, the last one first.
	List(ctx context.Context) ([]Saved, error)
	// Export writes a conversation to a file, in a format that the path's ending
	// says, and returns the path; an empty one leaves the choice to the store.
	Export(ctx context.Context, id, path string) (string, error)
}

// A Record is what a [Store] has of one conversation.
type Record interface {
	host.Record
	// Saved describes it as it is now; its ID is empty while nothing is stored.
	Saved() Saved
}

// attached is a Session of a host and its store.
type attached struct {
	*host.Host
	store Store

	mu     sync.Mutex
	record Record
	talk   *host.Conversation
}

// Attach returns the session of a host, whose conversations are kept in store; nil keeps none. It begins a new
// conversation, or, where id is not empty, goes on with a kept one.
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

// Model describes the host's model.
func (a *attached) Model() model.Info { return a.Host.Model().Info() }

// Talk returns the conversation that goes on now.
func (a *attached) Talk() Talk {
	talk, _ := a.now()
	return talk
}

// Propose and Execute are about the conversation's plan.

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

// Saved describes the conversation as it is kept.
func (a *attached) Saved() Saved {
	if _, record := a.now(); record != nil {
		return record.Saved()
	}
	return Saved{}
}

// New begins another conversation.
func (a *attached) New(ctx context.Context) error { return a.newWith(ctx, nil) }

// newWith begins another conversation with some entries.
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

// Resume goes on with a kept conversation.
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

// Fork goes on with a copy.
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

// Rewind goes on with a copy of the first entries, and of what the user took back since.
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
	if errors.Is(err, ErrNotKept) { // the one in memory is good enough
		a.set(a.Conversation(nil, begin...), nil)
		return nil
	}
	return err
}

// List returns kept conversations.
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

// maxAttached is how many bytes of files of text go along with one question.
const maxAttached = 4 << 20

// Files are the local files that can be attached as @PATH. Its methods are called from several goroutines.
type Files interface {
	// Find returns paths that what was typed could become, the best first; folders end in a slash.
	Find(ctx context.Context, typed string) []string
	// Read returns a file to be attached. found is false where the text names none, as
	// @somebody does; the error says why a file cannot be attached.
	Read(path string) (a host.Attachment, found bool, err error)
	// Picture returns a picture that the user dropped on the terminal, wherever it is.
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

// mention is an @ at the beginning of a word, with what stands behind it; quotes hold one together that has spaces.
var mention = regexp.MustCompile(`(?:^|[ \t\n])@(?:"([^"\n]+)"|([^" \t\n][^ \t\n]*))`)

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

// droppedPaths returns paths as terminals write them: in quotes, with backslashes before spaces, or as URLs.
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
	label := fmt.Sprintf("[picture %d: %s (%s)]", s.pastes.count, plaintext.Line(a.URI, 60), p)
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
		return rest, errors.New(lost + " is no longer remembered: paste it again, or delete the label")
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

const (
	maxPasteLines = 6     // that are shown as they are
	maxPasteBytes = 1_000 // of a paste that is shown as it is
	maxPastes     = 50    // that are remembered by their label
)

// A pasted text is long, and stands in the input as its label. It is sent whole. The label
// of a picture is sent as it is.
type pasted struct {
	label, text string
	picture     *host.Attachment // nil: it is a text
}

// fold returns what stands for a pasted text in the input.
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

// remembered returns the label of something that was pasted, which is remembered by it.
func (s *screen) remembered(p pasted) string {
	s.pastes.all = append(s.pastes.all, p)
	s.forgetPastes()
	s.input.Solid = nil
	for _, p := range s.pastes.all {
		s.input.Solid = append(s.input.Solid, p.label)
	}
	return p.label
}

// unfolded returns a text with what was pasted in place of the labels.
func (s *screen) unfolded(text string) string {
	var pairs []string
	for _, p := range s.pastes.all {
		pairs = append(pairs, p.label, p.text)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// folded returns a text with labels in place of what was pasted.
func (s *screen) folded(text string) string {
	for _, p := range s.pastes.all {
		text = strings.ReplaceAll(text, p.text, p.label)
		text = strings.ReplaceAll(text, strings.TrimSpace(p.text), p.label) // at an end of what was sent
	}
	return text
}

// refold puts labels into the input after something came back to it.
func (s *screen) refold() {
	if text := s.folded(s.input.Text()); text != s.input.Text() {
		s.input.Set(text)
	}
}

// largeQuestion is how many percent of the model's window a question may take that is sent at the first Enter.
const largeQuestion = 50

// holdsLarge keeps back a question that is large for the model's window, until it is sent a second time. It reports
// whether it did.
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

// inked returns a row of the input, with the labels of pastes set off.
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
