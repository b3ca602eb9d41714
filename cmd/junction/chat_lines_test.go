package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/model/offline"
)

func TestAConversationLineByLine(t *testing.T) {
	h, err := host.New(host.Options{Model: offline.New()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	typed := strings.Join([]string{"", "/help", "/keep", "/keep the deadline is Friday", "/review nowhere", "/none", "/etc/hosts: what is it?", "  "}, "\n")
	var out bytes.Buffer
	screen := terminal.NewScreen(&out)
	a := &app{out: screen, screen: screen, person: terminal.NewPerson(strings.NewReader(typed), screen)}
	c := h.Conversation(nil)
	if err := a.lines(t.Context(), c); err != nil {
		t.Errorf("at the end of the input: %v", err)
	}
	for _, want := range []string{"/review SERVER", "/keep of what?", `there is no server "nowhere"`, "there is no command /none; /help lists them", "I am not a language model"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said:\n%s", want, out.String())
		}
	}
	if notes := c.Notes(); len(notes) != 1 || notes[0] != "the deadline is Friday" || c.Totals().Requests != 1 {
		t.Errorf("kept %q, after %d requests", notes, c.Totals().Requests)
	}
}
