package add

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/registry"
)

// late is a user who agrees while another program writes into a file.
type late struct {
	scripted
	file string
	text string
}

func (l *late) Choose(context.Context, string, []launch.Choice) (string, error) {
	return "yes", os.WriteFile(l.file, []byte(l.text), 0o600)
}

func TestUnwrittenServerIsNotApproved(t *testing.T) {
	a, _ := withEcho(t, false)
	a.Launcher.Prompter = &late{scripted{answers: []string{"yes"}}, a.File, `{"mcpServers": {"unwritten": {"command": "other"}}}`}
	if r, err := a.Add(t.Context(), "npm:@x/echo@1.0.0", Options{Name: "unwritten", NoSandbox: true}); err == nil {
		t.Fatalf("it was added: %+v", r)
	}
	p, err := pins(place.Place{})
	if err != nil {
		t.Fatal(err)
	}
	if approved := p.Approved("unwritten"); len(approved) > 0 {
		t.Errorf("approved are %v", approved)
	}
}

func TestThePlaceForDataHasTheNameOfAVariable(t *testing.T) {
	for name, want := range map[string]bool{"NOTES_DATA_DIR": true, "\x1b[2Ja\nX_DATA_DIR": false, "DATA_DIR Add it? [y]es": false} {
		w := &addition{Adder: adder(t), name: "notes", program: &install.Program{Dir: t.TempDir()}, locked: &install.Locked{}, pkg: &registry.Package{EnvironmentVariables: []registry.Variable{{Name: name}}}}
		if d := w.placeForData(); (d != nil) != want {
			t.Errorf("%q: %+v", name, d)
		}
	}
}

func TestOnlyTheSettingsOfTheUserConfineAServer(t *testing.T) {
	a, _ := withEcho(t, false)
	project := filepath.Join(t.TempDir(), "junction.json")
	text := `{"mcpServers": {"echo": {"command": "npx", "args": ["-y", "@x/echo@1.0.0"]}}, "junction": {"servers": {"echo": {"sandbox": {"read": ["/etc"]}}}}}`
	if err := os.WriteFile(project, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &addition{Adder: a, configuration: project} // like a server that is upgraded
	if c, err := w.configured(); err != nil || c.Settings != nil {
		t.Errorf("the settings are %+v, %v", c.Settings, err)
	}
}
