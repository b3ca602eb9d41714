package tui

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/remember"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// A command is a command that the user types after a slash.
type command struct {
	name, argument string
	help           string
	values         []string // possible values of the argument, or of its first word, if they are fixed
	idle           bool     // not available while an answer is coming
	drawn          bool     // not available in line mode
	do             func(s *screen, argument string)
}

// commands returns all commands, in the order in which they are listed.
func commands() []command {
	return []command{
		{name: "help", help: "all keys and commands", do: (*screen).showHelp},
		{name: "mcp", argument: "VERB SERVER", help: "servers: state, tools, trust; restart one, switch it off and on, trust it, or read its log", values: serverVerbs(), do: (*screen).mcp},
		{name: "permissions", argument: "undo NUMBER", help: "rules, trust, approvals and permissions until chat ends; undo them here", do: (*screen).permissions},
		{name: "tasks", argument: "VERB NUMBER", help: "calls that run as tasks; cancel one, or leave it running and continue", do: (*screen).tasks},
		{name: "tools", argument: "WORD", help: "all tools, or those with a word in their name", do: func(s *screen, word string) {
			title := "tools"
			if word != "" {
				title += " with “" + word + "”"
			}
			s.panel = toolsPager(title, func(t *host.ToolInfo) bool {
				return strings.Contains(strings.ToLower(t.Server+" "+t.Tool+" "+t.Title), strings.ToLower(word))
			})
		}},
		{name: "review", argument: "SERVER", help: "show the refused or disabled definitions of a server again", do: (*screen).reviewAgain},
		{name: "context", help: "what fills the context window", do: func(s *screen, _ string) { s.panel = contextPanel() }},
		{name: "log", help: "log messages and standard error of servers", do: func(s *screen, _ string) { s.panel = logPanel() }},
		{name: "calls", help: "calls and thoughts in full", do: func(s *screen, _ string) { s.panel = callsPanel(s) }},
		{name: "model", argument: "NAME", help: "choose which model answers", idle: true, do: (*screen).model},
		{name: "effort", argument: "LEVEL", help: "the model's effort in thinking, if the model supports it", idle: true, do: (*screen).effort},
		{name: "keep", argument: "NOTE", help: "keep a fact in this conversation when old turns are summarized", do: (*screen).keep},
		{name: "notes", argument: "WORDS", help: "the model's notes from all conversations; Enter shows or deletes one", do: (*screen).listNotes},
		{name: "plan", argument: "GOAL", help: "the model proposes steps and you edit them; without GOAL: show them; do, edit, drop", do: (*screen).plan},
		{name: "compact", help: "summarize old turns", idle: true, do: (*screen).compact},
		{name: "trace", help: "show or hide the steps of each run", do: func(s *screen, _ string) { s.toggleTrace() }},
		{name: "save", argument: "TITLE", help: "give the conversation a title", do: (*screen).save},
		{name: "resume", argument: "ID", help: "open an earlier conversation", idle: true, do: (*screen).resume},
		{name: "rewind", help: "continue from an earlier question, in a copy", idle: true, do: (*screen).rewind},
		{name: "fork", help: "continue in a copy of this conversation", idle: true, do: func(s *screen, _ string) { s.inBackground(s.session.Fork, (*screen).changedHere) }},
		{name: "copy", argument: "code", help: "copy the last answer, or its last block of code", values: []string{"code"}, do: (*screen).copyAnswer},
		{name: "export", argument: "FILE", help: "write the conversation to a file", do: (*screen).export},
		{name: "new", help: "start a new conversation", idle: true, do: func(s *screen, _ string) { s.inBackground(s.session.New, (*screen).changed) }},
		{name: "console", help: "show servers and messages in a browser", do: (*screen).console},
		{name: "theme", argument: "NAME", help: "dark, light or mono", values: ink.Themes(), drawn: true, do: (*screen).chooseTheme},
		{name: "quit", help: "quit", do: func(s *screen, _ string) { s.leave() }},
	}
}

// offered returns the possible values of word n of the argument, if they are known; n counts from
// 0.
func (c *command) offered(s *screen, n int) (all []string) {
	words := strings.Fields(c.argument)
	switch {
	case n >= len(words):
	case words[n] == "SERVER":
		for _, t := range s.servers {
			all = append(all, t.Server)
		}
	case n == 0:
		all = c.values
	}
	return all
}

func commandNamed(name string) *command {
	all := commands()
	if i := slices.IndexFunc(all, func(c command) bool { return c.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// command runs a command, and reports whether the text is one.
func (s *screen) command(text string) bool {
	name, argument, _ := strings.Cut(text, " ")
	c := commandNamed(strings.TrimPrefix(name, "/"))
	switch {
	case !strings.HasPrefix(s.folded(text), "/") || c == nil:
		return false
	case s.run != nil && c.idle:
		s.hint = "the answer is still coming; Esc interrupts it"
		return true
	case s.byLine && c.drawn:
		s.hint = "/" + c.name + needsScreen
		return true
	}
	s.history.add(text)
	s.history.leave()
	s.input.Set("")
	s.menu.update(s)
	c.do(s, strings.TrimSpace(argument))
	return true
}

// toSend returns the typed text as a question. After a slash it is a prompt of a server.
func (s *screen) toSend(text string) (host.Question, error) {
	if !strings.HasPrefix(s.folded(text), "/") {
		return s.question(text)
	}
	name, argument, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	p := s.menu.prompt(name)
	if p == nil {
		s.menu.load(s) // its server may have connected since the user began to type
		p = s.menu.prompt(name)
	}
	switch server, _, _ := strings.Cut(name, ":"); {
	case p == nil && strings.Contains(server, "/"): // path of a file
		return s.question(text)
	case p == nil && slices.ContainsFunc(s.session.Talk().Servers(), func(t host.ServerTools) bool { return t.Server == server && isConnecting(t) }):
		return host.Question{}, fmt.Errorf("%s is still connecting, and its prompts are not known yet; send /%s again in a moment", plaintext.Line(server, 40), plaintext.Line(name, 40))
	case p == nil:
		return host.Question{}, fmt.Errorf("there is no command /%s; /help lists them", plaintext.Line(name, 40))
	}
	call, err := promptCall(p, strings.TrimSpace(argument))
	return host.Question{Prompt: call}, err
}

// inBackground runs f in the background, then calls done or shows the error.
func (s *screen) inBackground(f func(ctx context.Context) error, done func(s *screen)) {
	s.later(func(ctx context.Context) func(*screen) {
		err := f(ctx)
		return func(s *screen) {
			s.used, s.hint = s.session.Talk().WindowUse(), ""
			switch {
			case errors.Is(err, context.Canceled):
			case err != nil:
				s.say(ink.Bad, "error: "+err.Error())
			default:
				done(s)
			}
		}
	})
}

// fetch finds a value in the background, and shows it or the error.
func fetch[T any](s *screen, find func(context.Context) (T, error), show func(*screen, T)) {
	var found T
	s.inBackground(func(ctx context.Context) (err error) {
		found, err = find(ctx)
		return err
	}, func(s *screen) { show(s, found) })
}

// keptNote is printed before a fact that /keep adds, to distinguish it from the notes of /notes.
const keptNote = "kept in this conversation: "

func (s *screen) keep(note string) {
	if note == "" {
		s.hint = "expected /keep NOTE, such as /keep the deadline is Friday"
		return
	}
	s.inBackground(func(context.Context) error { return s.session.Talk().Keep(note) }, func(s *screen) { s.say(ink.Muted, keptNote+note) })
}

// compact starts a summary in the background. The user can cancel it like a run.
func (s *screen) compact(string) {
	ctx, cancel := context.WithCancel(s.ctx)
	r := &run{cancel: cancel, began: s.now(), doing: "old turns are being summarized"}
	s.run = r
	s.ui.background(func() any {
		err := s.session.Talk().Compact(ctx)
		cancel()
		return func(s *screen) {
			r.answered = err == nil
			s.over(r, err)
			if err == nil && !r.compacted { // otherwise a notice reported the result
				s.say(ink.Muted, "old turns are replaced by a summary")
			}
		}
	})
}

func (s *screen) save(title string) {
	if title == "" {
		saved := s.session.Saved()
		if saved.ID == "" {
			s.say(ink.Muted, "the conversation is stored when you ask the first question")
			return
		}
		s.say(ink.Muted, fmt.Sprintf("the conversation is stored as %s: %s", saved.ID, saved.Title))
		return
	}
	s.inBackground(func(ctx context.Context) error { return s.session.Name(ctx, title) },
		func(s *screen) { s.say(ink.Muted, "the conversation is called "+title) })
}

func (s *screen) resume(id string) {
	if id != "" {
		s.inBackground(func(ctx context.Context) error {
			if err := s.session.Resume(ctx, id); err != nil {
				return fmt.Errorf("%w (/resume without ID lists them)", err)
			}
			return nil
		}, (*screen).changed)
		return
	}
	fetch(s, s.session.List, func(s *screen, list []Saved) {
		if len(list) == 0 {
			s.say(ink.Muted, "there is no earlier conversation")
			return
		}
		s.panel = conversationsPanel(list, s.session.Saved().ID)
	})
}

// changedHere prints the id and the title of the current conversation.
func (s *screen) changedHere() {
	s.watchTasks()
	saved := s.session.Saved()
	s.print(s.rule("conversation " + strings.TrimSpace(saved.ID+" "+saved.Title)))
}

// changed shows another conversation.
func (s *screen) changed() {
	s.used = s.session.Talk().WindowUse()
	s.look(s.session.Talk().Servers()) // each conversation has its own switched-off servers
	s.watchTasks()
	s.past = nil
	entries := s.session.Talk().Entries()
	if len(entries) == 0 {
		s.print(s.rule("new conversation"))
		return
	}
	s.changedHere()
	if extra := len(entries) - maxReplay; extra > 0 {
		s.say(ink.Muted, fmt.Sprintf("only the last %d entries are shown again; /export has all", maxReplay))
		entries = entries[extra:]
	}
	for i := range entries {
		if ended := entries[i].Ended; ended != nil && ended.Stop == host.StopCutOff { // recorded by the next run
			s.cutOff(entries[:i])
			continue
		}
		s.replay(&entries[i])
	}
	if unanswered(entries) {
		s.cutOff(entries)
	}
	p := s.session.Talk().Plan()
	done := 0
	for _, step := range p.Steps {
		if !isOpen(step) {
			done++
		}
	}
	if done < len(p.Steps) {
		s.say(ink.Muted, fmt.Sprintf("Its plan is not finished: %d of %s. /plan shows it, /plan do continues it.", done, plural(len(p.Steps), "step", "steps")))
	}
}

// rule returns a line across the screen with a title in it.
func (s *screen) rule(title string) ink.Line { return ruleLine(title, s.width) }

func ruleLine(title string, width int) ink.Line {
	line := ink.Line{ink.T(ink.Muted, "── "), ink.T(ink.Plain, plaintext.Line(title, max(1, width-6)), ink.Bold), ink.T(ink.Muted, " ")}
	return append(line, ink.T(ink.Muted, strings.Repeat("─", max(0, width-line.Width()))))
}

func (s *screen) export(path string) {
	fetch(s, func(ctx context.Context) (string, error) { return s.session.Export(ctx, path) },
		func(s *screen, written string) { s.say(ink.Muted, "the conversation is in "+written) })
}

func (s *screen) console(string) {
	if s.ui.options.Console == nil {
		s.hint = "there is no console here"
		return
	}
	fetch(s, s.ui.options.Console, func(s *screen, link string) { s.say(ink.Muted, "the console is at "+link) })
}

func (s *screen) chooseTheme(name string) {
	theme, ok := ink.Named(name)
	if !ok || !slices.Contains(ink.Themes(), name) {
		s.say(ink.Bad, "expected /theme with one of "+strings.Join(ink.Themes(), ", "))
		return
	}
	if s.ui.options.NoColor {
		s.say(ink.Muted, "colours are switched off")
		return
	}
	s.theme, s.ui.auto = theme, false
}

// question returns the typed text as a question. It attaches resources named as @SERVER:URI, files
// named as @PATH, and pasted pictures.
func (s *screen) question(text string) (host.Question, error) {
	q := host.Question{Text: text}
	s.absent = nil
	rest, err := s.attachPictures(&q, s.folded(text))
	if err != nil {
		return q, err
	}
	for _, mentioned := range mention.FindAllStringSubmatch(rest, -1) {
		word := mentioned[1] + mentioned[2]
		server, uri, found := strings.Cut(word, ":")
		if !found || uri == "" || !slices.ContainsFunc(s.servers, func(t host.ServerTools) bool { return t.Server == server }) {
			if err := s.attachFile(&q, word); err != nil {
				return q, err
			}
			continue
		}
		if strings.Contains(uri, "{") {
			return q, fmt.Errorf("@%s: fill in the part in braces", word)
		}
		a := host.Attachment{Server: server, URI: s.knownURI(server, uri)}
		if !slices.ContainsFunc(q.Attach, func(other host.Attachment) bool { return other.Server == server && other.URI == a.URI }) {
			q.Attach = append(q.Attach, a)
		}
	}
	return q, nil
}

// knownURI removes punctuation from the end of a URI, unless a resource has exactly this URI.
func (s *screen) knownURI(server, uri string) string {
	known := func(uri string) bool {
		return slices.ContainsFunc(s.menu.resources, func(r resource) bool { return r.server == server && r.uri == uri })
	}
	if short := strings.TrimRight(uri, ".,;:!?)"); !known(uri) && short != "" {
		return short
	}
	return uri
}

// promptCall returns the call of /SERVER:PROMPT with its arguments, written as NAME=VALUE or as
// values in the prompt's order.
func promptCall(p *host.PromptRef, rest string) (*host.PromptCall, error) {
	call := &host.PromptCall{Server: p.Server, Name: p.Prompt.Name, Arguments: map[string]string{}}
	words, err := splitWords(rest)
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		name, value, named := strings.Cut(word, "=")
		if named && slices.ContainsFunc(p.Prompt.Arguments, func(a mcp.PromptArgument) bool { return a.Name == name }) {
			call.Arguments[name] = value
			continue
		}
		if name = missing(p.Prompt, call.Arguments, false); name == "" {
			return nil, fmt.Errorf("prompt %s has no place for %q", p.Prompt.Name, plaintext.Line(word, 40))
		}
		call.Arguments[name] = word
	}
	if name := missing(p.Prompt, call.Arguments, true); name != "" {
		return nil, fmt.Errorf("prompt %s needs %s=…", p.Prompt.Name, name)
	}
	return call, nil
}

// missing returns the first argument without a value, among the required ones or all.
func missing(p *mcp.Prompt, given map[string]string, required bool) string {
	for _, a := range p.Arguments {
		if _, ok := given[a.Name]; !ok && (a.Required || !required) {
			return a.Name
		}
	}
	return ""
}

var (
	quotedWord  = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^ \n\t'"])+`)
	quotedPiece = regexp.MustCompile(`'([^']*)'|"([^"]*)"`)
)

// splitWords splits at spaces, but not in quotes.
func splitWords(text string) ([]string, error) {
	if open := strings.Trim(quotedWord.ReplaceAllString(text, ""), " \n\t"); open != "" {
		return nil, fmt.Errorf("a quote %c is open", open[0])
	}
	words := quotedWord.FindAllString(text, -1)
	for i, word := range words {
		words[i] = quotedPiece.ReplaceAllString(word, "$1$2")
	}
	return words, nil
}

// typed prints the user's text.
func (s *screen) typed(text string) { s.print(s.saidLines(text)...) }

func (s *screen) saidLines(text string) []ink.Line {
	mark := ink.Line{ink.T(ink.Accent, "❯ ", ink.Bold)}
	return ink.Indent(ink.Lines(ink.Plain, text, s.width-2, ink.Bold), mark, ink.Of("  "))
}

// An askedQuestion is a question in the conversation.
type askedQuestion struct {
	entry int // index of its first entry
	text  string
}

// questions returns the questions of the conversation, in order.
func questions(entries []host.Entry) []askedQuestion {
	var all []askedQuestion
	running := false
	for i := range entries {
		switch e := &entries[i]; {
		case e.Totals != nil:
			running = false
		case e.Message != nil && e.Message.Role == model.RoleUser && !running:
			running = true
			text := e.Shown
			if text == "" && len(e.Message.Parts) > 0 { // the first part is the text, the others are attachments
				text = strings.TrimSpace(e.Message.Parts[0].Text)
			}
			all = append(all, askedQuestion{i, text})
		}
	}
	return all
}

// rewind lets the user choose an earlier question.
func (s *screen) rewind(string) {
	all := questions(s.session.Talk().Entries())
	if len(all) == 0 {
		s.hint = "there is no question to go back to"
		return
	}
	slices.Reverse(all)
	p := &picker{title: "continue from before which question?"}
	for i, q := range all {
		detail := ""
		if i > 0 {
			detail = "omits " + plural(i, "later question", "later questions")
		}
		p.items = append(p.items, item{label: orElse(s.folded(q.text), "(no text)"), detail: detail})
	}
	p.chosen = func(s *screen, i int) { s.rewindTo(all[i]) }
	s.panel = p
}

// rewindTo continues with a copy of the entries before a question. The question returns to the
// input if the user typed it; the text of a server's prompt does not.
func (s *screen) rewindTo(q askedQuestion) {
	if s.run != nil {
		s.hint = "the answer is still coming; Esc interrupts it"
		return
	}
	before := s.session.Saved()
	s.inBackground(func(ctx context.Context) error { return s.session.Rewind(ctx, q.entry) }, func(s *screen) {
		s.print(s.rule(strings.TrimSpace("conversation " + s.session.Saved().ID)))
		text := "Went back to before “" + plaintext.Line(s.folded(q.text), 60) + "”, in a copy. Calls that have run since then are not undone."
		if before.ID != "" {
			text += " Original: /resume " + before.ID
		}
		s.say(ink.Muted, text)
		if s.input.Empty() && slices.Contains(s.history.lines, q.text) {
			s.input.Set(s.folded(q.text))
			s.menu.update(s)
		}
	})
}

// maxNotes is how many notes are listed.
const maxNotes = 500

// Notes holds the notes that the model kept, as in [remember.Store]. Its methods are called from
// several goroutines.
type Notes interface {
	Find(ctx context.Context, words string, limit int) ([]remember.Note, error)
	Delete(ctx context.Context, id string) error
}

// listNotes lists the notes with these words, to read and delete them.
func (s *screen) listNotes(words string) {
	notes := s.ui.options.Notes
	if notes == nil {
		s.hint = "notes are not stored here"
		return
	}
	find := func(ctx context.Context) ([]remember.Note, error) { return notes.Find(ctx, words, maxNotes) }
	fetch(s, find, func(s *screen, found []remember.Note) {
		switch {
		case len(found) == 0 && words != "":
			s.say(ink.Muted, "no note has these words")
		case len(found) == 0:
			s.say(ink.Muted, "the model has stored no notes yet; a fact stored with /keep belongs to its conversation")
		default:
			p := &picker{title: "what is remembered"}
			for i := range found {
				p.items = append(p.items, item{label: plaintext.Line(found[i].Text, 200), detail: aboutNote(&found[i])})
			}
			p.chosen = func(s *screen, i int) { s.panel = notePanel(found[i]) }
			s.panel = p
		}
	})
}

func aboutNote(n *remember.Note) string {
	about := fmt.Sprintf("note %s · %s", n.ID, n.At.Format("2006-01-02"))
	if n.Labels&guard.Untrusted != 0 {
		about += " · untrusted"
	}
	return about
}

// notePanel offers actions on a note.
func notePanel(n remember.Note) *picker {
	p := &picker{title: "note " + n.ID + ": " + plaintext.Line(n.Text, 200), items: []item{{label: "show it"}, {label: "delete it", detail: "for good"}}}
	p.chosen = func(s *screen, i int) {
		if i == 0 {
			s.panel = &pager{title: aboutNote(&n), build: func(_ *screen, width int) []ink.Line { return ink.Lines(ink.Plain, strings.TrimSpace(n.Text), width) }}
			return
		}
		s.inBackground(func(ctx context.Context) error { return s.ui.options.Notes.Delete(ctx, n.ID) },
			func(s *screen) { s.say(ink.Muted, "note "+n.ID+" is deleted") })
	}
	return p
}

// A Permission is a rule, a trust, an approval or an answer that allows or forbids something.
type Permission struct {
	What  string // a short description, such as: allow tool "read" of server "files"
	Where string // its place, such as: policy.json:12
	// Undo withdraws the permission and describes that. The error is the reason why it cannot: a
	// built-in permission, or one from the command line.
	Undo func(ctx context.Context) (done string, err error)
}

// permissions lists all permissions, or withdraws one.
func (s *screen) permissions(argument string) {
	word, number, _ := strings.Cut(argument, " ")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case s.ui.options.Permissions == nil:
		s.hint = "permissions cannot be listed here"
	case argument == "":
		fetch(s, func(ctx context.Context) ([]Permission, error) { return s.ui.options.Permissions(ctx, s.session) },
			func(s *screen, all []Permission) { s.permitted, s.panel = all, permissionsPanel() })
	case word != "undo" || err != nil:
		s.hint = "expected /permissions, or /permissions undo NUMBER"
	case n < 1 || n > len(s.permitted):
		s.hint = "there is no number " + strconv.Itoa(n) + " in the list; /permissions shows the list"
	default:
		s.change(s.permitted[n-1].Undo)
	}
}

func permissionsPanel() *roster {
	r := &roster{title: "permissions", none: "there are none", keys: []string{"d take back"}}
	r.rows = func(s *screen, width int) (rows [][]ink.Line) {
		for i, p := range s.permitted {
			rows = append(rows, ink.Wrap(ink.Line{ink.T(ink.Muted, strconv.Itoa(i+1)+" "), ink.T(ink.Plain, plaintext.Line(p.What, 2_000)), ink.T(ink.Muted, "  "+plaintext.Line(p.Where, 500))}, width))
		}
		return rows
	}
	var last time.Time
	r.act = func(s *screen, key string, at int) {
		if key != "d" || at >= len(s.permitted) {
			return
		}
		held := s.now().Sub(last) < quietTime // key held or pressed twice: it is not meant for the next row
		if last = s.now(); held {
			return
		}
		undo := s.permitted[at].Undo
		s.change(func(ctx context.Context) (string, error) {
			done, err := undo(ctx)
			if all, fault := s.ui.options.Permissions(ctx, s.session); fault == nil {
				s.ui.post(func(s *screen) { s.permitted = all })
			}
			return done, err
		})
	}
	return r
}
