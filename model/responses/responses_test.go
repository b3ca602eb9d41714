package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

// A service sends its answers to the requests of a test in order and repeats the last one.
type service struct {
	answers []reply
	sent    []string
	header  http.Header
	url     string
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
	s.sent, s.header, s.url = append(s.sent, string(body)), req.Header, req.URL.String()
	a := s.answers[min(len(s.sent), len(s.answers))-1]
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.body)), Request: req}, nil
}

const fine = `{"object":"response","status":"completed","model":"m","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}],"usage":{"input_tokens":1,"output_tokens":1}}`

func refusal(message string) reply {
	return reply{400, fmt.Sprintf(`{"error":{"type":"invalid_request_error","message":%q}}`, message)}
}

func opened(t *testing.T, o Options, answers ...reply) (*Model, *service) {
	t.Helper()
	s := &service{answers: answers}
	o.Model, o.HTTPClient = "gpt-test", &http.Client{Transport: s}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

func asking(tools ...string) *model.Request {
	temperature := 0.5
	thought := &model.Reasoning{Provider: Provider, Raw: json.RawMessage(`{"type":"reasoning","summary":[],"encrypted_content":"gAA"}`)}
	req := &model.Request{Temperature: &temperature, Choice: model.ChoiceNone, Messages: []model.Message{
		model.UserText("hello"),
		{Role: model.RoleAssistant, Parts: []model.Part{{Reasoning: thought}, {Text: "Yes?"}}, Extra: map[string]map[string]json.RawMessage{Provider: {"phases": json.RawMessage(`["final_answer"]`)}}},
		model.UserText("and?"),
	}}
	for _, name := range tools {
		req.Tools = append(req.Tools, model.Tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return req
}

func TestUnsupportedParametersAreOmitted(t *testing.T) {
	t.Parallel()
	for complaint, member := range map[string]string{
		"Encrypted content is not supported with this model.":                                                       `"include"`,
		"Unsupported parameter: 'temperature' is not supported with this model.":                                    `"temperature"`,
		"The encrypted content gAA could not be verified. Reason: Encrypted content could not be decrypted.":        `"encrypted_content"`,
		"Unknown parameter: 'input[2].phase'.":                                                                      `"phase"`,
		"Unsupported parameter: 'tool_choice' is not supported.":                                                    `"tool_choice"`,
		"Invalid schema for function 'bad': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"x\"'.": `"bad"`,
	} {
		m, s := opened(t, Options{}, refusal(complaint), reply{200, fine})
		for want := 2; want <= 3; want++ { // the second time the part is known to be refused
			if _, err := m.Generate(context.Background(), asking("good", "bad"), nil); err != nil {
				t.Fatalf("%s: %v", complaint, err)
			}
			if len(s.sent) != want || !strings.Contains(s.sent[0], member) || strings.Contains(s.sent[want-1], member) || !strings.Contains(s.sent[want-1], `"good"`) {
				t.Errorf("%s: %d requests, the last is %s", complaint, len(s.sent), s.sent[len(s.sent)-1])
			}
		}
	}
}

func TestAComplaintAboutNothingOfThisIsAnError(t *testing.T) {
	t.Parallel()
	m, s := opened(t, Options{}, refusal("Invalid value: 'x'."))
	if _, err := m.Generate(context.Background(), asking(), nil); err == nil || len(s.sent) != 1 {
		t.Errorf("%d requests, and %v", len(s.sent), err)
	}
}

func TestTheKeyAndMoreMembersAreSent(t *testing.T) {
	t.Parallel()
	m, s := opened(t, Options{
		BaseURL: "http://10.0.0.7:8000/v1/", Key: "sk-fresh",
		Body: map[string]any{"reasoning": map[string]any{"effort": "low", "summary": "auto"}},
	}, reply{200, fine})
	if _, err := m.Generate(context.Background(), asking(), nil); err != nil {
		t.Fatal(err)
	}
	if s.header.Get("Authorization") != "Bearer sk-fresh" || s.url != "http://10.0.0.7:8000/v1/responses" {
		t.Errorf("sent to %s with %v", s.url, s.header)
	}
	if !strings.Contains(s.sent[0], `"reasoning":{"effort":"low","summary":"auto"}`) || m.Info().Provider != "responses@10.0.0.7:8000" {
		t.Errorf("%s sent %s", m.Info().Provider, s.sent[0])
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Model: "m", BaseURL: "localhost:80"}, {Model: "m", BaseURL: "ftp://me:s3cret@x?key=s3cret"}} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("of %+v is reported: %v", o, err)
		}
	}
}

// The response keeps its complete calls, but its reason to stop is another.
func TestAnIncompleteResponseDoesNotStopForCalls(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"incomplete", "cancelled"} {
		s := &service{answers: []reply{{200, `{"status":"` + status + `","output":[{"type":"function_call","status":"completed","name":"a","call_id":"1","arguments":"{}"}]}`}}}
		m, err := New(Options{Model: "m", HTTPClient: &http.Client{Transport: s}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Generate(t.Context(), &model.Request{Messages: []model.Message{model.UserText("hi")}}, nil)
		if err != nil || res.Stop != model.StopOther {
			t.Errorf("%s: %+v %v", status, res, err)
		}
	}
}

// Proxies write the end mark of chat completions also behind a stream that broke off.
func TestAResponseEndsWithItsEvent(t *testing.T) {
	t.Parallel()
	m, _ := opened(t, Options{}, reply{200, `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","status":"in_progress","arguments":"","call_id":"1","name":"a"}}

data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}

data: [DONE]

`})
	res, err := m.Generate(t.Context(), asking("a"), nil)
	if !errors.Is(err, model.ErrBroken) || res == nil || len(res.Message.Calls()) != 0 {
		t.Errorf("%+v %v", res, err)
	}
}
