package main

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

const (
	historyKey = "chat.history"
	maxHistory = 500 // lines that are remembered
	maxListed  = 100 // conversations in the list on the screen
)

// talk shows the screen.
func (t *table) talk(ctx context.Context) error {
	ui, err := tui.New(tui.Options{
		Theme: t.flags.theme, NoColor: os.Getenv("NO_COLOR") != "", Trace: t.flags.trace,
		History: t.history(ctx), Remember: func(line string) { t.rememberLine(line) }, SaveMedia: saveMedia,
	})
	if err != nil {
		return &usageError{err}
	}
	if err := t.open(ctx, ui, ui.Event); err != nil {
		return err
	}
	return orderly(ctx, ui.Run(ctx, &session{table: t}))
}

// A session is a table as the screen sees it, where the conversation can change.
type session struct {
	*table
	mu sync.Mutex
}

func (s *session) Model() model.Info             { return s.host.Model().Info() }
func (s *session) Servers() []host.ServerTools   { return s.host.Servers() }
func (s *session) Tools() []host.ToolInfo        { return s.host.Tools() }
func (s *session) Prompts() []host.PromptRef     { return s.host.Prompts() }
func (s *session) Resources() []host.ResourceRef { return s.host.Resources() }
func (s *session) Templates() []host.TemplateRef { return s.host.Templates() }

func (s *session) Complete(ctx context.Context, server string, req mcp.CompletionRequest) (*mcp.Completion, error) {
	return s.host.Complete(ctx, server, req)
}

// current is the conversation, and its record where it is stored.
func (s *session) current() (*host.Conversation, *archive.Conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation, s.record
}

func (s *session) talking() *host.Conversation {
	c, _ := s.current()
	return c
}

func (s *session) Ask(ctx context.Context, q host.Question) error {
	_, err := s.talking().Ask(ctx, q)
	return err
}

func (s *session) Ledger() host.Ledger                        { return s.talking().Ledger() }
func (s *session) Totals() host.Totals                        { return s.talking().Totals() }
func (s *session) Keep(note string) error                     { return s.talking().Keep(note) }
func (s *session) Compact(ctx context.Context) error          { return s.talking().Compact(ctx) }
func (s *session) Entries() []host.Entry                      { return s.talking().Entries() }
func (s *session) Name(_ context.Context, title string) error { return s.talking().Name(title) }

func (s *session) Saved() tui.Saved {
	_, record := s.current()
	if record == nil {
		return tui.Saved{}
	}
	return saved(record.Meta())
}

func saved(m archive.Meta) tui.Saved {
	return tui.Saved{ID: m.ID, Title: m.Title, Changed: m.Changed, Questions: m.Questions, Cost: m.Cost}
}

func (s *session) New(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	return nil
}

func (s *session) Resume(ctx context.Context, id string) error {
	if s.archive == nil {
		return tui.ErrNotKept
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resume(ctx, id)
}

func (s *session) Fork(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record == nil {
		return tui.ErrNotKept
	}
	return s.forkOf(ctx, s.record.Meta().ID)
}

// Export writes the conversation to a file; its name says in which form.
func (s *session) Export(ctx context.Context, path string) (string, error) {
	_, record := s.current()
	if record == nil {
		return "", tui.ErrNotKept
	}
	id := record.Meta().ID
	if path == "" {
		path = "conversation-" + id + ".md"
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return path, s.archive.Export(ctx, id, formatOf(path), file)
}

// formatOf is the form in which a file of this name would be expected.
func formatOf(path string) archive.Format {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json":
		return archive.JSON
	case ".txt":
		return archive.Text
	}
	return archive.Markdown
}

func (s *session) List(ctx context.Context) ([]tui.Saved, error) {
	if s.archive == nil {
		return nil, tui.ErrNotKept
	}
	metas, err := s.archive.List(ctx, archive.Filter{Limit: maxListed})
	var all []tui.Saved
	for _, m := range metas {
		all = append(all, saved(m))
	}
	return all, err
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
	name := fmt.Sprintf("%s-%s-%s%s", time.Now().Format("20060102-150405.000"), serverName(server), serverName(tool), extension)
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	if _, err := file.Write(m.Data); err != nil {
		file.Close()
		return "", err
	}
	return filepath.Join(folder, name), file.Close()
}
