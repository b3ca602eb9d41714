package main

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
	maxHistory     = 500      // lines that are remembered
	maxHistoryLine = 16 << 10 // bytes of one; what is longer stands in the conversation only
)

// talk shows the screen.
func (t *chatSetup) talk(ctx context.Context) error {
	models := newModelSwitch(t.app.Place, t.flags, t.options.Model)
	t.options.Model = models
	files, closeFiles := files(t.app.Place)
	defer closeFiles()
	options := tui.Options{
		Theme: t.flags.theme, NoColor: t.app.Getenv("NO_COLOR") != "", Trace: t.flags.trace,
		History: t.history(ctx), Remember: t.rememberLine, SaveMedia: func(server string, tool string, m model.Media) (string, error) {
			return saveMedia(t.app, server, tool, m)
		},
		Greeting: t.greeting(), Example: t.example, Models: models, Files: files, Clipboard: func(ctx context.Context) ([]byte, error) { return clipboardPicture(ctx, t.app.Place) }, NoAlerts: t.flags.noAlerts,
		Notes: t.notes(), Permissions: t.permissions, OnDisk: onDisk(t.app.Place, t.folders()), Console: t.console,
	}
	if t.flags.plain {
		t.plain(&options)
	}
	ui, err := tui.New(options)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	t.back = t.divert(ui)
	if t.flags.plain {
		t.app.Stops.Set(ui.Interrupt)
	}
	tell := ui.Event
	if options.Out != nil {
		tell = t.answersTo(t.app.Out, tell)
	}
	if err := t.open(ui, tell); err != nil {
		return err
	}
	id, err := t.chosen(ctx)
	if err != nil {
		return err
	}
	session, err := tui.Attach(ctx, t.host, t.store(), id)
	if err != nil {
		return storedFault(id, err)
	}
	shown, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	cause := error(host.ErrLeft) // a program that is ended leaves its tasks
	if t.archive == nil {
		cause = context.Canceled // but not where nobody would know of them
	}
	defer context.AfterFunc(ctx, func() { leave(cause) })()
	if err = ui.Run(shown, session); errors.Is(err, cause) {
		err = context.Cause(ctx)
	}
	leave(nil)
	if saved := session.Saved(); saved.ID != "" && saved.Questions > 0 {
		_, now := models.now()
		if e := t.archive.SetSetup(ctx, saved.ID, t.start(now)); e != nil {
			t.app.Logger().Debug("the conversation goes on with the model that it began with", "error", e)
		}
		t.farewell = "To go on with this conversation: junction chat --resume=" + saved.ID + t.unkept() + "\n"
	}
	return cli.Orderly(ctx, err)
}

// console opens the console in the person's browser, if there is one, and returns a link to it.
func (t *chatSetup) console(ctx context.Context) (string, error) {
	return watch.ConsoleLink(ctx, t.app, true)
}

// plain has the conversation go on line by line. Where standard output is no terminal, it gets
// the answers, and standard error all else.
func (t *chatSetup) plain(o *tui.Options) {
	o.Plain = true
	o.Greeting = strings.TrimSpace(o.Greeting + "\n\nAsk something; /help lists commands, Ctrl+D leaves.")
	if !t.app.Out.Terminal() {
		o.Out = os.Stderr
	}
}

// answersTo writes each answer, as the model wrote it.
func (t *chatSetup) answersTo(out io.Writer, tell func(host.Event)) func(host.Event) {
	return func(e host.Event) {
		tell(e)
		if e.Answered != nil && e.Answered.Text != "" {
			_, _ = io.WriteString(out, strings.TrimRight(e.Answered.Text, "\n")+"\n") // a reader that went away ends the program by its signal
		}
	}
}

// history are the lines that were typed before.
func (t *chatSetup) history(ctx context.Context) []string {
	if t.archive == nil {
		return nil
	}
	value, err := t.archive.Memory().Get(ctx, historyKey)
	var lines []string
	if err != nil || value == nil || json.Unmarshal(value, &lines) != nil {
		return nil
	}
	return lines
}

func (t *chatSetup) rememberLine(line string) {
	if t.archive == nil || len(line) > maxHistoryLine {
		return
	}
	err := t.archive.Memory().Update(context.Background(), historyKey, func(value json.RawMessage) (json.RawMessage, error) {
		var lines []string
		if value != nil && json.Unmarshal(value, &lines) != nil {
			lines = nil
		}
		lines = append(lines, line)
		return json.Marshal(lines[max(0, len(lines)-maxHistory):])
	})
	if err != nil {
		t.app.Logger().Debug("the line is not remembered", "error", err)
	}
}

// saveMedia keeps an image, a sound or a file of a result in the current folder's
// junction-media, which nobody else can read, and returns where.
func saveMedia(a *cli.App, server, tool string, m model.Media) (string, error) {
	folder := a.Path("junction-media")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	name := time.Now().Format("20060102-150405") + "-" + host.ServerName(server) + "-" + host.ServerName(tool)
	return show.SaveTo(folder+"/")(strings.ReplaceAll(name, ".", "-"), m.Type, m.Data)
}
