package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
)

// A view is one layer of the screen.
type view struct {
	kind    kind
	title   string
	subject string // name of the server, or key of the call
	hash    string // hash of the definitions under review
	heading func(width int) string
	rows    func(width int) []row
	filter  string

	chosen string // id of the row with the cursor, in a list
	top    int    // index of the first row on the screen
	follow bool   // keep the last row on the screen
	drawn  int    // number of leading rows that have already been drawn without a filter
}

// A row is one line. A row in a list has an id.
type row struct{ id, text string }

// A model is the state of the screen for bubbletea.
type model struct {
	ctx           context.Context
	ui            *UI
	gateway       Gateway
	width, height int
	status        Status
	views         []*view
	notice        string // text that is shown until the next key
	seen          int    // number of messages printed before the last key
	editing       bool   // whether keys edit the filter
	asked         bool   // whether the user was asked to confirm quitting
	ticking       bool   // whether a tickMsg will follow
}

type (
	changedMsg struct{}
	tickMsg    struct{}
	noticeMsg  string
	openMsg    struct{ over, view *view }
)

func newModel(ctx context.Context, u *UI) *model {
	m := &model{ctx: ctx, ui: u, gateway: u.options.Gateway, width: 80, height: 24}
	if m.gateway == nil {
		m.views = []*view{m.callsView()}
		return m
	}
	m.status = m.gateway.Status()
	heading := func(width int) string { line, _ := m.serverTable(width); return line }
	rows := func(width int) []row { _, rows := m.serverTable(width); return rows }
	m.views = []*view{{kind: ofServers, heading: heading, rows: rows}}
	return m
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return m.ui.wait }

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case changedMsg:
		if m.gateway != nil {
			m.status = m.gateway.Status()
		}
		return m, tea.Batch(m.ui.wait, m.tick())
	case tickMsg:
		m.ticking = false
		return m, m.tick()
	case noticeMsg:
		m.notice = string(msg)
	case openMsg:
		if m.now() != msg.over || m.editing { // the next keys are meant for the current view
			m.notice = "the withheld definitions of " + msg.view.subject + " have arrived: a shows them"
			break
		}
		m.views = append(m.views, msg.view)
	case lendMsg:
		msg.ended = m.ctx.Done()
		return m, tea.Exec(msg.loan, nil)
	case tea.PasteMsg:
		if m.editing {
			m.now().filter += plaintext.Line(msg.Content, 100)
		}
	case tea.KeyPressMsg:
		return m, m.press(msg)
	}
	return m, nil
}

// tick returns a command that redraws the screen after a second if a call is running, because the
// call's time changes.
func (m *model) tick() tea.Cmd {
	if _, running := m.ui.calls.status(); !running || m.ticking {
		return nil
	}
	m.ticking = true
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{} })
}

func (m *model) now() *view { return m.views[len(m.views)-1] }

// press handles a key.
func (m *model) press(msg tea.KeyPressMsg) tea.Cmd {
	name, v := msg.String(), m.now()
	if name == "ctrl+z" {
		return stop()
	}
	if m.editing && name != "ctrl+c" {
		switch {
		case name == "enter":
			m.editing = false
		case name == "esc":
			m.editing, v.filter = false, ""
		case name == "backspace":
			_, size := utf8.DecodeLastRuneInString(v.filter)
			v.filter = v.filter[:len(v.filter)-size]
		default:
			v.filter += plaintext.Line(msg.Text, 100)
		}
		return nil
	}
	k := pressed(name, v.kind)
	if k == nil && name == "esc" && v.filter != "" {
		v.filter = ""
	}
	m.notice = ""
	_, m.seen = m.ui.lastPrinted()
	m.asked = m.asked && k != nil && (k.label == labelQuit || name == "ctrl+c")
	if k == nil {
		return nil
	}
	return k.do(m)
}

// text returns a function for the rows of a text, which is cleaned and wrapped.
func text(read func() string) func(width int) []row {
	return func(width int) (rows []row) {
		clean := strings.ReplaceAll(plaintext.Clean(strings.TrimRight(read(), "\n")), "\t", "    ")
		for line := range strings.SplitSeq(ansi.Wrap(clean, width, ""), "\n") {
			rows = append(rows, row{"", line})
		}
		return rows
	}
}

func (m *model) page(in kind, title, subject string, read func() string) *view {
	return &view{kind: in, title: title, subject: subject, rows: text(read)}
}

func (m *model) push(v *view) tea.Cmd {
	m.views = append(m.views, v)
	return nil
}

func (m *model) back() tea.Cmd {
	switch v := m.now(); {
	case v.filter != "":
		v.filter = ""
	case len(m.views) > 1:
		m.views = m.views[:len(m.views)-1]
	}
	return nil
}

// leave goes back to the previous view, or quits from the first one.
func (m *model) leave() tea.Cmd {
	if len(m.views) > 1 {
		return m.back()
	}
	return m.quit()
}

func (m *model) editFilter() tea.Cmd {
	m.editing = true
	return nil
}

func (m *model) quit() tea.Cmd {
	running := 0
	if m.gateway != nil {
		for _, s := range m.gateway.Status().Servers {
			running += s.Running
		}
	}
	if running > 0 && !m.asked {
		m.asked, m.notice = true, fmt.Sprintf("%s of clients running: q again ends them, any other key continues", plaintext.Count(running, "request"))
		return nil
	}
	return tea.Quit
}

// selected returns the id of the row with the cursor, or "".
func (m *model) selected() string {
	rows := m.rows()
	if len(rows) == 0 {
		return ""
	}
	return rows[m.cursor(rows)].id
}

// about returns the server to which a key applies.
func (m *model) about() (server string, is bool) {
	server = m.now().subject
	if m.now().kind == ofServers {
		server = m.selected()
	}
	return server, server != ""
}

func (m *model) openLog() tea.Cmd {
	server, is := m.about()
	if !is {
		return nil
	}
	v := m.page(ofLog, "Log of "+server, server, func() string {
		if lines := m.gateway.Log(server); len(lines) > 0 {
			return strings.Join(lines, "\n")
		}
		return "The server wrote nothing to its standard error."
	})
	v.follow = true
	return m.push(v)
}

func (m *model) openCall() tea.Cmd {
	if key := m.selected(); key != "" {
		return m.push(m.page(ofText, "Call", key, func() string { return m.ui.calls.text(key) }))
	}
	return nil
}

func (m *model) callsView() *view {
	return &view{kind: ofCalls, heading: callsHeading, rows: m.ui.calls.rows, follow: true}
}

func (m *model) openCalls() tea.Cmd { return m.push(m.callsView()) }

func (m *model) toggleEvery() tea.Cmd {
	m.ui.calls.toggleEvery()
	return nil
}

func (m *model) openMessages() tea.Cmd {
	v := m.page(ofText, "Messages", "", func() string {
		if lines := append(slices.Clone(m.status.Remarks), m.ui.printed()...); len(lines) > 0 {
			return strings.Join(lines, "\n")
		}
		return "There are no messages."
	})
	v.follow = true
	return m.push(v)
}

func (m *model) openHelp() tea.Cmd {
	in := m.now().kind
	return m.push(&view{kind: ofText, title: "Keys", rows: func(width int) []row { return help(in, width) }})
}

func (m *model) openHosts() tea.Cmd {
	hosts := m.gateway.Hosts()
	return m.push(&view{kind: ofHosts, title: "Enter connects a host on this machine. For other clients, copy this:", rows: func(width int) (rows []row) {
		for _, h := range hosts {
			rows = append(rows, row{h.Name, cells(width, cell{24, h.Name, ""}, cell{width, plaintext.ShellWords(h.Command[1:]), faint})})
		}
		return append(append(rows, row{}), text(m.gateway.Connect)(width)...)
	}})
}

// connect runs the command that connects a host. The command uses the terminal while the screen is
// hidden.
func (m *model) connect() tea.Cmd {
	hosts := m.gateway.Hosts()
	at := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == m.selected() })
	if at < 0 {
		return nil
	}
	c := m.ui.options.Place.Command(m.ctx, hosts[at].Command[0], hosts[at].Command[1:]...)
	return tea.Exec(&paper{ended: m.ctx.Done(), command: c}, func(err error) tea.Msg {
		if err != nil {
			return noticeMsg(fmt.Sprintf("%s was not connected: %v", hosts[at].Name, err))
		}
		return noticeMsg(hosts[at].Name + " is connected")
	})
}

// print shows the instructions for clients on the terminal, where the user can copy them. It hides
// the screen until the user returns.
func (m *model) print() tea.Cmd {
	return tea.Exec(&paper{ended: m.ctx.Done(), text: m.gateway.Connect()}, nil)
}

func (m *model) restart() tea.Cmd {
	server, is := m.about()
	if !is {
		return nil
	}
	return func() tea.Msg {
		if err := m.gateway.Restart(server); err != nil {
			return noticeMsg(err.Error())
		}
		return noticeMsg(server + " restarts")
	}
}

func (m *model) openReview() tea.Cmd {
	server, is := m.about()
	if !is {
		return nil
	}
	over := m.now()
	return func() tea.Msg {
		shown, hash, err := m.gateway.Unapproved(m.ctx, server)
		switch {
		case err != nil:
			return noticeMsg(err.Error())
		case hash == "":
			return noticeMsg(server + " has no withheld definitions")
		}
		v := m.page(ofReview, "Withheld of "+server+": y approves this", server, func() string { return shown })
		v.hash = hash
		return openMsg{over, v}
	}
}

func (m *model) approve() tea.Cmd {
	v := m.now()
	if v.filter != "" {
		v.filter, m.notice = "", "you have seen the whole text: y approves it"
		return nil
	}
	if more := len(v.rows(m.width)) - v.drawn; more > 0 {
		m.notice = fmt.Sprintf("%s more below: Space shows them, then y approves", plaintext.Count(more, "line"))
		return nil
	}
	m.views = m.views[:len(m.views)-1]
	return func() tea.Msg {
		if err := m.gateway.Approve(m.ctx, v.subject, v.hash); err != nil {
			return noticeMsg(err.Error())
		}
		return noticeMsg("approved; " + v.subject + " offers it within a second")
	}
}

// rows returns the rows of the current view that match its filter.
func (m *model) rows() []row {
	v := m.now()
	rows := v.rows(m.width)
	if v.filter == "" {
		return rows
	}
	wanted := strings.ToLower(v.filter)
	return slices.DeleteFunc(rows, func(r row) bool { return !strings.Contains(strings.ToLower(ansi.Strip(r.text)), wanted) })
}

// isList reports whether the view has a cursor.
func (v *view) isList() bool { return v.kind&(ofServers|ofCalls|ofHosts) != 0 }

// cursor returns the index of the row with the cursor.
func (m *model) cursor(rows []row) int {
	v := m.now()
	if v.follow {
		return len(rows) - 1
	}
	if at := slices.IndexFunc(rows, func(r row) bool { return r.id == v.chosen && r.id != "" }); at >= 0 {
		return at
	}
	return 0
}

// moves returns a function that moves the cursor of a list, or scrolls a text, by a number of
// lines.
func moves(by int) func(m *model) tea.Cmd {
	return func(m *model) tea.Cmd {
		v, rows := m.now(), m.rows()
		if len(rows) == 0 {
			return nil
		}
		at, last := v.top, max(0, len(rows)-m.room())
		if v.isList() {
			at, last = m.cursor(rows), len(rows)-1
			for v.kind == ofHosts && last > 0 && rows[last].id == "" {
				last--
			}
		} else if v.follow {
			at = last
		}
		at = min(max(at+by, 0), last)
		if v.kind&(ofCalls|ofLog|ofText) != 0 {
			v.follow = at == last && by > 0
		}
		if v.isList() {
			v.chosen = rows[at].id
		} else {
			v.top = at
		}
		return nil
	}
}

// View implements [tea.Model].
func (m *model) View() tea.View {
	top, bottom := m.above(), m.below()
	v, rows := m.now(), m.rows()
	room := m.roomFor(top, bottom)
	cursor := -1
	switch last := max(0, len(rows)-room); {
	case v.isList():
		if cursor = m.cursor(rows); cursor < v.top {
			v.top = max(0, cursor)
		}
		v.top = min(max(v.top, cursor-room+1), last)
	case v.follow:
		v.top = last
	default:
		v.top = min(v.top, last)
	}
	if v.filter == "" {
		v.drawn = max(v.drawn, min(v.top+room, len(rows)))
	}
	if note := &bottom[len(bottom)-2]; *note == "" && v.top+room < len(rows) {
		*note = faint.text(plaintext.Count(len(rows)-v.top-room, "line") + " below")
	}
	lines := top
	for i := v.top; i < v.top+room; i++ {
		line := ""
		if i < len(rows) {
			line = rows[i].text
		}
		if i == cursor && i < len(rows) && rows[i].id != "" {
			line = ansi.Strip(line)
			line = invert.text(line + strings.Repeat(" ", max(0, m.width-ansi.StringWidth(line))))
		}
		lines = append(lines, line)
	}
	lines = append(lines, bottom...)
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], m.width, "…")
	}
	screen := tea.NewView(strings.Join(lines[:min(len(lines), max(1, m.height))], "\n"))
	screen.AltScreen = true
	screen.WindowTitle = "junction"
	return screen
}

// room returns the number of rows that fit on the screen.
func (m *model) room() int { return m.roomFor(m.above(), m.below()) }

func (m *model) roomFor(top, bottom []string) int { return max(1, m.height-len(top)-len(bottom)) }

// above returns the lines above the rows.
func (m *model) above() (lines []string) {
	v := m.now()
	if m.gateway != nil {
		lines = append(lines, bold.text(cells(m.width, cell{m.width, "junction serves at " + m.status.Endpoint, ""})))
	}
	switch {
	case v.kind == ofServers:
		lines = append(lines, cells(m.width, cell{m.width, m.status.Summary + " · " + m.ui.Summary(), ""}))
	case v.kind == ofCalls:
		title := "Calls of clients: " + m.ui.Summary()
		if hidden, _ := m.ui.calls.status(); hidden > 0 {
			title += fmt.Sprintf("; o shows %d others", hidden)
		}
		lines = append(lines, bold.text(title))
	default:
		lines = append(lines, bold.text(cells(m.width, cell{m.width, v.title, ""})))
	}
	if v.heading != nil {
		lines = append(lines, faint.text(v.heading(m.width)))
	}
	return lines
}

// below returns the lines below the rows. The last but one is a message or is empty.
func (m *model) below() (lines []string) {
	v := m.now()
	if v.kind == ofServers {
		at := slices.IndexFunc(m.status.Servers, func(s Server) bool { return s.Name == m.selected() })
		if at >= 0 && m.status.Servers[at].Problem != "" {
			s := m.status.Servers[at]
			said := strings.Split(terminal.Wrap(s.Name+": "+plaintext.Line(s.Problem, 1_000), 0, m.width), "\n")
			lines = said[:min(len(said), 3, max(1, m.height/5))]
		}
	}
	last, printed := m.ui.lastPrinted()
	switch {
	case m.editing:
		lines = append(lines, "/"+v.filter+invert.text(" "))
	case m.notice != "":
		lines = append(lines, bold.text(cells(m.width, cell{m.width, m.notice, ""})))
	case v.filter != "":
		lines = append(lines, cells(m.width, cell{m.width, fmt.Sprintf("only lines with %q; Esc shows all", v.filter), ""}))
	case printed > m.seen:
		lines = append(lines, yellow.text(cells(m.width, cell{m.width, last, ""})))
	case len(m.status.Remarks) > 0:
		lines = append(lines, yellow.text(cells(m.width, cell{m.width, m.status.Remarks[0], ""})))
	default:
		lines = append(lines, "")
	}
	return append(lines, footer(v.kind, m.width, len(m.views) == 1))
}

// The columns in the list of servers with their largest widths. The last column gets the remaining
// width.
var serverColumns = []struct {
	name string
	most int
}{{"server", 24}, {"state", 16}, {"tools", 18}, {"calls", 16}, {"last call", 9}, {"problem", 0}}

// serverTable returns the heading and the rows of the list of servers.
func (m *model) serverTable(width int) (heading string, rows []row) {
	tallies := m.ui.calls.tallies()
	var table [][]string
	for _, s := range m.status.Servers {
		tools, calls, last := fmt.Sprint(s.Tools), "", ""
		if s.Withheld > 0 {
			tools += fmt.Sprintf(", %d withheld", s.Withheld)
		}
		if t := tallies[s.Name]; t.calls > 0 {
			calls, last = fmt.Sprint(t.calls), t.last.Local().Format(time.TimeOnly)
			if t.failed > 0 {
				calls += fmt.Sprintf(", %d failed", t.failed)
			}
		}
		table = append(table, []string{s.Name, s.State, tools, calls, last, s.Problem})
	}
	var head []cell
	for i, c := range serverColumns {
		wide := len(c.name)
		for _, texts := range table {
			wide = max(wide, min(c.most, ansi.StringWidth(plaintext.Line(texts[i], c.most))))
		}
		head = append(head, cell{wide, c.name, ""})
	}
	head[len(head)-1].width = width
	for n, s := range m.status.Servers {
		line := slices.Clone(head)
		for i := range line {
			line[i].text = table[n][i]
		}
		switch {
		case s.Failed:
			line[1].paint = red
		case s.State == "connected":
			line[1].paint = green
		case s.State == "starting", s.State == "not responding":
			line[1].paint = yellow
		}
		rows = append(rows, row{s.Name, cells(width, line...)})
	}
	return cells(width, head...), rows
}
