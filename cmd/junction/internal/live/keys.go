package live

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// A kind is that of a view; keys hold in some.
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

// A key is one that the user can press.
type key struct {
	names []string // the first is shown
	shown string   // in place of it; often empty
	in    kind     // the views in which it holds
	label string   // in the footer; empty: it is not there
	help  string
	do    func(m *model) tea.Cmd
}

// keys are all of them, in the order of the footer.
func keys() []key {
	return []key{
		{names: []string{"enter"}, in: ofServers, label: "log", help: "show what the server writes to its standard error", do: (*model).openLog},
		{names: []string{"enter"}, in: ofCalls, label: "open", help: "show the arguments, the result and all messages of the call", do: (*model).openCall},
		{names: []string{"enter"}, in: ofHosts, label: "connect", help: "connect the host; it is shown first what is written", do: (*model).connect},
		{names: []string{"p"}, in: ofHosts, label: "print", help: "print what is to be pasted, so that it can be copied", do: (*model).print},
		{names: []string{"y"}, in: ofReview, label: "approve this", help: "approve exactly what is shown", do: (*model).approve},
		{names: []string{"l"}, in: ofServers, help: "as Enter", do: (*model).openLog},
		{names: []string{"r"}, in: ofServers | ofLog, label: "restart", help: "restart the server", do: (*model).restart},
		{names: []string{"a"}, in: ofServers, label: "approve", help: "show what is withheld of the server; y approves it then", do: (*model).openReview},
		{names: []string{"t"}, in: ofServers, label: "traffic", help: "show the calls, one line each, while they go", do: (*model).openCalls},
		{names: []string{"c"}, in: ofServers, label: "connect", help: "show how Cursor, Claude and other clients are connected", do: (*model).openHosts},
		{names: []string{"m"}, in: ofServers, label: "messages", help: "show what Junction said since it began", do: (*model).openMessages},
		{names: []string{"/"}, in: anywhere, label: "filter", help: "show only lines with a text; Esc ends that", do: (*model).editFilter},
		{names: []string{"?"}, in: anywhere &^ ofText, label: "help", help: "show the keys", do: (*model).openHelp},
		{names: []string{"esc", "backspace", "left"}, in: anywhere &^ ofServers, label: labelBack, help: "go back, or take the filter away", do: (*model).back},
		{names: []string{"q"}, in: anywhere, label: labelQuit, help: "go back; from the first view quit, once more if calls are running", do: (*model).leave},
		{names: []string{"ctrl+c"}, shown: "Ctrl+C", in: anywhere, help: "quit; once more if calls are running", do: (*model).quit},
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

// footer names the keys of a view, as many as fit, and in any case the last two. The first view has quit in place of back.
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

// pressed returns the key of this name in a view; nil if there is none.
func pressed(name string, in kind) *key {
	all := keys()
	if at := slices.IndexFunc(all, func(k key) bool { return k.in&in != 0 && slices.Contains(k.names, name) }); at >= 0 {
		return &all[at]
	}
	return nil
}

// help is a line for each key that holds in a view.
func help(in kind, width int) (rows []row) {
	for _, k := range keys() {
		if k.in&in != 0 {
			rows = append(rows, row{"", cells(width, cell{9, k.name(), bold}, cell{width, k.help, ""})})
		}
	}
	return rows
}

// Documented returns the table of the keys as documentation has it, of junction up or of junction traffic.
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
