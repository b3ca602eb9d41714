package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/scripted"
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

func TestWhatWasSetAsideOrRefusedCanBeTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, m := restless()
		agreed := false
		person := &desk{review: func(r Review) bool { return r.First || agreed }}
		s := play(t, Options{Model: m, Person: person, Servers: []Server{server, calculator()}})
		defer s.Close()
		c := s.Conversation(nil)
		ask(t, c, "look five times")
		before := len(person.reviews)
		for name, want := range map[string]string{"nowhere": "there is no server", "calc": "nothing to be reviewed"} {
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
