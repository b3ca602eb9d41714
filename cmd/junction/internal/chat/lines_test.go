package chat_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/remember"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/model/offline"
	"github.com/junction-mcp/junction/toolsearch"
)

// typed is what a conversation with --plain prints when these lines are typed.
func typed(t *testing.T, setup *chat.Setup, session tui.Session, lines ...string) string {
	t.Helper()
	options := tui.Options{Greeting: "Welcome.", Notes: setup.Notes()}
	setup.SetPlain(&options)
	var out bytes.Buffer
	options.In, options.Out = strings.NewReader(strings.Join(lines, "\n")), &out
	ui, err := tui.New(options)
	if err != nil {
		t.Fatal(err)
	}
	setup.Options.OnEvent = ui.Event
	if session == nil {
		h, err := host.New(setup.Options)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if session, err = tui.Attach(t.Context(), h, setup.Store(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := ui.Run(t.Context(), session); err != nil {
		t.Errorf("at the end of the input: %v", err)
	}
	return out.String()
}

func TestAConversationLineByLine(t *testing.T) {
	clitest.NoState(t)
	var answers bytes.Buffer
	setup := &chat.Setup{App: &cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Out: terminal.NewScreen(&answers)}}, Flags: &chat.Flags{Plain: true}, Search: toolsearch.New(toolsearch.Options{}), Options: host.Options{Model: offline.New()}}
	if err := setup.OpenArchive(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer setup.Archive.Close()
	for _, text := range []string{"Ada paints in green", "The bank\nis closed"} {
		if _, err := setup.Archive.Notes().Keep(t.Context(), remember.Note{At: time.Unix(2e9, 0), Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	out := typed(t, setup, nil, "", "/keep the deadline is Friday", "/review nowhere", "/none", "/etc/hosts: what is it?", "/notes bank", "1", "2", "/notes", "", "/rewind", "1")
	at := 0
	for _, want := range []string{
		"Welcome.", "/help lists commands, Ctrl+D leaves.", "kept in this conversation: the deadline is Friday", `there is no server "nowhere"`, "there is no command /none; /help lists them", "not a language model",
		"1  The bank is closed  note 2 · 2033-05-18", "2  delete it", "note 2 is deleted", "1  Ada paints in green",
		"1  /etc/hosts: what is it?", "Went back to before",
	} {
		next := strings.Index(out[at:], want)
		if next < 0 {
			t.Fatalf("%q is not said, or not in its turn:\n%s", want, out)
		}
		at += next
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("%q", out)
	}
}

// Where standard output is a file or a pipe, it gets what the model wrote and nothing else.
func TestAnswersGoToStandardOutput(t *testing.T) {
	var out bytes.Buffer
	setup := &chat.Setup{App: &cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Out: terminal.NewScreen(&out)}}}
	var o tui.Options
	setup.SetPlain(&o)
	heard := 0
	tell := setup.AnswersTo(setup.App.Out, func(host.Event) { heard++ })
	for _, e := range []host.Event{{Notice: &host.Notice{Text: "careful"}}, {Answered: &host.Answered{Text: "**42**\n"}}, {Answered: &host.Answered{Stop: "error"}}} {
		tell(e)
	}
	if out.String() != "**42**\n" || heard != 3 || o.Out == nil || !o.Plain {
		t.Errorf("%q, heard %d", out.String(), heard)
	}
}

func TestFlagsThatAConversationHasNoUseFor(t *testing.T) {
	for flag, want := range map[string]string{"--json": "--json needs a question", "--elicit=accept": "in a conversation you fill in forms yourself", "--theme=dark": "does not go with -p or --plain"} {
		screen := terminal.NewScreen(&bytes.Buffer{})
		a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Out: screen, Screen: screen, Person: terminal.NewPerson(strings.NewReader(""), screen)}})
		a.Desk.Screen = screen
		cmd := chat.Command(a)
		cmd.SetArgs([]string{"--plain", flag})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
