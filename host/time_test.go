package host

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

func TestARunEndsWhenItsTimeIsOver(t *testing.T) {
	waiting := mcp.NewServer("s", "1")
	mcp.AddToolWith(waiting, mcp.Tool{Name: "wait", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	turns := map[string]scripted.Turn{"the model thinks for ever": scripted.Wait(), "a tool works for ever": scripted.Call("s__wait", "")}
	for name, turn := range turns {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(t, Options{Limits: Limits{Time: 10 * time.Second}, Servers: []Server{{Name: "s", Handler: waiting, Trusted: true}}}, turn, scripted.Say("in time"))
				defer s.Close()
				c := s.Conversation(nil)
				began := time.Now()
				answer := ask(t, c, "hurry")
				if took := time.Since(began); answer.Stop != "time" || took != 10*time.Second || answer.Totals.Duration != took {
					t.Errorf("stopped by %q after %v", answer.Stop, took)
				}
				if got := s.notices(NoticeLimit); len(got) != 1 || !strings.Contains(got[0], "10s") {
					t.Errorf("reported %q", got)
				}
				if answer := ask(t, c, "again"); answer.Text != "in time" {
					t.Errorf("got %+v", answer)
				}
			})
		})
	}
}

func TestARequestThatIsMadeAgainIsReported(t *testing.T) {
	retry := model.Delta{Retry: &model.Retry{Attempt: 1, After: 2 * time.Second, Err: &model.Error{Provider: "p", Status: 429}}}
	s := play(t, Options{Model: emitting{scripted.New(scripted.Say("at last")), retry}})
	ask(t, s.Conversation(nil), "hello")
	if got := s.notices(NoticeRetry); len(got) != 1 || !strings.Contains(got[0], "attempt 1 failed, the next is in 2s") {
		t.Errorf("reported %q", got)
	}
}

// emitting is a model that emits something first.
type emitting struct {
	model.Model
	first model.Delta
}

func (m emitting) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	emit(m.first)
	return m.Model.Generate(ctx, req, emit)
}
