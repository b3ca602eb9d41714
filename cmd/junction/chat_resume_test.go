package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/model"
)

func TestAConversationGoesOnWithItsModelAndItsServers(t *testing.T) {
	noState(t)
	withoutKeys(t)
	setenv(t, "MINE", "key-of-mine")
	var sent []string
	base := provider(t, &sent).URL + "/v1"
	chdir(t, t.TempDir())
	runs(t, "", "chat", "--model", "ollama:a", "--base-url", base, "--key-env", "MINE", "-p", "first", "filesystem").expect(t, cli.ExitOK, "hello", "")
	runs(t, "", "chat", "--resume", "-p", "second").expect(t, cli.ExitOK, "hello", "")
	last := sent[len(sent)-1]
	if !strings.Contains(last, "key-of-mine") || !strings.Contains(last, `"model":"a"`) || !strings.Contains(last, "first") || !strings.Contains(last, "second") {
		t.Errorf("asked %s", last)
	}
	if !strings.Contains(last, "filesystem__") || strings.Contains(last, "everything__") {
		t.Errorf("with the tools of other servers: %s", last)
	}
	runs(t, "", "chat", "--resume", "--model", "offline", "-p", "add 2 and 40", "everything").expect(t, cli.ExitOK, "42", "")
	chdir(t, t.TempDir())
	runs(t, "", "chat", "--resume", "-p", "third").expect(t, cli.ExitUsage, "", "in this folder there is no conversation to go on with")
}

func TestTheLastConversationOfAScreenIsNoneOfAScript(t *testing.T) {
	noState(t)
	chdir(t, t.TempDir())
	folder, err := placeOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	setup := &chat.Setup{App: cli.Ready(&cli.App{Place: placeOf(t), IO: cli.IO{Screen: terminal.NewScreen(os.Stderr)}}), Flags: &chat.Flags{}}
	if setup.Search, err = setup.Flags.Search.Open(placeOf(t)); err != nil {
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
	list, err := chat.Store{Place: placeOf(t), Archive: setup.Archive, Model: "m", Start: ""}.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Title != "screen" || list[0].Folder != "" {
		t.Errorf("listed %+v, %v", list, err)
	}
}

func TestWhatIsNotKeptOfACommandLineIsSaid(t *testing.T) {
	for _, test := range []struct {
		names, line []string
		want, kept  string
	}{
		{[]string{"files"}, nil, "", `"servers":["files"]`},
		{[]string{"files", "https://user:secret@example.com/mcp"}, nil, " https://user:secret@example.com/mcp", ""},
		{[]string{"files"}, []string{"npx", "-y", "a server"}, ` files -- npx -y "a server"`, ""},
	} {
		setup := &chat.Setup{App: &cli.App{Place: placeOf(t)}, Flags: &chat.Flags{}, Names: test.names, Line: test.line}
		if got := setup.ResumeWords(); got != test.want {
			t.Errorf("%q %q: %q", test.names, test.line, got)
		}
		if got := setup.Start(chat.ModelFlags{BaseURL: "https://key@example.com", KeyFrom: "FOUND"}); !strings.Contains(got, test.kept) || strings.Contains(got, "@example.com") || strings.Contains(got, "FOUND") {
			t.Errorf("%q: kept %s", test.names, got)
		}
	}
}

func TestAFileThatAQuestionOnTheCommandLineNamesIsSaidNotToGoAlong(t *testing.T) {
	noState(t)
	chdir(t, t.TempDir())
	if err := os.WriteFile(in(t, "notes.txt"), []byte("milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "chat", "-p", "echo see @notes.txt and @nobody").expect(t, cli.ExitOK, "see @notes.txt", "@notes.txt is only a text here; --attach notes.txt has the file go along")
}
