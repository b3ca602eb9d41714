package chat

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/model"
)

const (
	historyKey     = "chat.history"
	MaxHistory     = 500      // number of stored lines
	MaxHistoryLine = 16 << 10 // largest size of a stored line in bytes; longer ones are only in the conversation
)

// talk runs a conversation on the screen.
func (t *Setup) talk(ctx context.Context) error {
	models := NewModelSwitch(t.App.Place, t.Flags, t.Options.Model)
	t.Options.Model = models
	files, closeFiles := Files(t.App.Place)
	defer closeFiles()
	options := tui.Options{
		Theme: t.Flags.theme, NoColor: t.App.Getenv("NO_COLOR") != "", Trace: t.Flags.Trace,
		History: t.History(ctx), Remember: t.RememberLine, SaveMedia: func(server string, tool string, m model.Media) (string, error) {
			return SaveMedia(t.App, server, tool, m)
		},
		Greeting: t.Greeting(), Example: t.Example, Models: models, Files: files, Clipboard: func(ctx context.Context) ([]byte, error) { return ClipboardPicture(ctx, t.App.Place) }, NoAlerts: t.Flags.noAlerts,
		Notes: t.Notes(), Permissions: t.Permissions, OnDisk: FileReader(t.App.Place, t.Folders()), Console: t.console,
	}
	if t.Flags.Plain {
		t.SetPlain(&options)
	}
	ui, err := tui.New(options)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	t.back = t.divert(ui)
	if t.Flags.Plain {
		t.App.Stops.Set(ui.Interrupt)
	}
	tell := ui.Event
	if options.Out != nil {
		tell = t.AnswersTo(t.App.Out, tell)
	}
	if err := t.Open(ui, tell); err != nil {
		return err
	}
	id, err := t.chosen(ctx)
	if err != nil {
		return err
	}
	session, err := tui.Attach(ctx, t.Host, t.Store(), id)
	if err != nil {
		return storedFault(id, err)
	}
	shown, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	cause := error(host.ErrLeft) // ending the program does not cancel its tasks
	if t.Archive == nil {
		cause = context.Canceled // without an archive, the tasks could not be found again
	}
	defer context.AfterFunc(ctx, func() { leave(cause) })()
	if err = ui.Run(shown, session); errors.Is(err, cause) {
		err = context.Cause(ctx)
	}
	leave(nil)
	if saved := session.Saved(); saved.ID != "" && saved.Questions > 0 {
		_, now := models.Current()
		if e := t.Archive.SetSetup(ctx, saved.ID, t.Start(now)); e != nil {
			t.App.Logger().Debug("the conversation continues with the model that it began with", "error", e)
		}
		t.farewell = "To continue this conversation: junction chat --resume=" + saved.ID + t.ResumeWords() + "\n"
	}
	return cli.IgnoreInterrupt(ctx, err)
}

// console opens the console in the user's browser, if there is one, and returns a link to it.
func (t *Setup) console(ctx context.Context) (string, error) {
	return watch.ConsoleLink(ctx, t.App, true)
}

// SetPlain sets the options for a conversation line by line. If standard output is not a terminal,
// it gets only the answers, and all other text goes to standard error.
func (t *Setup) SetPlain(o *tui.Options) {
	o.Plain = true
	o.Greeting = strings.TrimSpace(o.Greeting + "\n\nAsk something; /help lists commands, Ctrl+D leaves.")
	if !t.App.Out.Terminal() {
		o.Out = os.Stderr
	}
}

// AnswersTo returns a function that calls tell for each event and writes each answer of the model
// to out.
func (t *Setup) AnswersTo(out io.Writer, tell func(host.Event)) func(host.Event) {
	return func(e host.Event) {
		tell(e)
		if e.Answered != nil && e.Answered.Text != "" {
			_, _ = io.WriteString(out, strings.TrimRight(e.Answered.Text, "\n")+"\n") // writing to a closed pipe ends the program by a signal
		}
	}
}

// History returns the lines that the user typed in earlier conversations.
func (t *Setup) History(ctx context.Context) []string {
	if t.Archive == nil {
		return nil
	}
	value, err := t.Archive.Memory().Get(ctx, historyKey)
	var lines []string
	if err != nil || value == nil || json.Unmarshal(value, &lines) != nil {
		return nil
	}
	return lines
}

// RememberLine stores a typed line. It drops the oldest lines beyond [MaxHistory].
func (t *Setup) RememberLine(line string) {
	if t.Archive == nil || len(line) > MaxHistoryLine {
		return
	}
	err := t.Archive.Memory().Update(context.Background(), historyKey, func(value json.RawMessage) (json.RawMessage, error) {
		var lines []string
		if value != nil && json.Unmarshal(value, &lines) != nil {
			lines = nil
		}
		lines = append(lines, line)
		return json.Marshal(lines[max(0, len(lines)-MaxHistory):])
	})
	if err != nil {
		t.App.Logger().Debug("the line is not remembered", "error", err)
	}
}

// SaveMedia saves an image, sound or file of a result in the folder junction-media and returns its
// path. Only this user can read the folder.
func SaveMedia(a *cli.App, server, tool string, m model.Media) (string, error) {
	folder := a.Path("junction-media")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	name := time.Now().Format("20060102-150405") + "-" + host.ServerName(server) + "-" + host.ServerName(tool)
	return show.SaveTo(folder+"/")(strings.ReplaceAll(name, ".", "-"), m.Type, m.Data)
}
