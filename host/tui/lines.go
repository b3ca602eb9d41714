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

// A typist runs a screen in line mode, for a terminal that can only print lines. It prints the same
// text, and reads lines in place of keys.
type typist struct {
	*screen
	person *terminal.Person
	out    *terminal.Screen
}

// lineByLine runs the session in line mode.
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
		u.raw = func(text string) tea.Cmd { _, _ = io.WriteString(out, text); return nil } // write errors of the terminal are ignored
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
			t.person.Discard() // the rest of a paste must not count as an answer
		}
		t.ui.prompting.Store(t.out)
		line, err := t.person.Line(ctx, "> ")
		t.ui.prompting.Store(nil)
		if err != nil {
			return err
		}
		if line == "" {
			line = t.large // Enter alone sends the question that was held back
		} else if line != t.large {
			t.large = ""
		}
		t.input.Set(line)
		t.menu.load(t.screen) // the line may name prompts and resources
		if err := t.follow(ctx); err != nil {
			return err
		}
	}
	t.flushLines()
	return nil
}

// errStopped is the cause of an interrupt by the user.
var errStopped = errors.New("stopped")

// Interrupt stops the running question in line mode, like Esc on a screen. It reports whether there
// was one. It is safe for concurrent use.
func (u *UI) Interrupt() bool {
	stop := u.stop.Swap(nil)
	if stop != nil {
		(*stop)(errStopped)
	}
	return stop != nil
}

// follow submits the line and shows events until no run or job is active. Interrupt works once,
// from the moment at which the line starts something.
func (t *typist) follow(ctx context.Context) error {
	stoppable, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.ui.stop.Store(&cancel)
	defer t.ui.stop.Store(nil) // between questions, an interrupt ends the program
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
	for t.run != nil { // until the run has ended
		select {
		case v := <-t.ui.inbox:
			t.receive(v)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return t.untilOver(ctx)
}

// untilOver shows events until no run or job is active and no question waits. A job posts its
// result to the inbox before it counts as ended.
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
		case <-time.After(tickTime): // the last job may have just ended
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// answerAll asks the user about every card and panel.
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

// answer shows a card and reads lines until the card is done.
func (t *typist) answer(ctx context.Context, c card) error {
	for done := false; !done; {
		t.print(c.lines(t.screen, t.width, math.MaxInt32)...) // complete, because lines cannot be scrolled
		t.flushLines()
		line, err := t.person.Line(ctx, "? ")
		if err != nil {
			return err
		}
		done = c.line(t.screen, strings.TrimSpace(line))
	}
	return nil
}

// show prints a panel. The user chooses from a list by number.
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

// needsScreen is the end of an error about a command that is not available in line mode.
const needsScreen = " needs the screen: start without --plain, on a terminal that can move its cursor"

// maxListed is the number of choices listed at once.
const maxListed = 50

// pick lets the user choose from a list by number, or filter it.
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

// flushLines prints the queued lines and the hint.
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

// Each line method handles a typed line for a card, and reports whether the card is done.

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

// isAnswer reports whether a line stands for a key of a card. For other lines it sets a hint that
// lists the possible answers.
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

// letter returns the key for a line of one letter or one known word.
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
		c.seen = c.scroll.all // all lines were printed
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
	if c.checking && len(c.fields) == 1 && text != "" && text != "-" { // a single answer needs no confirmation
		if f := c.fields[0]; f.Type == "boolean" && len(f.Enum)+len(f.OneOf) == 0 { // but with titles from a server, a "no" could mean yes
			return c.answer(mcp.ElicitAccept, c.content)
		}
	}
	return false
}

// take sets a field from a typed line. An empty line keeps the value, and "-" empties it. Choices
// are named by number or by name.
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

// Lines is a [host.Person] that asks a user line by line, with the cards of the screen but without
// a conversation.
type Lines struct{ byCard }

// NewLines returns a Lines for a user. onDisk is as in [Options] and may be nil.
func NewLines(person *terminal.Person, onDisk func(path string) (text string, ok bool)) *Lines {
	return &Lines{byCard{func(ctx context.Context, what any) (any, error) { return inLines(ctx, person, what) }, onDisk}}
}

// inLines asks the user with one card.
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
	if f, isForm := c.(*formCard); isForm && f.fault != "" { // the server made a mistake, and the user need not be asked
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s", f.fault)
	}
	if err := t.answer(ctx, c); err != nil {
		return nil, err
	}
	t.flushLines()
	return <-a.reply, nil
}

// errGone reports that no user can be asked any more.
var errGone = errors.New("the terminal is closed: no user can be asked")

// An ask is a question to the user that waits for an answer.
type ask struct {
	what  any // callQuestion, []host.Review, host.Form or host.Sampling
	reply chan any
}

// callQuestion is a question about a call, with the change that it would make to a file on this
// disk.
type callQuestion struct {
	card   host.ApprovalCard
	change *edit
}

// withdrawnQuestion tells the screen that a question needs no answer any more.
type withdrawnQuestion struct{ ask *ask }

// answer sends the answer. Later answers are ignored.
func (a *ask) answer(v any) {
	select {
	case a.reply <- v:
	default:
	}
}

// onScreen asks the user with a card on the screen and waits for the answer.
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
		u.post(withdrawnQuestion{a})
		return nil, context.Cause(ctx)
	case <-u.closed:
		return nil, errGone
	}
}

// byCard is a [host.Person] that asks with cards. ask shows the card.
type byCard struct {
	ask    func(ctx context.Context, what any) (any, error)
	onDisk func(path string) (text string, ok bool) // see [Options].OnDisk
}

// Consent shows a call and waits for a yes or no.
func (a *byCard) Consent(ctx context.Context, card host.ApprovalCard) (host.Verdict, error) {
	return asked[host.Verdict](a.ask(ctx, callQuestion{card, fileChange(&card, a.onDisk)}))
}

// Review shows the servers' definitions, a line for each server, and waits for the answers.
func (a *byCard) Review(ctx context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	return asked[[]host.ReviewAnswer](a.ask(ctx, reviews))
}

// Elicit shows a form, or the page to visit, and waits for the answer.
func (a *byCard) Elicit(ctx context.Context, form host.Form) (*mcp.ElicitResult, error) {
	return asked[*mcp.ElicitResult](a.ask(ctx, form))
}

// Sample shows a server's request to the model and waits for a yes or no.
func (a *byCard) Sample(ctx context.Context, s host.Sampling) (bool, error) {
	return asked[bool](a.ask(ctx, s))
}

// asked converts the answer to its type.
func asked[T any](v any, err error) (T, error) {
	answer, _ := v.(T)
	return answer, err
}
