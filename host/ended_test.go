package host

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
)

// A leaver ends the run in place of an answer.
type leaver struct {
	*desk
	leave context.CancelFunc
}

func (l leaver) Consent(ctx context.Context, _ ApprovalCard) (Verdict, error) {
	l.leave()
	return Verdict{}, context.Cause(ctx)
}

func (l leaver) Elicit(ctx context.Context, _ Form) (*mcp.ElicitResult, error) {
	l.leave()
	return nil, context.Cause(ctx)
}

func (l leaver) Sample(ctx context.Context, _ Sampling) (bool, error) {
	l.leave()
	<-ctx.Done()
	return false, context.Cause(ctx)
}

// Who ends a run in place of an answer has not said no, and nothing is at fault.
func TestQuestionsEndedWithTheirRunAreNotRefusals(t *testing.T) {
	for _, test := range []struct {
		name   string
		server func() Server
		call   string
	}{
		{"a card", keeper, "keeper__write"},
		{"a form", func() Server { return Server{Name: "shop", Handler: shop(), Trusted: true} }, "shop__order"},
		{"sampling", func() Server { return Server{Name: "poet", Handler: poet(plainSample), Trusted: true} }, "poet__write"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { endsWithoutAnAnswer(t, test.server(), test.call) })
		})
	}
}

func endsWithoutAnAnswer(t *testing.T, server Server, call string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := play(t, Options{Person: leaver{new(desk), cancel}, Servers: []Server{server}}, scripted.Call(call, `{}`), scripted.Say("done"))
	defer s.Close()
	if answer, err := s.Conversation(nil).Ask(ctx, Question{Text: "go"}); err == nil || answer.Stop != "cancelled" {
		t.Errorf("the run ended with %+v, %v", answer, err)
	}
	synctest.Wait() // a question may end after its run
	reported := s.eventsOf(func(e Event) bool { return e.Consent != nil && e.Consent.By != byPolicy || e.ServerRequest != nil })
	if len(reported) != 1 {
		t.Fatalf("reported %+v", reported)
	}
	if c := reported[0].Consent; c != nil && (c.By != byHost || c.Allowed || c.Reason == "") {
		t.Errorf("reported %+v", c)
	}
	if q := reported[0].ServerRequest; q != nil && q.Outcome != "cancel" {
		t.Errorf("reported %+v", q)
	}
}
