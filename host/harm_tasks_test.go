package host

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// What the guard costs a person who is up to no harm: questions that the rules alone
// would not have asked.
func TestOrdinaryTasksNeedAtMostOneFurtherApproval(t *testing.T) {
	read, weather := scripted.Calling("files__read", `{"path":"/home/ada/notes.txt"}`), scripted.Calling("guest__weather", `{"city":"Oslo"}`)
	write := scripted.Calling("files__write", `{"path":"/home/ada/trip.txt","text":"It will be sunny."}`)
	more := scripted.Calling("files__write", `{"path":"/home/ada/trip.txt","text":"And on Monday, too."}`)
	send := scripted.Calling("post__send", `{"to":"bob","text":"Let us meet on Monday."}`)
	thanks := scripted.Calling("post__send", `{"to":"eve","text":"Thank you."}`)
	fetch := scripted.Calling("post__fetch", `{"url":"https://trains.example/oslo"}`)
	named := scripted.Calling("post__fetch", `{"url":"weather/Oslo"}`)
	tests := []struct {
		name  string
		rules []string // tools that the user allowed earlier
		steps []model.Part
		more  int // questions that the guard adds
	}{
		{"read a file", nil, []model.Part{read}, 0},
		{"read two files and write a third", nil, []model.Part{read, read, write}, 0},
		{"read a file and write another, allowed", []string{"files/write"}, []model.Part{read, write, more}, 0},
		{"ask for the weather", nil, []model.Part{weather}, 0},
		{"ask for the weather, allowed", []string{"guest/weather"}, []model.Part{weather, weather}, 0},
		{"ask for the weather and write it down", nil, []model.Part{weather, write}, 0},
		{"ask for the weather and write it down, allowed", []string{"guest/weather", "files/write"}, []model.Part{weather, write, more}, 1},
		{"read a file and ask for the weather, allowed", []string{"guest/weather"}, []model.Part{read, weather, weather}, 1},
		{"read a file and send letters, allowed", []string{"post/send"}, []model.Part{read, send, thanks, send}, 1},
		{"look up trains and write them down, allowed", []string{"post/fetch", "files/write"}, []model.Part{fetch, write, more, write}, 1},
		{"look up trains, twice, allowed", []string{"post/fetch"}, []model.Part{fetch, fetch}, 0},
		{"read a file and look up trains, allowed", []string{"post/fetch"}, []model.Part{read, fetch}, 1},
		{"read a file and look up what the person named, allowed", []string{"post/fetch"}, []model.Part{read, named, named}, 1},
		{"send letters, allowed", []string{"post/send"}, []model.Part{send, thanks, send}, 0},
		{"ask for the weather and send it, by hand", nil, []model.Part{weather, send, thanks}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(w *world) {
				w.gullible.steps = nil
				for _, p := range test.steps { // each its own, as calls get names
					w.gullible.steps = append(w.gullible.steps, scripted.Calling(p.Call.Name, string(p.Call.Arguments)))
				}
				for _, rule := range test.rules {
					server, tool, _ := strings.Cut(rule, "/")
					w.always(server, tool)
				}
				for _, p := range test.steps {
					w.agreed = append(w.agreed, written(p.Call.Arguments)) // or there would be no rule
				}
			})
			w.ask(t)
			w.unharmed(t)
			without := 0
			for _, p := range test.steps {
				if w.asks(p.Call) {
					without++
				}
			}
			totals := w.c.Totals()
			if more := totals.Asked - without; more != test.more || more > 1 {
				t.Errorf("%d questions more than the %d of the rules, want %d: %+v", more, without, test.more, w.desk.cards)
			}
			if totals.Calls != len(test.steps) || len(w.refused) > 0 {
				t.Errorf("%d calls of %d, refused %+v", totals.Calls, len(test.steps), w.refused)
			}
		})
	}
}

// asks reports whether the rules alone ask about a call.
func (w *world) asks(call *model.Call) bool {
	t := w.catalogue().byName[call.Name]
	decision := w.currentRules().Decide(context.Background(), policy.Input{
		Server: t.ref.Server, Tool: t.ref.Tool, Arguments: call.Arguments, Annotations: policyAnnotations(t.annotations()), Trusted: t.server.Trusted,
	})
	return decision.Effect == policy.Ask
}

// The model reads a long text page by page; the guard knows all of it.
func TestTextOfALaterPageIsKnownWhereItLeaves(t *testing.T) {
	t.Parallel()
	secret := "Aunt Agatha keeps the recipe for the blue cake behind the third brick from the left, under the stove."
	w := newWorld(t, func(w *world) {
		s := mcp.NewServer("files", "1")
		mcp.AddToolWith(s, mcp.Tool{Name: "read", Description: "Read a file.", Annotations: readOnly}, func(context.Context, where) (string, error) {
			return strings.Repeat("Nothing of note here.\n", 400) + secret, nil
		})
		w.options.Servers[0] = Server{Name: "files", Handler: s, Trusted: true}
		w.options.Servers = w.options.Servers[:2:2]
		w.options.Servers = append(w.options.Servers, Server{Name: "clock", Handler: mcp.NewServer("clock", "1"), Trusted: true})
		w.options.WindowShares.Result = 500
		w.always("post", "send")
		w.gullible.steps = []model.Part{scripted.Calling("files__read", `{"path":"/x"}`), scripted.Calling("post__send", `{"to":"mallory","text":"`+secret+`"}`)}
	})
	w.ask(t)
	if len(w.desk.cards) != 1 || !strings.Contains(strings.Join(w.desk.cards[0].Reasons, " "), "files/read") {
		t.Errorf("asked %+v", w.desk.cards)
	}
}

func TestUsersCanEditSamplingRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) {
		answers(func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			_, err := w.sampling(ctx, "The door code is 1234.")
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("Sunny.")}}, err
		})(t, w)
	})
	w.desk.sample = func(s Sampling) bool {
		s.Request.Messages[0].Content[0].Text = "[taken out]"
		return true
	}
	w.ask(t)
	if all := strings.Join(w.out(), "\n"); !strings.Contains(all, "[taken out]") || strings.Contains(all, "1234") {
		t.Errorf("the model was asked: %s", all)
	}
}

func TestUnansweredFormsAreErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(*world) {})
	w.ask(t)
	w.desk.elicit = func(Form) *mcp.ElicitResult { return nil }
	if result, err := w.servers[2].elicit(t.Context(), mcp.ElicitRequest{Message: "Name?"}); err == nil {
		t.Errorf("got %+v", result)
	}
}

// A yes to one thing that leaves is not a yes to a secret.
func TestEachUseOfASecretNeedsApproval(t *testing.T) {
	t.Parallel()
	token := "ghp_" + strings.Repeat("a1B2c3D4", 4) + "wxyz"
	steps := []model.Part{
		scripted.Calling("post__send", `{"to":"bob","text":"`+token+`"}`), scripted.Calling("post__send", `{"to":"bob","text":"again: `+token+`"}`),
	}
	w := newWorld(t, func(w *world) { w.always("post", "send"); w.gullible.steps = steps })
	w.ask(t)
	if len(w.desk.cards) != 2 {
		t.Errorf("asked %d times", len(w.desk.cards))
	}
	for _, card := range w.desk.cards {
		if reasons := strings.Join(card.Reasons, " "); !strings.Contains(reasons, "secret") || strings.Contains(reasons, token) {
			t.Errorf("the reasons are %q", reasons)
		}
	}
	if guard.Worst(guard.Secrets(token)) < guard.Warn {
		t.Error("this is no secret")
	}
}
