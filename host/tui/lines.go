package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// isDumb reports whether the terminal cannot move its cursor.
func (u *UI) isDumb() bool { return u.getenv("TERM") == "dumb" }

// A typist is the screen for a terminal that can only print lines: what is
// printed is the same, and what would be a key is a line.
type typist struct {
	*screen
	person *terminal.Person
	out    *terminal.Screen
}

// lineByLine runs the session on a terminal that cannot move its cursor.
func (u *UI) lineByLine(ctx context.Context, session Session) error {
	var in io.Reader = os.Stdin
	var out io.Writer = os.Stdout
	if u.options.In != nil {
		in = u.options.In
	}
	if u.options.Out != nil {
		out = u.options.Out
	}
	s := newScreen(ctx, u, session)
	s.theme, _ = ink.Named("bare")
	s.byLine = true
	t := &typist{screen: s, out: terminal.NewScreen(out)}
	t.person = terminal.NewPerson(in, t.out)
	s.width, s.height = t.out.Width(), 24
	u.raw = nil
	if t.out.Terminal() && !u.isDumb() {
		u.raw = func(text string) tea.Cmd { _, _ = io.WriteString(out, text); return nil } // what the terminal does not take is lost
	}
	s.greet()
	err := t.loop(ctx)
	if errors.Is(err, terminal.ErrNoAnswer) {
		return nil
	}
	return err
}

func (t *typist) loop(ctx context.Context) error {
	for !t.quitting {
		t.flushLines()
		t.width, t.cmds = t.out.Width(), nil
		if t.large != "" {
			t.person.Discard() // the rest of a paste is no answer
		}
		t.ui.prompting.Store(t.out)
		line, err := t.person.Line(ctx, "> ")
		t.ui.prompting.Store(nil)
		if err != nil {
			return err
		}
		if line == "" {
			line = t.large // Enter alone sends what was kept back
		} else if line != t.large {
			t.large = ""
		}
		t.input.Set(line)
		t.menu.load(t.screen) // the prompts and resources that the line may name
		if err := t.follow(ctx); err != nil {
			return err
		}
	}
	t.flushLines()
	return nil
}

// errStopped is the cause of an interrupt by the user.
var errStopped = errors.New("stopped")

// Interrupt stops the running question line by line, as Esc does on a screen, and reports whether there was one to
// stop. It is safe for concurrent use.
func (u *UI) Interrupt() bool {
	stop := u.stop.Swap(nil)
	if stop != nil {
		(*stop)(errStopped)
	}
	return stop != nil
}

// follow submits the line and shows events until nothing runs. It can be interrupted once, from the
// moment at which the line starts something.
func (t *typist) follow(ctx context.Context) error {
	stoppable, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.ui.stop.Store(&cancel)
	defer t.ui.stop.Store(nil) // between two questions it ends the program
	t.submit()
	err := t.untilOver(stoppable)
	if !errors.Is(err, errStopped) {
		return err
	}
	t.panel = nil
	if t.run == nil {
		return nil
	}
	t.escape()
	for t.run != nil { // it withdraws what it asked
		select {
		case v := <-t.ui.inbox:
			t.receive(v)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return t.untilOver(ctx)
}

// untilOver shows what happens until nothing runs any more and nothing waits for an
// answer. What ran has left its result in the inbox before it counts as over.
func (t *typist) untilOver(ctx context.Context) error {
	for {
		if err := t.answerAll(ctx); err != nil {
			return err
		}
		t.flushLines()
		if t.run == nil && t.ui.jobs.Load() == 0 && len(t.ui.inbox) == 0 {
			return nil
		}
		select {
		case v := <-t.ui.inbox:
			t.receive(v)
		case <-time.After(tickTime): // the last job may have ended just now
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// answerAll asks the user for every card and panel.
func (t *typist) answerAll(ctx context.Context) error {
	for len(t.cards) > 0 {
		t.person.Discard()
		if err := t.answer(ctx, t.cards[0]); err != nil {
			return err
		}
		t.cards = t.cards[1:]
	}
	for t.panel != nil {
		panel := t.panel
		t.panel = nil
		if err := t.show(ctx, panel); err != nil {
			return err
		}
	}
	return nil
}

// answer asks the user with a card until it is done.
func (t *typist) answer(ctx context.Context, c card) error {
	for done := false; !done; {
		t.print(c.lines(t.screen, t.width, math.MaxInt32)...) // all of it: nothing can be scrolled
		t.flushLines()
		line, err := t.person.Line(ctx, "? ")
		if err != nil {
			return err
		}
		done = c.line(t.screen, strings.TrimSpace(line))
	}
	return nil
}

// show prints a panel; of a list, the user chooses by number.
func (t *typist) show(ctx context.Context, panel overlay) error {
	switch p := panel.(type) {
	case *pager:
		t.print(append([]ink.Line{t.rule(p.title)}, p.build(t.screen, t.width)...)...)
	case *roster:
		t.print(t.rule(p.title))
		for i, row := range p.rows(t.screen, t.width-4) {
			t.add(ink.Indent(row, ink.Of(fmt.Sprintf("%3d ", i+1)), ink.Of("    "))...)
		}
	case *picker:
		return t.pick(ctx, p)
	default:
		t.say(ink.Warn, "this view"+needsScreen)
	}
	return nil
}

// needsScreen says why something cannot be done line by line.
const needsScreen = " needs the screen: start without --plain, on a terminal that can move its cursor"

// maxListed is how many things to choose from are listed at once.
const maxListed = 50

// pick has the user choose from a list by number, or search it.
func (t *typist) pick(ctx context.Context, p *picker) error {
	for {
		fitting := p.fitting()
		t.print(t.rule(p.title))
		for n, i := range fitting[:min(len(fitting), maxListed)] {
			t.add(ink.Of(strconv.Itoa(n+1) + "  " + plaintext.Line(p.items[i].label, 100) + "  " + plaintext.Line(p.items[i].detail, 100)))
		}
		if more := len(fitting) - maxListed; more > 0 {
			t.add(ink.Of(fmt.Sprintf("and %d more", more)))
		}
		t.flushLines()
		line, err := t.person.Line(ctx, "number, words to find, or nothing: ")
		if line = strings.TrimSpace(line); err != nil || line == "" {
			return err
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(fitting) {
			p.chosen(t.screen, fitting[n-1])
			return nil
		}
		p.filter.Set(line)
		if len(p.fitting()) == 0 {
			t.say(ink.Warn, "no entry has these words")
			p.filter.Set("")
		}
	}
}

// flushLines prints what waits, and the hint.
func (t *typist) flushLines() {
	if t.hint != "" {
		t.say(ink.Warn, t.hint)
		t.hint = ""
	}
	if len(t.paper.queue) > 0 {
		t.person.Printf("%s\n", t.theme.PaintAll(t.paper.queue))
		t.paper.queue = nil
	}
}

// What a line means to each card; it reports whether the card is done.

func (c *consentCard) line(s *screen, text string) bool {
	switch {
	case c.noting:
		c.note.Set(text)
		return c.pressNote(s, keypress{name: "enter"})
	case c.choosing:
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(c.choices) {
			c.selected = n - 1
			return c.pressScope(s, keypress{name: "enter"})
		}
		if text != "" {
			s.hint = fmt.Sprintf("“%s” is not a choice; expected a number from 1 to %d, or nothing to go back", plaintext.Line(text, 40), len(c.choices))
			return false
		}
		return c.pressScope(s, keypress{name: "esc"})
	}
	if key, why, found := strings.Cut(text, " "); found && strings.EqualFold(letter(strings.TrimSuffix(key, ":")).text, "n") {
		c.note.Set(why)
		return c.pressNote(s, keypress{name: "enter"})
	}
	return isAnswer(s, c, text) && c.press(s, letter(text))
}

// isAnswer reports whether a line stands for a key of a card. What else was typed answers nothing,
// and the user learns what would.
func isAnswer(s *screen, c card, text string) bool {
	var keys []string
	for _, row := range c.keys() {
		for key := range strings.FieldsSeq(row[0]) {
			if letter(key).text != "" && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	if slices.Contains(keys, letter(text).text) {
		return true
	}
	s.hint = "that is not an answer; expected one of " + strings.Join(keys, ", ")
	if _, isCall := c.(*consentCard); isCall {
		s.hint += ", or n and what the model should do instead"
	}
	return false
}

func (c *reviewCard) line(s *screen, text string) bool {
	asked := c.trusting || c.reading
	if text == "N" && !c.open && !asked || text == "" && (c.open || asked) {
		return c.press(s, keypress{name: "esc"})
	}
	switch strings.ToLower(text) {
	case "details":
		text = "d"
	case "all":
		text = "A"
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(c.servers) && !asked {
		return c.press(s, keypress{name: text, text: text})
	}
	return isAnswer(s, c, text) && c.press(s, letter(text))
}

func (c *sampleCard) line(s *screen, text string) bool {
	return isAnswer(s, c, text) && c.press(s, letter(text))
}

// letter returns the key that a line of one letter stands for, or one word.
func letter(text string) keypress {
	words := map[string]string{"y": "y", "yes": "y", "no": "n", "read": "r", "question": "f", "session": "s", "always": "a", "never": "d", "trust": "t", "more": "m"}
	text = orElse(words[strings.ToLower(text)], text)
	if len(text) != 1 {
		return keypress{}
	}
	return keypress{name: text, text: text}
}

func (c *formCard) line(s *screen, text string) bool {
	switch {
	case text == ":cancel":
		return c.answer(mcp.ElicitCancel, nil)
	case text == ":decline":
		return c.answer(mcp.ElicitDecline, nil)
	case c.page != nil || c.fields == nil && c.fault != "":
		return c.pressPage(letter(text))
	case c.checking:
		c.seen = c.scroll.all // there is no more than what was printed
		return c.pressCheck(s, letter(text))
	case c.at < len(c.fields):
		e := c.fields[c.at]
		if err := e.take(text); err != nil {
			e.fault = err.Error()
			return false
		}
		c.enter()
	}
	if c.at == len(c.fields) {
		c.check()
	}
	if c.checking && len(c.fields) == 1 && text != "" && text != "-" { // what was typed is all that is sent: to show it is to ask twice
		if f := c.fields[0]; f.Type == "boolean" && len(f.Enum)+len(f.OneOf) == 0 { // in the words of a server a no may be a yes
			return c.answer(mcp.ElicitAccept, c.content)
		}
	}
	return false
}

// take sets a field to what was typed: nothing leaves it as it is, a - empties it. Choices are
// taken by number or by name.
func (e *entry) take(text string) error {
	switch {
	case text == "":
		return nil
	case text == "-":
		e.text.Set("")
		e.chosen = map[int]bool{}
		return nil
	case len(e.Choices) == 0:
		e.text.Set(text)
		return nil
	}
	if e.Type == "boolean" {
		text = orElse(map[string]string{"y": "yes", "n": "no"}[strings.ToLower(text)], text)
	}
	value, err := e.Pick(text)
	if err != nil {
		return err
	}
	e.chosen = map[int]bool{}
	for i, c := range e.Choices {
		if string(c.Value) == string(value) || e.Several && isElement(value, c.Value) {
			e.chosen[i] = true
			if !e.Several {
				break
			}
		}
	}
	return nil
}

// isElement reports whether a list has an element.
func isElement(list, element json.RawMessage) (found bool) {
	jsonrpc.EachElement(list, func(e []byte) bool {
		found = found || string(e) == string(element)
		return !found
	})
	return found
}

// Lines is a user who is asked line by line, with the cards of the screen, where there is no conversation on the
// screen. It is a [host.Person].
type Lines struct{ byCard }

// NewLines returns the Lines of a user; onDisk is as in [Options], and may be nil.
func NewLines(person *terminal.Person, onDisk func(path string) (text string, ok bool)) *Lines {
	return &Lines{byCard{func(ctx context.Context, what any) (any, error) { return inLines(ctx, person, what) }, onDisk}}
}

// inLines asks with one card.
func inLines(ctx context.Context, person *terminal.Person, what any) (any, error) {
	end, err := person.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	s := &screen{ctx: ctx, byLine: true, width: person.Width(), now: time.Now}
	s.theme, _ = ink.Named("bare")
	t, a := typist{screen: s, person: person}, &ask{what: what, reply: make(chan any, 1)}
	c := newCard(s, a)
	if f, isForm := c.(*formCard); isForm && f.fault != "" { // the server's mistake, which is none of the user's
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s", f.fault)
	}
	if err := t.answer(ctx, c); err != nil {
		return nil, err
	}
	t.flushLines()
	return <-a.reply, nil
}

// errGone says that nobody can be asked any more.
var errGone = errors.New("the terminal is closed: no user can be asked")

// An ask is something that a user is asked, and waits for the answer.
type ask struct {
	what  any // wanted, []host.Review, host.Form or host.Sampling
	reply chan any
}

// wanted is a call that is asked about, with what it would change in a file of this disk.
type wanted struct {
	card   host.Card
	change *edit
}

// withdrawn tells the screen that nobody waits for the answer any more.
type withdrawn struct{ ask *ask }

// answer answers once; what is said later is not heard.
func (a *ask) answer(v any) {
	select {
	case a.reply <- v:
	default:
	}
}

// onScreen asks the user with a card on the screen, and waits.
func (u *UI) onScreen(ctx context.Context, what any) (any, error) {
	a := &ask{what: what, reply: make(chan any, 1)}
	u.hint("something waits for your answer; Enter shows it")
	select {
	case u.inbox <- a:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-u.closed:
		return nil, errGone
	}
	select {
	case v := <-a.reply:
		return v, nil
	case <-ctx.Done():
		u.post(withdrawn{a})
		return nil, context.Cause(ctx)
	case <-u.closed:
		return nil, errGone
	}
}

// byCard is a [host.Person] who is asked with cards, wherever these are shown.
type byCard struct {
	ask    func(ctx context.Context, what any) (any, error)
	onDisk func(path string) (text string, ok bool) // see [Options].OnDisk
}

// Consent shows a call and waits for a yes or no.
func (a *byCard) Consent(ctx context.Context, card host.Card) (host.Verdict, error) {
	return asked[host.Verdict](a.ask(ctx, wanted{card, fileChange(&card, a.onDisk)}))
}

// Review shows what servers bring, each in a line, and waits for an answer to each.
func (a *byCard) Review(ctx context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	return asked[[]host.ReviewAnswer](a.ask(ctx, reviews))
}

// Elicit shows a form, or the page to visit, and waits for the answer.
func (a *byCard) Elicit(ctx context.Context, form host.Form) (*mcp.ElicitResult, error) {
	return asked[*mcp.ElicitResult](a.ask(ctx, form))
}

// Sample shows what a server wants to ask the model and waits for a yes or no.
func (a *byCard) Sample(ctx context.Context, s host.Sampling) (bool, error) {
	return asked[bool](a.ask(ctx, s))
}

// asked returns the answer in its type.
func asked[T any](v any, err error) (T, error) {
	answer, _ := v.(T)
	return answer, err
}
