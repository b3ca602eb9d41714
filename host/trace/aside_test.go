package trace

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

func answered(text string, in, out int) *host.Decided {
	return &host.Decided{Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: text}}},
		Stop: model.StopEnd, Usage: model.Usage{Input: in, Output: out}, Cost: 0.001}
}

// askedMore is a run in which the model is asked more than the seven steps say.
func askedMore(o Options) *Trace {
	t := &teller{New(o), noon}
	t.event(host.Event{Reviewed: &host.Reviewed{Server: "poet", First: true, Definitions: 3, Approved: true}})
	t.event(host.Event{Listed: &host.Listed{Native: 1}})
	t.event(host.Event{Generated: &host.Generated{For: host.ForSummary, Duration: time.Second,
		Asked:     host.Asked{Model: "gpt-example", Messages: 1, Tokens: 6000, Request: &model.Request{System: "You shorten.", Messages: []model.Message{model.UserText("user: hello")}}},
		Decided:   answered("They said hello.", 6000, 40),
		Exchanges: []model.Exchange{{Method: "POST", URL: "https://api.example/v1", Status: 200, RequestBody: []byte(`{"summary":1}`), ResponseBody: []byte(`{"ok":1}`)}}}})
	t.event(host.Event{Notice: &host.Notice{Kind: host.NoticeCompact, Text: "40 messages were replaced by a summary"}})
	t.event(host.Event{Asked: &host.Asked{Model: "gpt-example", Messages: 1, Tools: 1, Tokens: 2100, Request: &model.Request{Messages: []model.Message{model.UserText("Write a verse.")}}}})
	t.event(host.Event{Decided: &host.Decided{Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{call("c1", "poet__write", `{}`)}}, Stop: model.StopCalls}})
	t.event(host.Event{Called: &host.Called{CallID: "c1", Server: "poet", Tool: "write"}})
	t.Event(host.Event{At: t.tick(), Notice: &host.Notice{Kind: host.NoticeServer, Server: "files", Text: "is back"}}) // of no run
	t.event(host.Event{ServerRequest: &host.ServerRequested{CallID: "c1", Server: "poet", Method: "sampling/createMessage", Message: "A verse about rain", Outcome: "accept"}})
	t.event(host.Event{Generated: &host.Generated{For: host.ForSampling, Server: "poet", CallID: "c1",
		Asked: host.Asked{Model: "gpt-example", Messages: 1, Tokens: 30}, Decided: answered("It rains.", 30, 3)}})
	t.event(host.Event{ServerRequest: &host.ServerRequested{CallID: "c1", Server: "poet", Method: "sampling/createMessage", Message: "And more", Outcome: "refused: the budget is used up"}})
	t.event(host.Event{Returned: &host.Returned{CallID: "c1", Server: "poet", Tool: "write", Text: "It rains."}})
	t.event(host.Event{Reviewed: &host.Reviewed{Server: "poet", Definitions: 1}})
	t.event(host.Event{Asked: &host.Asked{Model: "gpt-example", Messages: 3, Tools: 1, Tokens: 2200}})
	t.event(host.Event{Generated: &host.Generated{For: host.ForStep, Asked: host.Asked{Model: "gpt-example"}, Error: "status 400",
		Exchanges: []model.Exchange{{Method: "POST", URL: "https://api.example/v1", Status: 400, RequestBody: []byte(`{}`), ResponseBody: []byte(`{"error":"bad"}`)}}}})
	t.event(host.Event{Answered: &host.Answered{Stop: "error", Error: "status 400", Totals: host.Totals{Requests: 3}}})
	return t.Trace
}

func TestOtherQuestionsAreReported(t *testing.T) {
	t.Parallel()
	var live bytes.Buffer
	trace := askedMore(Options{Out: &live})
	golden(t, "aside.txt", live.String())
	golden(t, "aside.mmd", written(t, trace.WriteMermaid))
	svg := written(t, trace.WriteSVG)
	for _, want := range []string{"summary", "sampling poet", "A verse about rain", "They said hello.", "review", "3 definitions of poet, new", "no answer", "the budget is used up", "https://api.example/v1"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing does not tell %q", want)
		}
	}
}

// A notification of a server in the middle of a run do not begin another.
func TestEventsOutsideARunChangeNoSteps(t *testing.T) {
	t.Parallel()
	text := written(t, askedMore(Options{}).WriteText)
	if strings.Count(text, " 2  ask model") != 1 || strings.Count(text, " 6  model") != 1 || strings.Count(text, "question: Write a verse.") != 1 {
		t.Errorf("the steps are\n%s", text)
	}
}

// A summary between two questions is paid for, too.
func TestASummaryOfNoRunIsCounted(t *testing.T) {
	t.Parallel()
	trace := New(Options{})
	trace.Event(host.Event{At: noon, Generated: &host.Generated{For: host.ForSummary, Asked: host.Asked{Model: "m"}, Decided: answered("Short.", 100, 20)}})
	if got := written(t, trace.WriteMermaid); !strings.Contains(got, "1 request to the model, 0 calls, 120 tokens") {
		t.Errorf("the diagram ends with\n%s", got)
	}
}
