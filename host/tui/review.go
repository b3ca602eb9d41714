package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/approval"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxWarned is the number of a server's warnings in the list. The details have all of them.
const maxWarned = 2

// reviewCard asks the user to review the definitions of servers before the model sees them. It
// lists each server in a line or two, and shows all definitions of one server on demand.
type reviewCard struct {
	pending
	servers  []reviewedServer // those with warnings first
	selected int
	same     string // line about tools with equal names
	brief    bool   // all servers are in one line and get one answer
	open     bool   // the details of the selected server are shown
	trusting bool   // the user chooses how long to trust the selected server
	reading  bool   // the user is asked whether the silent tools of the selected server only read
	list     scroll
}

// reviewedServer is a server of the list.
type reviewedServer struct {
	host.Review
	at       int // index in the reviews of the question
	overview approval.Overview
	seen     bool // its details were shown
	decided  bool
	said     host.ReviewAnswer
}

// calm reports whether the server can be approved without a look at its details: it is new and has
// no warnings.
func (r *reviewedServer) calm() bool { return !r.decided && r.First && r.overview.Found == 0 }

func newReviewCard(a *ask, reviews []host.Review) card {
	c := &reviewCard{pending: pending{ask: a}, same: approval.SameNames(reviews)}
	for i, r := range reviews {
		c.servers = append(c.servers, reviewedServer{Review: r, at: i, overview: approval.Of(r)})
	}
	slices.SortStableFunc(c.servers, func(a, b reviewedServer) int { return min(1, b.overview.Found) - min(1, a.overview.Found) })
	c.brief = len(reviews) > 1 && !slices.ContainsFunc(c.servers, func(r reviewedServer) bool { return !r.calm() })
	if len(reviews) == 1 && !reviews[0].First {
		c.open, c.servers[0].seen = true, true // a change must be read
	}
	return c
}

func (c *reviewCard) press(s *screen, k keypress) bool {
	switch {
	case len(c.servers) == 0:
		return c.done()
	case c.brief:
		c.pressBrief(s, k)
	case c.trusting && (k.text == "s" || k.text == "a"):
		c.decide(s, c.selected, host.ReviewAnswer{Approve: true, Trust: true, Forever: k.text == "a"})
		c.trusting = false
	case c.reading && k.text == "y":
		c.decide(s, c.selected, host.ReviewAnswer{Approve: true, Reads: true})
		c.reading = false
	case c.trusting || c.reading:
		if k.name == "esc" {
			c.trusting, c.reading = false, false
		}
	case (k.text == "y" || k.text == "t" || c.asksAboutSilent(k)) && !c.servers[c.selected].First && !c.servers[c.selected].seen, !c.open && (k.name == "enter" || k.text == "d"):
		c.open, c.servers[c.selected].seen, c.laid, c.scroll = true, true, body{}, scroll{}
	case k.text == "y":
		c.decide(s, c.selected, host.ReviewAnswer{Approve: true})
	case k.text == "n":
		c.decide(s, c.selected, host.ReviewAnswer{})
	case k.text == "t":
		c.trusting = true
	case c.asksAboutSilent(k):
		c.reading = true
	case c.open:
		if k.name == "esc" || k.name == "enter" || k.text == "d" {
			c.open = false
		} else {
			c.scroll.move(k.name)
		}
	case k.text == "A":
		for i := range c.servers {
			if c.servers[i].calm() {
				c.decide(s, i, host.ReviewAnswer{Approve: true})
			}
		}
	case k.name == "esc":
		for i := range c.servers {
			c.decide(s, i, c.servers[i].said)
		}
	default:
		c.choose(k)
	}
	return c.done()
}

// pressBrief answers for all servers at once, or opens the list.
func (c *reviewCard) pressBrief(s *screen, k keypress) {
	switch c.brief = false; {
	case k.text == "y" || k.text == "A" || k.text == "n" || k.name == "esc":
		for i := range c.servers {
			c.servers[i].decided, c.servers[i].said.Approve = true, k.text == "y" || k.text == "A"
		}
		mark, what := ink.T(ink.Good, "✓ "), " approved: "+c.names(len(c.servers))
		if !c.servers[0].said.Approve {
			mark, what = ink.T(ink.Bad, "✗ "), " refused: "+c.names(len(c.servers))
			if s.session != nil {
				what += " (/review SERVER shows one again)"
			}
		}
		text := ink.Line{ink.T(ink.Plain, plural(len(c.servers), "server", "servers"), ink.Bold), ink.T(ink.Muted, what)}
		s.print(ink.Indent(ink.Wrap(text, s.width-2), ink.Line{mark}, ink.Of("  "))...)
	case k.name != "enter" && k.text != "d":
		c.press(s, k) // handle the key in the list
	}
}

// names returns the first most names of the servers.
func (c *reviewCard) names(most int) string {
	var names []string
	for _, r := range c.servers {
		names = append(names, plaintext.Line(r.Server, 60))
	}
	return approval.Names(names, most)
}

// briefLines returns the card with all servers in one line.
func (c *reviewCard) briefLines(s *screen, width, height int) []ink.Line {
	var all host.Review
	for _, r := range c.servers {
		all.Items = append(all.Items, r.Items...)
	}
	text := c.names(manyItems) + ". " + approval.Of(all).Counts + ". Nothing looks suspicious."
	foot := s.foot(width, "", fmt.Sprintf("y approve all %d", len(c.servers)), "n refuse all", "d Enter look at each")
	return framed(c.title(s), ink.Lines(ink.Plain, text, width), &c.list, foot, width, height)
}

// asksAboutSilent reports whether a key asks about the silent tools of the selected server, and
// there are any.
func (c *reviewCard) asksAboutSilent(k keypress) bool {
	return k.text == "r" && len(c.servers[c.selected].overview.Silent) > 0
}

// choose selects another server.
func (c *reviewCard) choose(k keypress) {
	to := c.selected
	switch k.name {
	case "up":
		to--
	case "down", "tab":
		to++
	default:
		if n, ok := numberOf(k.text, len(c.servers)); ok {
			to = n - 1
		} else if !c.list.move(k.name) {
			return
		}
	}
	c.selected = max(0, min(to, len(c.servers)-1))
}

// decide records the answer for a server and selects the next one.
func (c *reviewCard) decide(s *screen, i int, said host.ReviewAnswer) {
	r := &c.servers[i]
	if r.decided {
		return
	}
	r.decided, r.said = true, said
	c.open = false
	if next := slices.IndexFunc(c.servers, func(r reviewedServer) bool { return !r.decided }); next >= 0 {
		c.selected = next
	}
	mark, what := ink.T(ink.Good, "✓ "), " approved: "+r.overview.Counts
	switch {
	case said.Trust && said.Forever:
		what = " approved and trusted (saved in your policy): " + r.overview.Counts
	case said.Reads:
		what = fmt.Sprintf(" approved, and you confirmed that %s only read: %s", plural(len(r.overview.Silent), "tool", "tools"), r.overview.Counts)
	case said.Trust:
		what = " approved, and trusted for this session: " + r.overview.Counts
	case !said.Approve:
		mark, what = ink.T(ink.Bad, "✗ "), " refused: the model cannot use it"
		ofServer := func(i host.ReviewItem) bool { return i.Kind == "command" || i.Kind == "version" } // refusing one of these refuses the whole server
		if !r.First && !slices.ContainsFunc(r.Items, ofServer) {
			what = " refused: the model uses the rest of it, without " + r.overview.Counts
		}
		if s.session != nil {
			what += " (/review " + r.Server + " shows it again)"
		}
	}
	line := ink.Line{ink.T(ink.Plain, r.Server, ink.Bold), ink.T(ink.Muted, what)}
	s.print(ink.Indent(ink.Wrap(line, s.width-2), ink.Line{mark}, ink.Of("  "))...)
}

// done sends the answers once every server has one.
func (c *reviewCard) done() bool {
	answers := make([]host.ReviewAnswer, len(c.servers))
	for _, r := range c.servers {
		if !r.decided {
			return false
		}
		answers[r.at] = r.said
	}
	c.ask.answer(answers)
	return true
}

func (c *reviewCard) lines(s *screen, width, height int) []ink.Line {
	if c.brief {
		return c.briefLines(s, width, height)
	}
	if c.open {
		text := c.laid.of(width, func(width int) []ink.Line {
			return append(c.row(c.selected, width, false), reviewDetails(&c.servers[c.selected].Review, width)...)
		})
		foot := c.askFoot(s, width)
		if foot == nil {
			foot = s.foot(width, "", append(c.answerKeys(), scrollKeys, "d Enter Esc back")...)
		}
		return framed(c.title(s), text, &c.scroll, foot, width, height)
	}
	keys := append(c.answerKeys(), "d Enter details")
	calm := 0
	for i := range c.servers {
		if c.servers[i].calm() {
			calm++
		}
	}
	if calm > 0 && len(c.servers) > 1 {
		keys = append(keys, fmt.Sprintf("A approve all %d without warnings", calm))
	}
	if len(c.servers) > 1 {
		keys = append(keys, "↑↓ Tab 1 2 3 … choose")
	}
	if s.byLine && len(c.servers) > 1 {
		keys = append(keys, "N refuse all", "1 and so on: choose")
	}
	foot := c.askFoot(s, width)
	if foot == nil {
		foot = s.foot(width, "", append(keys, "Esc refuse")...)
	}
	c.list.rows = max(1, height-1-len(foot))
	text, at := c.rows(width, false)
	if len(text) > c.list.rows {
		text, at = c.rows(width, true)
	}
	if at < c.list.at || at >= c.list.at+c.list.rows-1 {
		c.list.at = max(0, at-c.list.rows/2)
	}
	return framed(c.title(s), text, &c.list, foot, width, height)
}

func (c *reviewCard) title(s *screen) string {
	switch {
	case len(c.servers) > 1 && !slices.ContainsFunc(c.servers, func(r reviewedServer) bool { return !r.First }):
		return fmt.Sprintf("%d new servers: let the model use them?", len(c.servers))
	case len(c.servers) > 1:
		return fmt.Sprintf("%d servers are new or changed: let the model use them?", len(c.servers))
	case len(c.servers) == 0:
		return "nothing to review"
	}
	title := fmt.Sprintf("New server “%s”: let the model use it?", c.servers[0].Server)
	if !c.servers[0].First {
		title = fmt.Sprintf("Server “%s” changed: let the model use it?", c.servers[0].Server)
	}
	if n := c.remaining(s); n > 0 {
		title += fmt.Sprintf(" (%d more to review)", n)
	}
	return title
}

// rows returns the lines of all servers and the line number of the selected one. If crowded is set,
// each warning is cut to a line. Each server but the selected one is then cut to a line and its
// first warning.
func (c *reviewCard) rows(width int, crowded bool) (text []ink.Line, at int) {
	if c.same != "" {
		text = ink.Lines(ink.Muted, plaintext.Line(c.same, 300), width)
	}
	for i := range c.servers {
		if i == c.selected {
			at = len(text)
		}
		text = append(text, c.row(i, width, crowded)...)
	}
	return text, at
}

// row returns the lines of a server: its definitions, its command, and its warnings.
func (c *reviewCard) row(i, width int, crowded bool) []ink.Line {
	r, o := &c.servers[i], &c.servers[i].overview
	mark := ink.T(ink.Accent, "  ")
	if i == c.selected && len(c.servers) > 1 {
		mark = ink.T(ink.Accent, "▸ ", ink.Bold)
	}
	head := ink.Line{ink.T(ink.Plain, plaintext.Line(r.Server, 60), ink.Bold), ink.T(ink.Plain, "  "+plaintext.Line(o.Line(), 200))}
	switch {
	case r.said.Approve:
		head = append(head, ink.T(ink.Good, "  approved"))
	case r.decided:
		head = append(head, ink.T(ink.Bad, "  refused"))
	case !o.First && len(c.servers) > 1:
		head = append(head, ink.T(ink.Warn, "  changed"))
	}
	margin := ink.Of("    ")
	lines := ink.Indent(ink.Wrap(head, width-2), ink.Line{mark}, margin)
	warned, excerpt, brief := maxWarned, 300, crowded && i != c.selected
	if crowded {
		excerpt = width - 6
	}
	if brief {
		warned = 1
	}
	if o.Command != "" && !brief { // complete, because this is what will run
		lines = append(lines, ink.Indent(ink.Barred(ink.Line{ink.T(ink.Code, plaintext.Unbroken(o.Command))}, width-4), margin, margin)...)
	}
	for n, text := range o.Warnings {
		if r.decided || brief && n == warned {
			break
		}
		if n == warned {
			lines = append(lines, ink.Line{margin[0], ink.T(ink.Bad, fmt.Sprintf("! %s of other kinds: d shows them", plural(len(o.Warnings)-n, "warning", "warnings")))}.Cut(width))
			break
		}
		lines = append(lines, ink.Indent(ink.Lines(ink.Bad, plaintext.Line(text, excerpt), width-6), ink.Line{margin[0], ink.T(ink.Bad, "! ", ink.Bold)}, ink.Of("      "))...)
	}
	return lines
}

// answerKeys returns the descriptions of the keys that decide about the selected server.
func (c *reviewCard) answerKeys() []string {
	r := &c.servers[c.selected]
	keys := []string{"y approve", "n refuse", "t approve and trust…"}
	if !r.First && !r.seen { // a change must be read
		keys[0] = "y details, then approve"
	}
	if n := len(r.overview.Silent); n > 0 {
		keys = append(keys, fmt.Sprintf("r approve, %d only read…", n))
	}
	return keys
}

// maxSilent is the number of silent tools that are named.
const maxSilent = 12

// askFoot returns the question about trust or about silent tools, with its consequences, or nil if
// neither is open.
func (c *reviewCard) askFoot(s *screen, width int) []ink.Line {
	r := &c.servers[c.selected]
	switch {
	case c.trusting:
		text := "Trust “" + plaintext.Line(r.Server, 60) + "”? Its annotations are taken as true, and its definitions and changes are not reviewed. Text from outside of it stays untrusted."
		return append(ink.Lines(ink.Warn, text, width), s.foot(width, "s for this session, a permanently, with its present command; Enter goes back", "s for this session", "a permanently, with its present command", "Esc back")...)
	case c.reading:
		text := "“" + plaintext.Line(r.Server, 60) + "” does not declare what these do: " + plaintext.Line(approval.Names(r.overview.Silent, maxSilent), 1_000) +
			". Are you sure that all of them only read? If you confirm, they run without a question, like read-only tools, until one changes."
		return append(ink.Lines(ink.Warn, text, width), s.foot(width, "y they only read; Enter goes back", "y they only read", "Esc back")...)
	}
	return nil
}

// remaining returns the number of servers that are reviewed after this one.
func (c *reviewCard) remaining(s *screen) int {
	n := 0
	for _, t := range slices.Backward(s.servers) {
		if t.Server == c.servers[0].Server {
			break
		}
		if t.State == host.StateUnapproved {
			n++
		}
	}
	return n
}

// reviewDetails returns all definitions of a server, the worst first.
func reviewDetails(r *host.Review, width int) []ink.Line {
	items := slices.Clone(r.Items)
	slices.SortStableFunc(items, func(a, b host.ReviewItem) int {
		return int(guard.Worst(b.Findings)) - int(guard.Worst(a.Findings))
	})
	var lines []ink.Line
	calm := slices.IndexFunc(items, func(it host.ReviewItem) bool { return len(it.Findings) == 0 })
	for i := range items {
		if i == calm && len(items)-calm > manyItems {
			lines = append(lines, contents(items[calm:], width)...)
		}
		lines = append(lines, reviewItem(&items[i], width)...)
	}
	return lines
}

// manyItems is the number of definitions from which a list of their names comes first.
const manyItems = 6

// contents returns a list of the following definitions' names, by kind.
func contents(items []host.ReviewItem, width int) []ink.Line {
	lines := []ink.Line{nil}
	for len(items) > 0 {
		kind := items[0].Kind
		var names []string
		for _, it := range items {
			if it.Kind == kind && it.Name != "" {
				names = append(names, plaintext.Line(it.Name, 100))
			}
		}
		items = slices.DeleteFunc(slices.Clone(items), func(it host.ReviewItem) bool { return it.Kind == kind })
		if len(names) > 0 {
			lines = append(lines, about(plural(len(names), kind, strings.TrimSuffix(kind, "s")+"s"), ink.Plain, strings.Join(names, ", "), width)...)
		}
	}
	return lines
}

func reviewItem(it *host.ReviewItem, width int) []ink.Line {
	mark, what := ink.T(ink.Added, "+ ", ink.Bold), "new "
	if it.Changed {
		mark, what = ink.T(ink.Warn, "~ ", ink.Bold), "changed "
	}
	head := ink.Line{mark, ink.T(ink.Muted, what+it.Kind+" "), ink.T(ink.Plain, plaintext.Unbroken(it.Name), ink.Bold)}
	lines := append([]ink.Line{nil}, ink.Barred(head, width)...)
	for _, f := range it.Findings {
		role := ink.Warn
		if f.Severity >= guard.Block {
			role = ink.Bad
		}
		lines = append(lines, ink.Indent(ink.Lines(role, approval.Finding(&f), width-4), ink.Line{ink.T(role, "  ! ", ink.Bold)}, ink.Of("    "))...)
	}
	margin := ink.Of("  ")
	body := diffLines
	if !it.Changed {
		body = fieldLines
	}
	return append(lines, ink.Indent(body(it.Text, width-2), margin, margin)...)
}

// diffLines returns a diff as lines.
func diffLines(text string, width int) []ink.Line {
	var lines []ink.Line
	for row := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		role := ink.Plain
		switch {
		case strings.HasPrefix(row, "+++ ") || strings.HasPrefix(row, "--- ") || strings.HasPrefix(row, "@@ "):
			role = ink.Muted
		case strings.HasPrefix(row, "+"):
			role = ink.Added
		case strings.HasPrefix(row, "-"):
			role = ink.Removed
		}
		lines = append(lines, ink.Barred(ink.Line{ink.T(role, row)}, width)...)
	}
	return lines
}

// fieldLines returns a whole definition: its fields, with indented lines and with JSON laid out.
func fieldLines(text string, width int) []ink.Line {
	if isObject(text) {
		return jsonLines([]byte(text), width)
	}
	var lines []ink.Line
	rows := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(rows); {
		lines = append(lines, ink.Barred(ink.Line{ink.T(ink.Plain, rows[i])}, width)...)
		i++
		from := i
		for i < len(rows) && strings.HasPrefix(rows[i], "  ") {
			i++
		}
		block := rows[from:i]
		if joined := strings.Join(block, "\n"); isObject(joined) {
			lines = append(lines, ink.Indent(jsonLines([]byte(joined), width-2), ink.Of("  "), ink.Of("  "))...)
			continue
		}
		for _, row := range block {
			lines = append(lines, ink.Barred(ink.Line{ink.T(ink.Plain, row)}, width)...)
		}
	}
	return lines
}

func isObject(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && jsonrpc.Valid([]byte(text), jsonrpc.Limits{}) == nil
}
