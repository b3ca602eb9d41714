package openai

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
	answers []answer
	sent    []string
	header  http.Header
	url     string
}

type answer struct {
	status int
	body   string
	header http.Header
}

const fine = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

func refused(message string) answer {
	return answer{status: http.StatusBadRequest, body: fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error"}}`, message)}
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	a := s.answers[min(len(s.sent), len(s.answers)-1)]
	s.sent, s.header, s.url = append(s.sent, string(body)), req.Header, req.URL.String()
	header := a.header
	if header == nil {
		header = http.Header{"Content-Type": {"text/event-stream"}}
	}
	return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader(a.body)), Request: req}, nil
}

func (s *service) member(t *testing.T, i int, name string) string {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s.sent[i]), &object); err != nil {
		t.Fatal(err)
	}
	return string(object[name])
}

// at returns a service with these answers, and a model behind it.
func at(t *testing.T, o Options, answers ...answer) (*service, *Model) {
	t.Helper()
	s := &service{answers: append(answers, answer{status: http.StatusOK, body: fine})}
	o.HTTPClient = &http.Client{Transport: s}
	if o.Model == "" {
		o.Model = "m"
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

func hello() *model.Request {
	return &model.Request{Messages: []model.Message{model.UserText("hello")}}
}

func withTools(names ...string) *model.Request {
	req := hello()
	for _, name := range names {
		req.Tools = append(req.Tools, model.Tool{Name: name, Description: "D", Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
	}
	return req
}

func generate(t *testing.T, m *Model, req *model.Request) *model.Response {
	t.Helper()
	res, err := m.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Message.Text() != "ok" {
		t.Errorf("the answer is %q", res.Message.Text())
	}
	return res
}

func TestParametersRefusedByAProviderAreOmitted(t *testing.T) {
	t.Parallel()
	warm := 0.5
	for _, test := range []struct {
		refusal, member  string
		before, after    string
		member2, becomes string
	}{
		{"Unrecognized request argument supplied: stream_options", "stream_options", `{"include_usage":true}`, "", "", ""},
		{"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "9", "", "max_completion_tokens", "9"},
		{"Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.", "temperature", "0.5", "", "", ""},
		{"The model gpt-x is strict: 'temperature' is not supported", "temperature", "0.5", "", "", ""},
		{"tool_choice 'required' is not supported in thinking mode", "tool_choice", `"required"`, "", "", ""},
		{"Unsupported parameter: 'stop' is not supported with this model.", "stop", `["END"]`, "", "", ""},
	} {
		t.Run(test.refusal, func(t *testing.T) {
			t.Parallel()
			s, m := at(t, Options{BaseURL: "http://localhost:8000/v1"}, refused(test.refusal))
			req := withTools("a")
			req.Temperature, req.MaxTokens, req.Choice, req.Stop = &warm, 9, model.ChoiceRequired, []string{"END"}
			generate(t, m, req)
			generate(t, m, req)
			if len(s.sent) != 3 {
				t.Fatalf("%d requests", len(s.sent))
			}
			for i, want := range []string{test.before, test.after, test.after} {
				if got := s.member(t, i, test.member); got != want {
					t.Errorf("in request %d it is %q, not %q", i, got, want)
				}
			}
			if test.member2 != "" && s.member(t, 2, test.member2) != test.becomes {
				t.Errorf("%s is %q", test.member2, s.member(t, 2, test.member2))
			}
		})
	}
}

func TestReasoningThatIsRefusedIsNotSentBack(t *testing.T) {
	t.Parallel()
	s, m := at(t, Options{Provider: "own", BaseURL: "http://h/v1"}, refused("'messages.1': property 'reasoning_content' is unsupported"))
	req := hello()
	req.Messages = append(req.Messages,
		model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Call: &model.Call{ID: "1", Name: "a", Arguments: json.RawMessage("{}")}}},
			Extra: map[string]map[string]json.RawMessage{"own": {"reasoning_content": json.RawMessage(`"hm"`)}}},
		model.Message{Role: model.RoleTool, Parts: []model.Part{{Result: &model.Result{CallID: "1", Name: "a"}}}})
	generate(t, m, req)
	if !strings.Contains(s.sent[0], "reasoning_content") || strings.Contains(s.sent[1], "reasoning_content") {
		t.Errorf("%s", s.sent)
	}
}

func TestTheRequestContinuesWithoutARefusedTool(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, refusal string
		aside         []string
	}{
		{"OpenAI's position", "Invalid 'tools[1].function.parameters': bad", []string{"b"}},
		{"OpenAI's name", "Invalid schema for function 'c': In context=(), array schema missing items.", []string{"c"}},
		{"Gemini's positions", "Unknown name \"x\" at 'tools[0].function_declarations[1].parameters': Cannot find field.\nUnknown name \"x\" at 'tools[0].function_declarations[2].parameters'", []string{"b", "c"}},
		{"a position among functions", "functions[0].parameters is not valid", []string{"a"}},
		{"Anthropic's position behind a gateway", "tools.2.custom.input_schema: JSON schema is invalid", []string{"c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, m := at(t, Options{}, refused(test.refusal))
			for i := range 2 {
				res := generate(t, m, withTools("a", "b", "c"))
				if len(res.Notes) != len(test.aside) {
					t.Fatalf("answer %d has the notes %+v", i, res.Notes)
				}
				for j, note := range res.Notes {
					if note.Tool != test.aside[j] || !note.SetAside || note.Text == "" {
						t.Errorf("answer %d has the note %+v", i, note)
					}
				}
			}
			if len(s.sent) != 3 || strings.Count(s.sent[2], `"function":`) != 3-len(test.aside) {
				t.Errorf("%d requests, the last %s", len(s.sent), s.sent[len(s.sent)-1])
			}
		})
	}
}

func TestTheNumberOfRefusalsIsLimited(t *testing.T) {
	t.Parallel()
	var answers []answer
	names := []string{}
	for i := range 40 {
		names = append(names, fmt.Sprintf("t%d", i))
		answers = append(answers, refused("tools[0].function.parameters is bad"))
	}
	s, m := at(t, Options{}, answers...)
	_, err := m.Generate(t.Context(), withTools(names...), nil)
	var failure *model.Error
	if !errors.As(err, &failure) || len(s.sent) != wire.MaxAttempts {
		t.Errorf("%d requests: %v", len(s.sent), err)
	}
	s, m = at(t, Options{}, refused("stream_options unknown"), refused("stream_options unknown"))
	if _, err := m.Generate(t.Context(), hello(), nil); err == nil || len(s.sent) != 2 {
		t.Errorf("%d requests: %v", len(s.sent), err)
	}
}

func TestAnErrorAboutTheConversationSetsNoToolAside(t *testing.T) {
	t.Parallel()
	s, m := at(t, Options{Provider: "gemini"}, refused("Function call 'a' in messages[3] is missing a thought_signature in functionCall parts"))
	if _, err := m.Generate(t.Context(), withTools("a"), nil); err == nil || len(s.sent) != 1 {
		t.Errorf("%d requests: %v", len(s.sent), err)
	}
}

func TestErrorKinds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer answer
		is     error
		text   string
	}{
		{"a refused key", answer{401, `{"error":{"message":"Incorrect API key provided: sk-secret-key.","code":"invalid_api_key"}}`, nil}, model.ErrUnauthorized, "[key]"},
		{"too many requests", answer{429, `{"error":{"message":"slow"}}`, http.Header{"Retry-After": {"3"}}}, model.ErrRateLimited, "slow"},
		{"an overloaded provider", answer{503, "busy", nil}, model.ErrOverloaded, "busy"},
		{"OpenAI: a conversation that is too long", answer{400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, nil}, model.ErrWindow, "too long"},
		{"llama.cpp: a conversation that is too long", answer{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, nil}, model.ErrWindow, "exceed_context_size_error"},
		{"Qwen: a conversation that is too long", answer{400, `{"error":{"message":"Range of input length should be [1, 30720]"}}`, nil}, model.ErrWindow, ""},
		{"an unknown model", answer{404, `{"error":{"message":"The model 'x' does not exist","code":"model_not_found"}}`, nil}, model.ErrNoModel, ""},
		{"llama.cpp: a wrong path", answer{404, `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`, nil}, nil, "File Not Found"},
		{"a wrong path", answer{404, `{"detail":"Not Found"}`, nil}, nil, "Not Found"},
		{"FastAPI's list", answer{422, `{"detail":[{"loc":["body","tools"],"msg":"field required"}]}`, nil}, nil, "field required"},
		{"xAI's text", answer{400, `{"code":"Client specified an invalid argument","error":"bad input"}`, nil}, nil, "bad input"},
		{"a page", answer{502, "<html><body>Bad gateway</body></html>", nil}, nil, "base URL"},
		{"nothing", answer{500, "", nil}, nil, "Internal Server Error"},
		{"a redirect", answer{308, "", http.Header{"Location": {"https://elsewhere/v1"}}}, nil, "https://elsewhere/v1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, m := at(t, Options{Key: "sk-secret-key"}, test.answer)
			res, err := m.Generate(t.Context(), hello(), nil)
			var failure *model.Error
			if res != nil || !errors.As(err, &failure) || failure.Status != test.answer.status || failure.Provider != "openai" {
				t.Fatalf("%+v %v", res, err)
			}
			if test.is != nil && !errors.Is(err, test.is) || test.is == nil && failure.Err != nil {
				t.Errorf("%v is not %v", err, test.is)
			}
			if !strings.Contains(err.Error(), test.text) || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, failure), "sk-secret") {
				t.Errorf("%v", err)
			}
			if test.answer.status == 429 && failure.RetryAfter != 3*time.Second {
				t.Errorf("asks to wait %v", failure.RetryAfter)
			}
			if len(s.sent) != 1 {
				t.Errorf("asked %d times; retries are for model.Retrying", len(s.sent))
			}
		})
	}
}

type unreachable struct{ err error }

func (u unreachable) RoundTrip(*http.Request) (*http.Response, error) { return nil, u.err }

func TestAConnectionThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	m, err := New(Options{Model: "m", Key: "sk-secret", HTTPClient: &http.Client{Transport: unreachable{io.ErrUnexpectedEOF}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Generate(t.Context(), hello(), nil)
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Status != 0 || !errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Generate(ctx, hello(), nil); !errors.Is(err, context.Canceled) || !errors.As(err, &failure) {
		t.Errorf("%v", err)
	}
}

// See mark3labs/mcphost#116: answers were cut and the limit of tokens was ignored, without an
// error.
func TestACutAnswerSaysSoAndTheLimitIsSent(t *testing.T) {
	t.Parallel()
	cut := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n"
	s, m := at(t, Options{MaxTokens: 100}, answer{status: http.StatusOK, body: cut})
	req := hello()
	req.MaxTokens = 4000
	if res := generate(t, m, req); res.Stop != model.StopLength || res.StopDetail != "length" {
		t.Errorf("stopped with %q, %q", res.Stop, res.StopDetail)
	}
	if got := s.member(t, 0, "max_completion_tokens"); got != "4000" {
		t.Errorf("the limit sent is %q", got)
	}
}

func TestTheWindowIsReadFromTheError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body string
		want       int
	}{
		{"OpenAI", `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130541 tokens (130000 in the messages, 541 in the functions). Please reduce the length of the messages or functions.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, 128_000},
		{"OpenAI without the number", `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","code":"context_length_exceeded"}}`, 0},
		{"vLLM", `{"object":"error","message":"This model's maximum context length is 32768 tokens. However, you requested 40000 tokens (38976 in the messages, 1024 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","code":400}`, 32_768},
		{"vLLM, of the prompt", `{"error":{"message":"The decoder prompt (length 40000) is longer than the maximum model length of 32768. Make sure that max_model_len is no smaller than the number of text tokens.","type":"BadRequestError","code":400}}`, 32_768},
		{"llama.cpp, in a member", `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":12345,"n_ctx":4096}}`, 4_096},
		{"llama.cpp, in the text", `{"error":{"code":400,"message":"request (12345 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error"}}`, 4_096},
		{"Ollama, which says by how much", `{"error":{"message":"prompt too long; exceeded max context length by 1234 tokens","type":"invalid_request_error"}}`, 0},
		{"Ollama", `{"error":"input length exceeds the context length"}`, 0},
		{"LM Studio", `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, 4_096},
		{"Gemini", `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, 1_048_576},
		{"xAI", `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 200000 tokens."}`, 131_072},
		{"Qwen", `{"error":{"message":"Range of input length should be [1, 30720]"}}`, 30_720},
		{"thousands with commas", `{"error":{"message":"maximum context length is 32,768 tokens"}}`, 32_768},
		{"a number too small to be one", `{"error":{"message":"maximum context length is 7 tokens"}}`, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, m := at(t, Options{}, answer{400, test.body, nil})
			_, err := m.Generate(t.Context(), hello(), nil)
			var failure *model.Error
			if !errors.As(err, &failure) || !errors.Is(err, model.ErrWindow) || failure.Window != test.want {
				t.Errorf("got a window of %d, want %d: %v", failure.Window, test.want, err)
			}
		})
	}
}
