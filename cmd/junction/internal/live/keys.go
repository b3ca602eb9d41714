package live

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// A kind is the kind of a view. A key works in views of certain kinds.
type kind uint8

const (
	ofServers kind = 1 << iota
	ofCalls
	ofLog
	ofReview
	ofHosts
	ofText
	anywhere kind = 1<<iota - 1
)

const (
	labelBack = "back"
	labelQuit = "quit"
)

// A key is a key that the user can press.
type key struct {
	names []string // names of the key; the first one is shown
	shown string   // text to show instead of the name; often empty
	in    kind     // kinds of views in which the key works
	label string   // text in the footer; empty for a key that the footer omits
	help  string
	do    func(m *model) tea.Cmd
}

// keys returns all keys in the order of the footer.
func keys() []key {
	return []key{
		{names: []string{"enter"}, in: ofServers, label: "log", help: "show what the server writes to its standard error", do: (*model).openLog},
		{names: []string{"enter"}, in: ofCalls, label: "open", help: "show the arguments, the result and all messages of the call", do: (*model).openCall},
		{names: []string{"enter"}, in: ofHosts, label: "connect", help: "connect the host; the change is shown first", do: (*model).connect},
		{names: []string{"p"}, in: ofHosts, label: "print", help: "print the configuration, to be copied", do: (*model).print},
		{names: []string{"y"}, in: ofReview, label: "approve this", help: "approve exactly what is shown", do: (*model).approve},
		{names: []string{"l"}, in: ofServers, help: "as Enter", do: (*model).openLog},
		{names: []string{"r"}, in: ofServers | ofLog, label: "restart", help: "restart the server", do: (*model).restart},
		{names: []string{"a"}, in: ofServers, label: "approve", help: "show the withheld definitions of the server; y approves them", do: (*model).openReview},
		{names: []string{"t"}, in: ofServers, label: "traffic", help: "show the calls, one line each", do: (*model).openCalls},
		{names: []string{"c"}, in: ofServers, label: "connect", help: "connect Cursor, Claude and other clients", do: (*model).openHosts},
		{names: []string{"m"}, in: ofServers, label: "messages", help: "show all messages of Junction", do: (*model).openMessages},
		{names: []string{"o"}, in: ofCalls, label: "others", help: "show or hide lists, handshakes and pings", do: (*model).toggleEvery},
		{names: []string{"/"}, in: anywhere, label: "filter", help: "show only lines that contain a text; Esc shows all", do: (*model).editFilter},
		{names: []string{"?"}, in: anywhere &^ ofText, label: "help", help: "show the keys", do: (*model).openHelp},
		{names: []string{"esc", "backspace", "left"}, in: anywhere &^ ofServers, label: labelBack, help: "go back, or remove the filter", do: (*model).back},
		{names: []string{"q"}, in: anywhere, label: labelQuit, help: "go back; from the first view, quit; press twice if calls are running", do: (*model).leave},
		{names: []string{"ctrl+c"}, shown: "Ctrl+C", in: anywhere, help: "quit; press twice if calls are running", do: (*model).quit},
		{names: []string{"up", "k"}, shown: "Up, k", in: anywhere, help: "go up a line", do: moves(-1)},
		{names: []string{"down", "j"}, shown: "Down, j", in: anywhere, help: "go down a line", do: moves(1)},
		{names: []string{"pgup", "ctrl+u"}, shown: "PgUp", in: anywhere, help: "go up a page", do: func(m *model) tea.Cmd { return moves(-m.room())(m) }},
		{names: []string{"pgdown", "ctrl+d", "space"}, shown: "PgDn", in: anywhere, help: "go down a page", do: func(m *model) tea.Cmd { return moves(m.room())(m) }},
		{names: []string{"home", "g"}, shown: "Home, g", in: anywhere, help: "go to the first line", do: moves(-1 << 30)},
		{names: []string{"end", "G"}, shown: "End, G", in: anywhere, help: "go to the last line, and stay there", do: moves(1 << 30)},
	}
}

func (k *key) name() string {
	if k.shown != "" {
		return k.shown
	}
	if len(k.names[0]) > 1 {
		return strings.ToUpper(k.names[0][:1]) + k.names[0][1:]
	}
	return k.names[0]
}

// footer returns the keys of a view for the last line: as many as fit, but always the last two.
// Only the first view has the key quit; the others have back in its place.
func footer(in kind, width int, root bool) string {
	var parts []string
	for _, k := range keys() {
		if k.in&in != 0 && k.label != "" && !(k.label == labelBack && root) && !(k.label == labelQuit && !root) {
			parts = append(parts, bold.text(k.name())+" "+k.label)
		}
	}
	const between = "  "
	for len(parts) > 2 && ansi.StringWidth(strings.Join(parts, between)) > width {
		parts = slices.Delete(parts, len(parts)-3, len(parts)-2)
	}
	return strings.Join(parts, between)
}

// pressed returns the key with a name in a view, or nil.
func pressed(name string, in kind) *key {
	all := keys()
	if at := slices.IndexFunc(all, func(k key) bool { return k.in&in != 0 && slices.Contains(k.names, name) }); at >= 0 {
		return &all[at]
	}
	return nil
}

// help returns a row for each key of a view.
func help(in kind, width int) (rows []row) {
	for _, k := range keys() {
		if k.in&in != 0 {
			rows = append(rows, row{"", cells(width, cell{9, k.name(), bold}, cell{width, k.help, ""})})
		}
	}
	return rows
}

// Documented returns the table of keys in the documentation, for junction up or for junction
// traffic.
func Documented(up bool) string {
	names := []string{"servers", "calls", "log", "approval", "connect", "texts"} // in the order of the kinds
	in := ofCalls | ofText
	if up {
		in = anywhere
	}
	var b strings.Builder
	b.WriteString("| key | in | does |\n|---|---|---|\n")
	for _, k := range keys() {
		var holds []string
		for bit, name := range names {
			if k.in&in&(1<<bit) != 0 {
				holds = append(holds, name)
			}
		}
		where := strings.Join(holds, ", ")
		if len(holds) > 2 || in != anywhere && len(holds) == 2 {
			where = "all"
		}
		if len(holds) > 0 {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(k.name(), ", ", "`, `"), where, k.help)
		}
	}
	return b.String()
}
