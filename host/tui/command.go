package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// A command is what can be typed behind a slash.
type command struct {
	name, argument string
	help           string
	values         []string // what the argument, or its first word, can be, if that is a choice
	idle           bool     // not while an answer is coming
	drawn          bool     // not where there are only lines
	do             func(s *screen, argument string)
}

// commands are all commands, in the order in which they are listed.
func commands() []command {
	return []command{
		{name: "help", help: "all keys and commands", do: (*screen).showHelp},
		{name: "mcp", argument: "VERB SERVER", help: "servers: state, tools, trust; to restart, switch off and on, trust one, and read its log", values: serverVerbs(), do: (*screen).mcp},
		{name: "permissions", argument: "undo NUMBER", help: "rules, trust, approvals and what you allowed until chat ends; to be taken back", do: (*screen).permissions},
		{name: "tasks", argument: "VERB NUMBER", help: "calls that run as tasks; to cancel one, or to leave it and go on", do: (*screen).tasks},
		{name: "tools", argument: "WORD", help: "all tools, or those with a word in their name", do: func(s *screen, word string) {
			title := "tools"
			if word != "" {
				title += " with “" + word + "”"
			}
			s.panel = toolsPager(title, func(t *host.ToolInfo) bool {
				return strings.Contains(strings.ToLower(t.Server+" "+t.Tool+" "+t.Title), strings.ToLower(word))
			})
		}},
		{name: "review", argument: "SERVER", help: "show again what was refused or disabled of a server", do: (*screen).reviewAgain},
		{name: "context", help: "what fills the context window", do: func(s *screen, _ string) { s.panel = contextPanel() }},
		{name: "log", help: "what servers log, and write to their standard error", do: func(s *screen, _ string) { s.panel = logPanel() }},
		{name: "calls", help: "calls and thoughts in full", do: func(s *screen, _ string) { s.panel = callsPanel(s) }},
		{name: "model", argument: "NAME", help: "choose which model answers", idle: true, do: (*screen).model},
		{name: "effort", argument: "LEVEL", help: "how hard the model thinks, where it can be asked", idle: true, do: (*screen).effort},
		{name: "keep", argument: "NOTE", help: "keep a fact in this conversation when old turns are summarized", do: (*screen).keep},
		{name: "notes", argument: "WORDS", help: "what the model remembered in all conversations; Enter shows or deletes one", do: (*screen).listNotes},
		{name: "plan", argument: "GOAL", help: "the model proposes steps, you edit them; alone: shows them; do, edit, drop", do: (*screen).plan},
		{name: "compact", help: "summarize old turns", idle: true, do: (*screen).compact},
		{name: "trace", help: "show or hide the steps of each run", do: func(s *screen, _ string) { s.toggleTrace() }},
		{name: "save", argument: "TITLE", help: "give the conversation a title", do: (*screen).save},
		{name: "resume", argument: "ID", help: "open an earlier conversation", idle: true, do: (*screen).resume},
		{name: "rewind", help: "go on from an earlier question, in a copy", idle: true, do: (*screen).rewind},
		{name: "fork", help: "continue in a copy of this conversation", idle: true, do: (*screen).fork},
		{name: "copy", argument: "code", help: "copy the last answer, or its last block of code", values: []string{"code"}, do: (*screen).copyAnswer},
		{name: "export", argument: "FILE", help: "write the conversation to a file", do: (*screen).export},
		{name: "new", help: "start a new conversation", idle: true, do: (*screen).begin},
		{name: "console", help: "see servers and messages in a browser", do: (*screen).console},
		{name: "theme", argument: "NAME", help: "dark, light or mono", values: ink.Themes(), drawn: true, do: (*screen).chooseTheme},
		{name: "quit", help: "quit", do: func(s *screen, _ string) { s.leave() }},
	}
}

// offered is what a word of the argument can be, if that is known; n counts from 0.
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

// toSend is what was typed as a question; behind a slash, that is a prompt of a server.
func (s *screen) toSend(text string) (host.Question, error) {
	if !strings.HasPrefix(s.folded(text), "/") {
		return s.question(text)
	}
	name, argument, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	p := s.menu.prompt(name)
	switch server, _, _ := strings.Cut(name, ":"); {
	case p == nil && strings.Contains(server, "/"): // the path of a file
		return s.question(text)
	case p == nil:
		return host.Question{}, fmt.Errorf("there is no command /%s; /help lists them", oneLine(name, 40))
	}
	call, err := promptCall(p, strings.TrimSpace(argument))
	return host.Question{Prompt: call}, err
}

// inBackground runs something, and says what came of it.
func (s *screen) inBackground(f func(ctx context.Context) error, done func(s *screen)) {
	s.later(func(ctx context.Context) func(*screen) {
		err := f(ctx)
		return func(s *screen) {
			s.used, s.hint = s.session.Talk().Ledger(), ""
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

// fetch finds something in the background, and shows it, or why it could not be found.
func fetch[T any](s *screen, find func(context.Context) (T, error), show func(*screen, T)) {
	var found T
	s.inBackground(func(ctx context.Context) (err error) {
		found, err = find(ctx)
		return err
	}, func(s *screen) { show(s, found) })
}

// keptNote stands before a fact that /keep adds. What /notes lists is another memory.
const keptNote = "kept in this conversation: "

func (s *screen) keep(note string) {
	if note == "" {
		s.hint = "expected /keep NOTE, such as /keep the deadline is Friday"
		return
	}
	s.inBackground(func(context.Context) error { return s.session.Talk().Keep(note) }, func(s *screen) { s.say(ink.Muted, keptNote+note) })
}

// compact takes as long as the model does, and can be cancelled as a run can.
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
			if err == nil && !r.compacted { // else a notice said what came of it
				s.say(ink.Muted, "old turns are replaced by a summary")
			}
		}
	})
}

func (s *screen) save(title string) {
	if title == "" {
		saved := s.session.Saved()
		if saved.ID == "" {
			s.say(ink.Muted, "the conversation is stored with its first question")
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

func (s *screen) fork(string)  { s.inBackground(s.session.Fork, (*screen).changedHere) }
func (s *screen) begin(string) { s.inBackground(s.session.New, (*screen).changed) }

// changedHere says which conversation this is now.
func (s *screen) changedHere() {
	s.watchTasks()
	saved := s.session.Saved()
	s.print(s.rule("conversation " + strings.TrimSpace(saved.ID+" "+saved.Title)))
}

// changed shows another conversation.
func (s *screen) changed() {
	s.used = s.session.Talk().Ledger()
	s.look(s.session.Talk().Servers()) // each conversation has others switched off
	s.watchTasks()
	s.past = nil
	entries := s.session.Talk().Entries()
	if len(entries) == 0 {
		s.print(s.rule("new conversation"))
		return
	}
	s.changedHere()
	if extra := len(entries) - maxReplay; extra > 0 {
		s.say(ink.Muted, fmt.Sprintf("what came before the last %d entries is not shown again; /export has it", maxReplay))
		entries = entries[extra:]
	}
	for i := range entries {
		if ended := entries[i].Ended; ended != nil && ended.Stop == host.StopCutOff { // noted by the run after it
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
		s.say(ink.Muted, fmt.Sprintf("Its plan is not done: %d of %s. /plan shows it, /plan do goes on.", done, plural(len(p.Steps), "step", "steps")))
	}
}

// rule is a line across the screen with a title in it.
func (s *screen) rule(title string) ink.Line { return ruleLine(title, s.width) }

func ruleLine(title string, width int) ink.Line {
	line := ink.Line{ink.T(ink.Muted, "── "), ink.T(ink.Plain, oneLine(title, max(1, width-6)), ink.Bold), ink.T(ink.Muted, " ")}
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
