package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// A service sends its answers to the requests of a test in order and repeats the last one.
type service struct {
	answers []reply
	sent    []string
	header  http.Header
}

type reply struct {
	status int
	body   string
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	s.sent, s.header = append(s.sent, string(body)), req.Header
	a := s.answers[min(len(s.sent), len(s.answers))-1]
	h := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"7"}}
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(strings.NewReader(a.body)), Request: req}, nil
}

const fine = `{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`

func refusal(message string) reply {
	return reply{400, fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, message)}
}

func opened(t *testing.T, o Options, answers ...reply) (*Model, *service) {
	t.Helper()
	s := &service{answers: answers}
	o.Model, o.HTTPClient = "claude-sonnet-4-5", &http.Client{Transport: s}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

func asking(tools ...string) *model.Request {
	req := &model.Request{Messages: []model.Message{model.UserText("hello")}}
	for _, name := range tools {
		req.Tools = append(req.Tools, model.Tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return req
}

func TestTheRequestContinuesWithoutABadTool(t *testing.T) {
	m, s := opened(t, Options{}, refusal("tools.1.custom.input_schema: JSON schema is invalid"), reply{200, fine})
	for want := 2; want <= 3; want++ { // the second time the tool is known to be refused
		res, err := m.Generate(context.Background(), asking("good", "bad", "other"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Notes) != 1 || res.Notes[0].Tool != "bad" || !res.Notes[0].SetAside || !strings.Contains(res.Notes[0].Text, "JSON schema is invalid") {
			t.Errorf("notes: %+v", res.Notes)
		}
		if len(s.sent) != want || strings.Contains(s.sent[want-1], `"bad"`) || !strings.Contains(s.sent[want-1], `"other"`) {
			t.Errorf("%d requests, the last is %s", len(s.sent), s.sent[len(s.sent)-1])
		}
	}
}

func TestRefusalsOfToolsAreBounded(t *testing.T) {
	m, s := opened(t, Options{}, refusal("tools.0.custom.name: no"))
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	if _, err := m.Generate(context.Background(), asking(names...), nil); !errors.Is(err, model.ErrBadTool) || len(s.sent) != wire.MaxAttempts {
		t.Errorf("%d requests, and %v", len(s.sent), err)
	}
}

func TestAComplaintOfTheConversationSetsNoToolAside(t *testing.T) {
	m, s := opened(t, Options{}, refusal("messages.1.content.0: tool 'good' and tools.0 are fine"))
	if _, err := m.Generate(context.Background(), asking("good"), nil); err == nil || len(s.sent) != 1 {
		t.Errorf("%d requests, and %v", len(s.sent), err)
	}
}

func TestTooHighLimitsAreLowered(t *testing.T) {
	m, s := opened(t, Options{}, refusal("max_tokens: 16384 > 4096, which is the maximum allowed number of output tokens"), reply{200, fine})
	if _, err := m.Generate(context.Background(), asking(), nil); err != nil || len(s.sent) != 2 || !strings.Contains(s.sent[1], `"max_tokens":4096`) {
		t.Errorf("%v; sent %s", err, s.sent)
	}
}

func TestTheKeyAndMoreMembersAreSent(t *testing.T) {
	o := Options{
		Key: "sk-ant-fresh", Body: map[string]any{"output_config": map[string]any{"effort": "low"}},
	}
	m, s := opened(t, o, reply{200, fine})
	if _, err := m.Generate(context.Background(), asking(), nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"X-Api-Key": "sk-ant-fresh", "Anthropic-Version": "2023-06-01", "Content-Type": "application/json"} {
		if got := s.header.Get(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	if !strings.Contains(s.sent[0], `"output_config":{"effort":"low"}`) {
		t.Errorf("sent %s", s.sent[0])
	}
}

func TestTheKeyIsInNoErrorAndTheWaitIsReported(t *testing.T) {
	m, _ := opened(t, Options{Key: "sk-ant-secret"}, reply{429, `{"type":"error","error":{"type":"rate_limit_error","message":"key sk-ant-secret is too fast"}}`})
	_, err := m.Generate(context.Background(), asking(), nil)
	var failure *model.Error
	if !errors.As(err, &failure) || failure.RetryAfter != 7*time.Second || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v, to wait %v", err, failure)
	}
}

func TestTheTapDoesNotGetTheKey(t *testing.T) {
	m, _ := opened(t, Options{Key: "sk-ant-secret"}, reply{200, fine})
	req := asking()
	var got []model.Exchange
	req.Tap = func(x model.Exchange) { got = append(got, x) }
	if _, err := m.Generate(context.Background(), req, nil); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || string(got[0].ResponseBody) != fine || got[0].Status != 200 || strings.Contains(fmt.Sprintf("%v", got), "secret") {
		t.Errorf("reported %+v", got)
	}
}

func TestChoicesAreTheProvidersOwn(t *testing.T) {
	for choice, want := range map[model.Choice]string{model.ChoiceNone: `"tool_choice":{"type":"none"}`, model.ChoiceRequired: `"tool_choice":{"type":"any"}`} {
		m, s := opened(t, Options{}, reply{200, fine})
		req := asking("good")
		req.Choice = choice
		if _, err := m.Generate(context.Background(), req, nil); err != nil || !strings.Contains(s.sent[0], want) {
			t.Errorf("%s: %v; sent %s", choice, err, s.sent)
		}
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for _, o := range []Options{{}, {Model: "m", BaseURL: "localhost:80"}, {Model: "m", BaseURL: "ftp://me:s3cret@x?key=s3cret"}} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("of %+v is reported: %v", o, err)
		}
	}
}

func TestTheWindowIsReadFromTheError(t *testing.T) {
	for message, want := range map[string]int{
		"prompt is too long: 208310 tokens > 200000 maximum":                                                                               200_000,
		"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again": 200_000,
		"prompt is too long": 0,
	} {
		m, _ := opened(t, Options{}, refusal(message))
		_, err := m.Generate(t.Context(), asking(), nil)
		var failure *model.Error
		if !errors.As(err, &failure) || !errors.Is(err, model.ErrWindow) || failure.Window != want {
			t.Errorf("%s: got %+v, want a window of %d", message, failure, want)
		}
	}
}
