package main

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// reader holds every tool to only read of which its server does not say what it does.
type reader struct{ host.Person }

func (reader) Review(_ context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	answers := make([]host.ReviewAnswer, len(reviews))
	for i := range answers {
		answers[i] = host.ReviewAnswer{Approve: true, Reads: true}
	}
	return answers, nil
}

// What is explained is what would become of the call, also where the person said what the server does not.
func TestExplainTreatsHeldToolsAsReading(t *testing.T) {
	clitest.NoState(t)
	state := t.TempDir()
	clitest.Setenv(t, "JUNCTION_STATE", state)
	s := mcp.NewServer("db", "1")
	mcp.AddToolWith(s, mcp.Tool{Name: "query", Title: "Query", Description: "Ask the database.", Annotations: &mcp.ToolAnnotations{Title: "Ask"}},
		func(context.Context, struct{}) (string, error) { return "a row", nil })
	web := httptest.NewServer(streamable.Handler(s))
	defer web.Close()
	explain := func() string { return runs(t, "", "policy", "explain", web.URL, "query").stdout }
	if got := explain(); !strings.HasPrefix(got, "ASK:") {
		t.Errorf("before: %s", got)
	}
	pins, err := guard.Load(filepath.Join(state, "pins.json"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Options{
		Model: scripted.New(scripted.Say("hello")), Pins: pins, Person: reader{},
		Servers: []host.Server{{Name: web.URL, Handler: s, Origin: []string{web.URL}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Conversation(nil).Ask(t.Context(), host.Question{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if got := explain(); !strings.HasPrefix(got, "ALLOW:") {
		t.Errorf("after: %s", got)
	}
	setup := &chat.Setup{App: &cli.App{Place: clitest.PlaceOf(t)}}
	setup.Options.Pins = pins
	if all := setup.ApprovedPermissions(); len(all) != 1 || !strings.HasSuffix(all[0].What, "; you confirmed that these only read: query") {
		t.Errorf("listed are %+v", all)
	}
}
