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

// maxDiverted is how many texts can wait until the screen shows them in its log.
const maxDiverted = 256

// divert has what is written to standard error shown in the screen's log: anything
// else on the terminal would be written across the screen. What comes faster than it
// can be shown is left out. It returns what ends it.
func (t *ChatSetup) divert(ui *tui.UI) (back func()) {
	texts, ended := make(chan string, maxDiverted), make(chan struct{})
	go func() {
		defer close(ended)
		for text := range texts {
			ui.Event(Logged(text))
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

// Logged is a text of this program as a message of its log.
func Logged(text string) host.Event {
	level := mcp.LogInfo
	switch {
	case strings.HasPrefix(text, cli.LevelPrefix(slog.LevelError)):
		level = mcp.LogError
	case strings.HasPrefix(text, cli.LevelPrefix(slog.LevelWarn)):
		level = mcp.LogWarning
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i]) // the blanks between words are part of what they say
	}
	data, _ := json.Marshal(strings.TrimSpace(strings.Join(lines, " "))) // a text can always be written
	return host.Event{At: time.Now(), Log: &host.Logged{Server: "junction", Level: level, Data: data}}
}
