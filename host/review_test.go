package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// restless is a server whose tool look has another definition after every call of
// tick, and a model that calls tick so often and then answers.
func restless() (Server, *scripted.Model) {
	srv, n := mcp.NewServer("s", "1"), 0
	change := func() {
		n++
		mcp.AddToolWith(srv, mcp.Tool{Name: "look", Description: fmt.Sprintf("Look, version %d.", n), Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "seen", nil })
	}
	change()
	mcp.AddToolWith(srv, mcp.Tool{Name: "tick", Description: "Tick.", Annotations: readOnly}, func(context.Context, struct{}) (int, error) {
		srv.RemoveTool("look")
		change()
		synctest.Wait()
		return n, nil
	})
	steps := 0
	m := scripted.Always(func(context.Context, *model.Request) (*model.Response, error) {
		if steps++; steps%6 == 0 {
			return &model.Response{Message: model.Message{Parts: []model.Part{{Text: "done"}}}}, nil
		}
		return &model.Response{Message: model.Message{Parts: []model.Part{scripted.Calling("s__tick", "")}}}, nil
	}).As(model.Info{Language: true})
	return Server{Name: "s", Handler: srv}, m
}

// A server that changes at every step does not ask at every step.
func TestReviewsOfAServerThatKeepsChangingAreBounded(t *testing.T) {
	for _, agreed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			server, m := restless()
			person := &desk{review: func(r Review) bool { return r.First || agreed }}
			s := play(t, Options{Model: m, Person: person, Servers: []Server{server}})
			defer s.Close()
			c := s.Conversation(nil)
			ask(t, c, "look five times")
			ask(t, c, "and five times more")
			if len(person.reviews) != 1+maxReviews {
				t.Errorf("agreed %v: the person was asked %d times", agreed, len(person.reviews))
			}
			if got := s.notices(NoticeTools); len(got) != maxToolNotices || !strings.Contains(got[maxToolNotices-1], "not every change is reported") {
				t.Errorf("reported %q", got)
			}
			if got := s.notices(NoticeReviews); len(got) != 1 || !strings.Contains(got[0], "set aside") {
				t.Errorf("reported %q", got)
			}
			last := m.Requests()[len(m.Requests())-1]
			if got := namesOf(last.Tools); slices.Contains(got, "s__look") || !slices.Contains(got, "s__tick") {
				t.Errorf("the model has %v", got)
			}
		})
	}
}

func TestRefusalsCanBeWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, m := restless()
		agreed := false
		person := &desk{review: func(r Review) bool { return r.First || agreed }}
		s := play(t, Options{Model: m, Person: person, Servers: []Server{server, calculator()}})
		defer s.Close()
		c := s.Conversation(nil)
		ask(t, c, "look five times")
		before := len(person.reviews)
		for name, want := range map[string]string{"nowhere": "there is no server", "calc": "nothing to review"} {
			if err := c.ReviewAgain(name); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := c.ReviewAgain("s"); err != nil {
			t.Fatal(err)
		}
		agreed = true
		ask(t, c, "and five times more")
		if len(person.reviews) != before+maxReviews {
			t.Errorf("the person was asked %d times more", len(person.reviews)-before)
		}
		first := m.Requests()[6] // of the second question
		if got := namesOf(first.Tools); !slices.Contains(got, "s__look") {
			t.Errorf("the model has %v", got)
		}
	})
}

// Another conversation begins to count anew.
func TestReviewsAreCountedByConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, m := restless()
		s := play(t, Options{Model: m, Servers: []Server{server}})
		defer s.Close()
		ask(t, s.Conversation(nil), "look five times")
		before := len(s.desk.reviews)
		ask(t, s.Conversation(nil), "and once more")
		if len(s.desk.reviews) != before+maxReviews {
			t.Errorf("the person was asked %d times more", len(s.desk.reviews)-before)
		}
	})
}

// reviewer is a person who gives these answers to a review.
type reviewer struct {
	desk
	answers []bool
	trusts  bool // and a yes comes with trust, for good
	err     error
}

func (r *reviewer) Review(ctx context.Context, reviews []Review) ([]ReviewAnswer, error) {
	if _, err := r.desk.Review(ctx, reviews); err != nil {
		return nil, err
	}
	var answers []ReviewAnswer
	for _, yes := range r.answers {
		answers = append(answers, ReviewAnswer{Approve: yes, Trust: yes && r.trusts, Forever: true})
	}
	return answers, r.err
}

func TestAReviewCanTrustAServer(t *testing.T) {
	var kept []string
	person := &reviewer{answers: []bool{true}, trusts: true}
	srv := mcp.NewServer("files", "1")
	mcp.AddToolWith(srv, mcp.Tool{Name: "look", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "seen", nil })
	s := play(t, Options{Person: person, Servers: []Server{{Name: "files", Handler: srv, Origin: []string{"npx files"}}},
		RememberTrust: func(name string) error { kept = append(kept, name); return nil }}, scripted.Say("one"), scripted.Say("two"))
	c := s.Conversation(nil)
	ask(t, c, "first")
	mcp.AddToolWith(srv, mcp.Tool{Name: "more", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "seen", nil })
	ask(t, c, "second")
	if server, _ := s.serverNamed("files"); !server.trusted() || person.reviewed != 1 || len(kept) != 1 || !strings.HasPrefix(kept[0], "files") {
		t.Errorf("reviewed %d times, kept %q", person.reviewed, kept)
	}
}

func TestAllServersAreReviewedTogether(t *testing.T) {
	lost := errors.New("the terminal is gone")
	for _, test := range []struct {
		name    string
		answers []bool
		err     error
		want    string // the tools that the model has
		notices int    // of servers that nobody was there to review
		again   int    // number of definitions about which the user is asked again
	}{
		{"each has its answer", []bool{true, false, true}, nil, "a__look c__look", 0, 0},
		{"nobody is there", nil, ErrNobody, "", 3, 0},
		{"nobody is there, but one was approved in advance", []bool{false, true, false}, ErrNobody, "b__look", 2, 0},
		{"it broke off after the first", []bool{true}, lost, "a__look", 0, 2},
		{"an answer is missing", []bool{true, true}, nil, "a__look b__look", 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				person := &reviewer{answers: test.answers, err: test.err}
				o := Options{Person: person}
				for _, name := range []string{"a", "b", "c"} {
					srv := mcp.NewServer(name, "1")
					mcp.AddToolWith(srv, mcp.Tool{Name: "look", Description: "Look.", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "seen", nil })
					o.Servers = append(o.Servers, Server{Name: name, Handler: srv})
				}
				s := play(t, o, scripted.Say("done"), scripted.Say("done"))
				defer s.Close()
				c := s.Conversation(nil)
				_, err := c.Ask(t.Context(), Question{Text: "look"})
				if broken := test.again > 0; (err != nil) != broken || test.err == lost && !errors.Is(err, lost) {
					t.Errorf("the question ended with %v", err)
				}
				if len(person.reviews) != 3 || person.reviewed != 1 {
					t.Errorf("asked %d times, about %+v", person.reviewed, person.reviews)
				}
				if got := s.notices(NoticeServer); len(got) != test.notices {
					t.Errorf("reported %q", got)
				}
				person.answers, person.err = make([]bool, test.again), nil
				ask(t, c, "once more")
				if got := len(person.reviews) - 3; got != test.again {
					t.Errorf("asked again about %d", got)
				}
				requests := s.model.Requests()
				if got := strings.TrimSpace(strings.TrimPrefix(strings.Join(namesOf(requests[len(requests)-1].Tools), " "), readName)); got != test.want {
					t.Errorf("the model has %q", got)
				}
			})
		})
	}
}

// Of a server that was approved, another command is not something new that it defines.
func TestChangesAreReportedWithoutAUser(t *testing.T) {
	for _, test := range []struct{ name, command, version, want string }{
		{"nothing", "npx files", "1", ""},
		{"the command", "npx other", "1", `server "files": its command, variables or URL changed since the approval`},
		{"the version", "npx files", "2", `server "files": its version or name changed since the approval`},
		{"both", "npx other", "2", `server "files": 2 of its definitions are new or changed`},
	} {
		pins, err := guard.Load(filepath.Join(t.TempDir(), "pins.json"))
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, s := range []struct {
			command, version string
			person           Person
		}{{"npx files", "1", &reviewer{answers: []bool{true}}}, {test.command, test.version, &reviewer{err: ErrNobody}}} {
			srv := mcp.NewServer("files", s.version)
			mcp.AddToolWith(srv, mcp.Tool{Name: "look", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "seen", nil })
			h := play(t, Options{Person: s.person, Pins: pins, Servers: []Server{{Name: "files", Handler: srv, Origin: []string{s.command}}}}, scripted.Say("one"))
			ask(t, h.Conversation(nil), "first")
			said = append(said, h.notices(NoticeServer)...)
		}
		if got := strings.Join(said, "\n"); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s changed: %q", test.name, got)
		}
	}
}

func TestServersOfOneNameInTwoFoldersStayApproved(t *testing.T) {
	pins, err := guard.Load(filepath.Join(t.TempDir(), "pins.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i, visit := range []struct {
		folder string
		asked  bool
	}{{"a", true}, {"b", true}, {"a", false}, {"b", false}} {
		srv := mcp.NewServer("time", "1")
		mcp.AddToolWith(srv, mcp.Tool{Name: "now", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "noon", nil })
		person := &reviewer{err: ErrNobody}
		if visit.asked {
			person = &reviewer{answers: []bool{true}}
		}
		h := play(t, Options{Person: person, Pins: pins, Servers: []Server{{Name: "time", Handler: srv, Origin: []string{"uvx time", "(in " + visit.folder + ")"}}}}, scripted.Say("one"))
		ask(t, h.Conversation(nil), "first")
		if said := h.notices(NoticeServer); len(said) > 0 {
			t.Errorf("visit %d of folder %s: %q", i+1, visit.folder, said)
		}
	}
}

// TestApprovalHoldsForTheGateway approves tools in a host, and lists them behind a gateway's review.
func TestApprovalHoldsForTheGateway(t *testing.T) {
	pins, err := guard.Load(filepath.Join(t.TempDir(), "pins.json"))
	if err != nil {
		t.Fatal(err)
	}
	srv := mcp.NewServer("files", "1")
	for _, tool := range []mcp.Tool{
		{Name: "plain", InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "typeless", InputSchema: json.RawMessage(`{"properties":{"a":{"type":"string"}}}`)},
		{Name: "shown", InputSchema: json.RawMessage(`{"type":"object"}`), Meta: json.RawMessage(`{"ui":{"visibility":["model"]}}`)},
	} {
		if err := srv.SetTool(tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return new(mcp.CallToolResult), nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	srv.AddPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}}}, func(context.Context, map[string]string) (*mcp.GetPromptResult, error) { return nil, nil })
	h := play(t, Options{Person: &reviewer{answers: []bool{true}}, Pins: pins, Servers: []Server{{Name: "files", Handler: srv, Origin: []string{"npx files"}}}}, scripted.Say("one"))
	ask(t, h.Conversation(nil), "first")
	c := mcp.NewClient(review.Middleware(review.Options{Server: "files", Mode: review.All, Pins: func() *guard.Pins { return pins }})(srv))
	var got []string
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tool.Name)
	}
	for prompt, err := range c.Prompts(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, prompt.Name)
	}
	if want := []string{"plain", "shown", "typeless", "p"}; !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
}
