package remember_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/host/remember"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// A person says yes to what is remembered and to nothing else.
type person struct {
	host.Person
	cards []host.ApprovalCard
}

func (p *person) Consent(_ context.Context, card host.ApprovalCard) (host.Verdict, error) {
	p.cards = append(p.cards, card)
	return host.Verdict{Allow: card.Tool == "remember"}, nil
}

// session is a run of a program whose notes are in a file: its model follows a script.
func session(t *testing.T, path string, turns ...scripted.Turn) (*person, *scripted.Model) {
	t.Helper()
	a, err := archive.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	own := mcp.NewServer("own", "1")
	remember.Add(own, a.Notes())
	shop := mcp.NewServer("shop", "1")
	add := func(name string, reads, open bool) {
		mcp.AddToolWith(shop, mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(reads), OpenWorldHint: new(open)}}, func(context.Context, struct{}) (string, error) { return name, nil })
	}
	add("page", true, true) // a stranger's
	add("order", false, false)
	rules, err := policy.Compile([]policy.Rule{{Effect: policy.Allow, Server: "shop"}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	who, m := new(person), scripted.New(turns...)
	h, err := host.New(host.Options{Model: m, Tools: own, Servers: []host.Server{{Name: "shop", Handler: shop, Trusted: true}}, Person: who, Policy: rules})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Conversation(nil).Ask(t.Context(), host.Question{Text: "go on"}); err != nil {
		t.Fatal(err)
	}
	return who, m
}

var (
	note   = scripted.Call("host__remember", `{"text":"Ada paints her kitchen in sage green"}`)
	look   = scripted.Call("host__recall", `{"words":"which colour for the kitchen"}`)
	order  = scripted.Call("shop__order", "")
	finish = scripted.Say("Done.")
)

func recalled(m *scripted.Model) string {
	messages := m.Requests()[1].Messages
	return messages[len(messages)-1].Parts[0].Result.Text()
}

func TestNotesAreRecalledInTheNextSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	who, _ := session(t, path, note, finish)
	if len(who.cards) != 1 || who.cards[0].Server != host.OwnServer {
		t.Errorf("to remember: cards %+v, want one", who.cards)
	}
	who, m := session(t, path, look, order, finish)
	if got := recalled(m); !strings.Contains(got, "sage green (note 1 of ") || len(who.cards) != 0 {
		t.Errorf("recalled %q, cards %+v", got, who.cards)
	}
	if _, m := session(t, path, scripted.Call("host__recall", `{"words":"bicycle"}`), finish); !strings.HasPrefix(recalled(m), "No note has these words") {
		t.Errorf("recalled %q", recalled(m))
	}
}

// A stranger's words that were remembered are a stranger's words when they come back: a
// model that acts on them asks, whatever rule allows the call.
func TestANoteThatAStrangerWroteIsStillTheirs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	session(t, path, scripted.Call("shop__page", ""), note, finish)
	who, _ := session(t, path, look, order, finish)
	if len(who.cards) != 1 || who.cards[0].Tool != "order" || !strings.Contains(strings.Join(who.cards[0].Reasons, " "), remember.From) {
		t.Errorf("cards %+v; want one for the order, which names what was remembered", who.cards)
	}
}

func TestNotesAreListedAndDeleted(t *testing.T) {
	a, err := archive.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	notes := a.Notes()
	for _, text := range []string{"the kitchen is green", `the "bath" is blue`, "50% of all walls"} {
		if _, err := notes.Keep(t.Context(), remember.Note{Text: text, Labels: guard.Private}); err != nil {
			t.Fatal(err)
		}
	}
	for words, want := range map[string]string{"": "3 2 1", `"bath"`: "2", "kitchen bath": "2 1", "of": "3 2 1", "zebra": ""} {
		found, err := notes.Find(t.Context(), words, 10)
		var ids []string
		for _, n := range found {
			ids = append(ids, n.ID)
		}
		if words == "kitchen bath" && strings.Join(ids, " ") == "1 2" {
			continue // they are as good
		}
		if got := strings.Join(ids, " "); got != want || err != nil {
			t.Errorf("%q: found %q, want %q (%v)", words, got, want, err)
		}
	}
	if err := notes.Delete(t.Context(), "3"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"3", "x", ""} {
		if err := notes.Delete(t.Context(), id); !errors.Is(err, archive.ErrNoNote) {
			t.Errorf("delete %q: %v", id, err)
		}
	}
	if id, err := notes.Keep(t.Context(), remember.Note{Text: "new"}); id != "4" || err != nil {
		t.Errorf("a new note is %q, %v: the number of one that was deleted must not come back", id, err)
	}
	if found, _ := notes.Find(t.Context(), "walls", 10); len(found) != 0 {
		t.Errorf("found what was deleted: %+v", found)
	}
}
