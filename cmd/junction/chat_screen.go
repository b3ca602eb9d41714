package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"time"

	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/model"
)

const (
	historyKey = "chat.history"
	maxHistory = 500 // lines that are remembered
)

// talk shows the screen.
func (t *table) talk(ctx context.Context) error {
	ui, err := tui.New(tui.Options{
		Theme: t.flags.theme, NoColor: os.Getenv("NO_COLOR") != "", Trace: t.flags.trace,
		History: t.history(ctx), Remember: t.rememberLine, SaveMedia: saveMedia,
		Greeting: t.greeting(),
	})
	if err != nil {
		return &usageError{err}
	}
	if err := t.open(ui, ui.Event); err != nil {
		return err
	}
	id, err := t.chosen(ctx)
	if err != nil {
		return err
	}
	session, err := tui.Attach(ctx, t.host, t.store(), id)
	if err != nil {
		return storedFault(err)
	}
	return orderly(ctx, ui.Run(ctx, session))
}

// history are the lines that were typed before.
func (t *table) history(ctx context.Context) []string {
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

func (t *table) rememberLine(line string) {
	if t.archive == nil {
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
		t.app.logger().Debug("the line is not remembered", "error", err)
	}
}

// saveMedia keeps an image, a sound or a file of a result in the current folder's
// junction-media, and returns where.
func saveMedia(server, tool string, m model.Media) (string, error) {
	const folder = "junction-media"
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	extension := ".bin"
	if known, err := mime.ExtensionsByType(m.Type); err == nil && len(known) > 0 {
		extension = known[len(known)-1]
	}
	file, err := fresh(root, fmt.Sprintf("%s-%s-%s", time.Now().Format("20060102-150405.000"), serverName(server), serverName(tool)), extension)
	if err != nil {
		return "", err
	}
	if _, err := file.Write(m.Data); err != nil {
		file.Close()
		return "", err
	}
	return filepath.Join(folder, filepath.Base(file.Name())), file.Close()
}

// maxSameName is how many files of one moment get names of their own.
const maxSameName = 1_000

// fresh makes a file that was not there, with a number in its name where it has to: one
// result can hold many images.
func fresh(root *os.Root, name, extension string) (*os.File, error) {
	number := ""
	for n := 2; ; n++ {
		file, err := root.OpenFile(name+number+extension, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) || n > maxSameName {
			return file, err
		}
		number = fmt.Sprintf("-%d", n)
	}
}
