package chat

import (
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/mcp"
)

// maxDiverted is the largest number of texts that wait to be shown in the screen's log.
const maxDiverted = 256

// divert shows the text for standard error in the screen's log, because the screen uses the
// terminal. It drops texts that arrive faster than they can be shown. back ends the diversion.
func (t *Setup) divert(ui *tui.UI) (back func()) {
	texts, ended := make(chan string, maxDiverted), make(chan struct{})
	go func() {
		defer close(ended)
		for text := range texts {
			ui.Event(LogEvent(text))
		}
	}()
	restore := t.App.Screen.Divert(func(text string) {
		select {
		case texts <- text:
		default:
		}
	})
	return func() {
		restore()
		close(texts)
		<-ended
	}
}

// LogEvent returns a log event with a text of this program.
func LogEvent(text string) host.Event {
	level := mcp.LogInfo
	switch {
	case strings.HasPrefix(text, cli.LevelPrefix(slog.LevelError)):
		level = mcp.LogError
	case strings.HasPrefix(text, cli.LevelPrefix(slog.LevelWarn)):
		level = mcp.LogWarning
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i]) // blanks between words stay
	}
	data, _ := json.Marshal(strings.TrimSpace(strings.Join(lines, " "))) // encoding strings cannot fail
	return host.Event{At: time.Now(), Log: &host.Logged{Server: "junction", Level: level, Data: data}}
}
