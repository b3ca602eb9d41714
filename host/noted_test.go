package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// heardNotes are the notes of all calls, each with what the call is about.
type heardNotes struct {
	mu  sync.Mutex
	all []string
}

type heardCall struct {
	of   string
	list *heardNotes
}

func (h *heardNotes) observer(server, method, name string) mcp.NoteObserver {
	return heardCall{strings.Join([]string{server, method, name}, " "), h}
}

func (c heardCall) Note(kind string, note any) {
	text, err := json.Marshal(note)
	if err != nil {
		text = []byte(err.Error())
	}
	c.list.mu.Lock()
	defer c.list.mu.Unlock()
	c.list.all = append(c.list.all, fmt.Sprintf("%s: %s %s", c.of, kind, text))
}

// What the model asks for is noted with what was decided, what it could carry away, and what it brought.
func TestTheLabelsOfACallAreNoted(t *testing.T) {
	web := mcp.NewServer("web", "1")
	mcp.AddToolWith(web, mcp.Tool{Name: "page", Annotations: readOnly}, func(context.Context, words) (string, error) { return "Hello.", nil })
	mcp.AddToolWith(web, mcp.Tool{Name: "send", Annotations: writes}, func(context.Context, words) (string, error) { return "sent", nil })
	web.AddResource(mcp.Resource{URI: "note:1", Name: "one"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "note:1", Text: "A note."}}}, nil
	})
	rules, err := policy.Compile([]policy.Rule{{Name: "reading", Effect: policy.Allow, Tool: "page"}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	heard := &heardNotes{}
	s := play(t, Options{Servers: []Server{{Name: "web", Handler: web, Public: true}}, Policy: rules, NoteObserver: heard.observer},
		scripted.Reply(scripted.Calling("web__page", "")),
		scripted.Reply(scripted.Calling("web__send", `{"text":"x"}`)),
		scripted.Reply(scripted.Calling("read_resource", `{"server":"web","uri":"note:1"}`)),
		scripted.Say("Done."))
	s.desk.consent = func(c ApprovalCard) Verdict { return Verdict{Allow: c.Resource != ""} }
	ask(t, s.Conversation(nil), "read and send")
	for i := range heard.all { // the words of reasons are others' to test
		before, after, found := strings.Cut(heard.all[i], `"reason":"`)
		if _, rest, more := strings.Cut(after, `","by"`); found && more {
			heard.all[i] = before + `"by"` + rest
		}
	}
	want := []string{
		`web tools/call page: labels {"of":"call","labels":"none"}`,
		`web tools/call page: policy {"server":"web","effect":"allow","said":"allow","rule":"\"reading\"","by":"policy"}`,
		`web tools/call page: labels {"of":"result","labels":"untrusted","sources":["web/page"]}`,
		`web tools/call send: labels {"of":"call","labels":"untrusted","sources":["web/page"]}`,
		`web tools/call send: policy {"server":"web","effect":"deny","said":"ask","rule":"\"default\" (built-in)","by":"person"}`,
		`web resources/read note:1: labels {"of":"call","labels":"untrusted","sources":["web/page"]}`,
		`web resources/read note:1: policy {"server":"web","effect":"allow","said":"ask","rule":"\"default\" (built-in)","by":"person"}`,
		`web resources/read note:1: labels {"of":"result","labels":"untrusted","sources":["web: note:1"]}`,
	}
	if !slices.Equal(heard.all, want) {
		t.Errorf("heard\n%s\nwant\n%s", strings.Join(heard.all, "\n"), strings.Join(want, "\n"))
	}
}

func TestCallsWithoutAnObserver(t *testing.T) {
	var wrote []string
	s := play(t, Options{Tools: clock(&wrote), NoteObserver: func(string, string, string) mcp.NoteObserver { return nil }}, scripted.Reply(scripted.Calling("host__now", "")), scripted.Say("Noon."))
	ask(t, s.Conversation(nil), "what time is it?")
	if results := s.results(t); len(results) != 1 || results[0].Text() != "noon" {
		t.Errorf("results %v", results)
	}
}
