package tui

import (
	"context"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/mcp"
)

const (
	menuRows = 6   // that are shown at once
	maxMenu  = 500 // entries that can be scrolled through
)

// An item is something that can be chosen.
type item struct {
	insert string // in place of the word at the cursor
	label  string
	detail string
}

// menu offers how the word at the cursor could go on.
type menu struct {
	prompts   []host.PromptRef
	resources []resource

	items    []item
	selected int
	word     string // that is completed
	closed   string // the word for which the person closed the menu
	asked    int    // counts questions to servers; only the last answer counts
}

// A resource is what can be attached: a resource of a server, or a template for
// some.
type resource struct {
	server, uri, title string
	template           bool
}

// load reads what servers offer.
func (m *menu) load(s *screen) {
	m.prompts, m.resources = s.session.Prompts(), nil
	for _, r := range s.session.Resources() {
		m.resources = append(m.resources, resource{server: r.Server, uri: r.Resource.URI, title: orElse(r.Resource.Title, r.Resource.Name)})
	}
	for _, t := range s.session.Templates() {
		m.resources = append(m.resources, resource{t.Server, t.Template.URITemplate, orElse(t.Template.Title, t.Template.Name), true})
	}
}

// update finds what fits the input.
func (m *menu) update(s *screen) {
	before := s.input.Before()
	word := before[strings.LastIndexAny(before, " \n\t")+1:]
	m.asked++
	m.items, m.selected, m.word = nil, 0, word
	if word != "" && word == m.closed {
		return
	}
	m.closed = ""
	if word == "/" || word == "@" {
		m.load(s) // what servers have may have changed
	}
	switch {
	case strings.HasPrefix(before, "/") && word == before:
		m.items = m.commands(word)
	case strings.HasPrefix(before, "/"):
		m.arguments(s, before, word)
	case strings.HasPrefix(word, "@"):
		m.attachments(s, word)
	}
	m.items = m.items[:min(len(m.items), maxMenu)]
	if len(m.items) == 1 && m.items[0].insert == word {
		m.items = nil
	}
}

// commands are the commands and prompts that a word can become.
func (m *menu) commands(word string) []item {
	var begin, within []item
	add := func(name, detail string) {
		switch it := (item{insert: name, label: name, detail: detail}); {
		case strings.HasPrefix(name, word):
			begin = append(begin, it)
		case strings.Contains(strings.ToLower(name), strings.ToLower(word[1:])):
			within = append(within, it)
		}
	}
	for _, c := range commands() {
		add("/"+c.name, c.help)
	}
	for _, p := range m.prompts {
		add("/"+p.Server+":"+p.Prompt.Name, orElse(p.Prompt.Title, p.Prompt.Description))
	}
	return append(begin, within...)
}

// arguments are how the arguments of a command or a prompt can go on.
func (m *menu) arguments(s *screen, before, word string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(before, "/"), " ")
	if c := commandNamed(name); c != nil {
		for _, value := range c.offered(s, len(strings.Fields(strings.TrimSuffix(before, word)))-1) {
			if word != "" && strings.HasPrefix(value, word) { // else Enter would choose one where it is to send the command
				m.items = append(m.items, item{insert: value, label: value})
			}
		}
		return
	}
	p := m.prompt(name)
	if p == nil {
		return
	}
	given := map[string]string{}
	if words, err := splitWords(strings.TrimSuffix(before, word)); err == nil {
		for _, w := range words[1:] {
			if name, value, ok := strings.Cut(w, "="); ok {
				given[name] = value
			}
		}
	}
	if name, value, named := strings.Cut(word, "="); named {
		ref := mcp.CompletionReference{Type: mcp.RefPrompt, Name: p.Prompt.Name}
		m.complete(s, p.Server, ref, name, value, given, name+"=")
		return
	}
	for _, a := range p.Prompt.Arguments {
		if _, ok := given[a.Name]; ok || !strings.HasPrefix(a.Name, word) {
			continue
		}
		detail := orElse(a.Description, a.Title)
		if a.Required {
			detail = strings.TrimSpace("(required) " + detail)
		}
		m.items = append(m.items, item{insert: a.Name + "=", label: a.Name + "=", detail: detail})
	}
}

func (m *menu) prompt(name string) *host.PromptRef {
	i := slices.IndexFunc(m.prompts, func(p host.PromptRef) bool { return p.Server+":"+p.Prompt.Name == name })
	if i < 0 {
		return nil
	}
	return &m.prompts[i]
}

// attachments are the resources, templates and files that a word can become.
func (m *menu) attachments(s *screen, word string) {
	if s.ui.options.Files != nil {
		m.files(s, word)
	}
	for _, r := range m.resources {
		name := "@" + r.server + ":" + r.uri
		fixed, variable, isOpen := strings.Cut(name, "{")
		switch {
		case r.template && isOpen && len(word) >= len(fixed) && strings.HasPrefix(word, fixed):
			variable, _, _ = strings.Cut(strings.TrimLeft(variable, "+#./;?&"), "}")
			variable, _, _ = strings.Cut(variable, ",")
			ref := mcp.CompletionReference{Type: mcp.RefResource, URI: r.uri}
			m.complete(s, r.server, ref, variable, word[len(fixed):], nil, fixed)
		case r.template && isOpen && strings.Contains(fixed, word[1:]):
			m.items = append(m.items, item{insert: fixed, label: name, detail: r.title})
		case !r.template && strings.Contains(strings.ToLower(name), strings.ToLower(word[1:])):
			m.items = append(m.items, item{insert: name, label: name, detail: r.title})
		}
	}
	m.best()
}

// best puts what begins with the word before what holds it somewhere.
func (m *menu) best() {
	rank := func(it item) int {
		if strings.HasPrefix(strings.ToLower(it.label), strings.ToLower(m.word)) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(m.items, func(a, b item) int { return rank(a) - rank(b) })
}

// complete asks a server how a value goes on.
func (m *menu) complete(s *screen, server string, ref mcp.CompletionReference, name, value string, given map[string]string, prefix string) {
	asked, word := m.asked, m.word
	req := mcp.CompletionRequest{Ref: ref, Argument: mcp.CompletionArgument{Name: name, Value: value}}
	if len(given) > 0 {
		req.Context = &mcp.CompletionContext{Arguments: given}
	}
	s.later(func(ctx context.Context) func(*screen) {
		found, err := s.session.Complete(ctx, server, req)
		return func(s *screen) {
			m := &s.menu
			if err != nil || found == nil || m.asked != asked || m.word != word {
				return
			}
			for _, v := range found.Values[:min(len(found.Values), maxMenu)] {
				if strings.ContainsAny(v, " \t\n") && ref.Type == mcp.RefPrompt {
					m.items = append(m.items, item{insert: prefix + `"` + v + `"`, label: v})
					continue
				}
				m.items = append(m.items, item{insert: prefix + v, label: v})
			}
		}
	})
}

// press handles the keys of the menu, if it is open.
func (m *menu) press(s *screen, k keypress) bool {
	if len(m.items) == 0 {
		return false
	}
	switch k.name {
	case "up", "shift+tab":
		m.selected = (m.selected + len(m.items) - 1) % len(m.items)
	case "down":
		m.selected = (m.selected + 1) % len(m.items)
	case "esc":
		m.closed, m.items = m.word, nil
	case "enter":
		if m.items[m.selected].insert == m.word {
			m.items = nil
			return false
		}
		m.accept(s)
	case "tab":
		m.accept(s)
	default:
		return false
	}
	return true
}

// accept puts the selected item into the input. What can be sent as it is, is
// followed by a space.
func (m *menu) accept(s *screen) {
	chosen := m.items[m.selected].insert
	s.input.Replace(len(m.word), chosen)
	if last := chosen[len(chosen)-1]; last != '=' && last != ':' && last != '/' {
		s.input.Insert(" ")
	}
	m.update(s)
}

// lines shows the menu, the selected item in sight.
func (m *menu) lines(width, height int) []ink.Line {
	rows := min(len(m.items), menuRows, height)
	if rows <= 0 {
		return nil
	}
	from := min(max(0, m.selected-rows+1), len(m.items)-rows)
	longest := 0
	for _, it := range m.items[from : from+rows] {
		longest = max(longest, ink.Width(oneLine(it.label, width)))
	}
	var lines []ink.Line
	for i, it := range m.items[from : from+rows] {
		mark, attr := "  ", ink.Attr(0)
		if from+i == m.selected {
			mark, attr = "▸ ", ink.Bold
		}
		name := ink.Line{ink.T(ink.Accent, mark+oneLine(it.label, width), attr)}.Pad(min(longest, width/2) + 2)
		lines = append(lines, append(name, ink.T(ink.Muted, "  "+oneLine(it.detail, width))).Cut(width))
	}
	return lines
}
