package chat_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/model"
)

func TestTheLastConversationOfAScreenIsNoneOfAScript(t *testing.T) {
	clitest.NoState(t)
	clitest.Chdir(t, t.TempDir())
	folder, err := clitest.PlaceOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	setup := &chat.Setup{App: reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Screen: terminal.NewScreen(os.Stderr)}}), Flags: &chat.Flags{}}
	if setup.Search, err = setup.Flags.Search.Open(clitest.PlaceOf(t)); err != nil {
		t.Fatal(err)
	}
	if err := setup.OpenArchive(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer setup.Archive.Close()
	said := model.UserText("hello")
	for _, onScreen := range []bool{true, false} {
		setup.Flags.OnScreen = onScreen
		c := setup.Archive.New(archive.Meta{Folder: folder, Title: map[bool]string{true: "screen", false: "script"}[onScreen], Setup: setup.Start(chat.ModelFlags{})})
		if err := c.Append(host.Entry{At: time.Now(), Message: &said}); err != nil {
			t.Fatal(err)
		}
	}
	for onScreen, want := range map[bool]string{true: "screen", false: "script"} {
		setup.Flags.OnScreen = onScreen
		if m, err := setup.Last(t.Context()); err != nil || m.Title != want {
			t.Errorf("on a screen %v: %q, %v", onScreen, m.Title, err)
		}
	}
	list, err := chat.Store{Place: clitest.PlaceOf(t), Archive: setup.Archive, Model: "m", Start: ""}.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Title != "screen" || list[0].Folder != "" {
		t.Errorf("listed %+v, %v", list, err)
	}
}

func TestUnsavedFlagsAreReported(t *testing.T) {
	for _, test := range []struct {
		names, line []string
		want, kept  string
	}{
		{[]string{"files"}, nil, "", `"servers":["files"]`},
		{[]string{"files", "https://user:secret@example.com/mcp"}, nil, " https://user:secret@example.com/mcp", ""},
		{[]string{"files"}, []string{"npx", "-y", "a server"}, ` files -- npx -y "a server"`, ""},
	} {
		setup := &chat.Setup{App: &cli.App{Place: clitest.PlaceOf(t)}, Flags: &chat.Flags{}, Names: test.names, Line: test.line}
		if got := setup.ResumeWords(); got != test.want {
			t.Errorf("%q %q: %q", test.names, test.line, got)
		}
		if got := setup.Start(chat.ModelFlags{BaseURL: "https://key@example.com", KeyFrom: "FOUND"}); !strings.Contains(got, test.kept) || strings.Contains(got, "@example.com") || strings.Contains(got, "FOUND") {
			t.Errorf("%q: kept %s", test.names, got)
		}
	}
}
