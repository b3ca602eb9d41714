package everything_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// A user replies to each question according to its message.
type user struct {
	mu      sync.Mutex
	answers map[string]string // by message: the form's content, or an action
	asked   []mcp.ElicitRequest
}

func (u *user) answer(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, req)
	answer := u.answers[req.Message]
	if !strings.HasPrefix(answer, "{") {
		return &mcp.ElicitResult{Action: answer}, nil
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(answer)}, nil
}

// asking runs a test in every mode, with a user who gives these replies.
func asking(t *testing.T, answers map[string]string, test func(t *testing.T, c *mcp.Client, u *user)) {
	u := &user{answers: answers}
	o := mcp.ClientOptions{
		OnElicit: u.answer, ElicitURL: true, SampleTools: true,
		OnRoots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///home/ada", Name: "Home"}}, nil
		},
		OnSample: model,
	}
	inEveryMode(t, o, func(t *testing.T, c *mcp.Client) {
		u.asked = nil
		test(t, c, u)
	})
}

// model uses the given tool once, and then repeats the tool's result.
func model(_ context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	last := req.Messages[len(req.Messages)-1].Content[0]
	said := mcp.Text("You said: " + last.Text)
	switch {
	case last.Type == mcp.ContentToolResult:
		said = mcp.Text("It is " + last.ToolResult.Content[0].Text)
	case len(req.Tools) > 0:
		said = mcp.Content{Type: mcp.ContentToolUse, ToolUse: &mcp.ToolUse{ID: "1", Name: req.Tools[0].Name, Input: json.RawMessage(`{"a":40,"b":2}`)}}
	}
	return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "parrot", Content: mcp.SamplingContent{said}}, nil
}

const about = "Please tell us something about yourself. Your answer is not stored."

func TestAskHasEveryKindOfField(t *testing.T) {
	asking(t, map[string]string{about: `{"name":"Ada","days":["mon"],"toppings":["olives"],"colour":"#d00","news":false}`}, func(t *testing.T, c *mcp.Client, u *user) {
		says(t, c, "ask", nil, `The user filled in: {"name":"Ada","age":30,"height":1.75,"news":false,"size":"medium","colour":"#d00","days":["mon"],"toppings":["olives"]}`)
		var form struct {
			Properties map[string]map[string]any
			Required   []string
		}
		if err := json.Unmarshal(u.asked[0].RequestedSchema, &form); err != nil {
			t.Fatal(err)
		}
		for field, keyword := range map[string]string{
			"name": "minLength", "email": "format", "birthday": "format", "age": "default", "height": "maximum",
			"news": "default", "size": "enum", "colour": "oneOf", "days": "items", "toppings": "maxItems",
		} {
			if form.Properties[field][keyword] == nil || form.Properties[field]["title"] == nil {
				t.Errorf("%s: no %s or no title in %v", field, keyword, form.Properties[field])
			}
		}
		if len(form.Required) != 1 || form.Required[0] != "name" {
			t.Errorf("required: %v", form.Required)
		}
	})
}

func TestARefusalIsAnAnswer(t *testing.T) {
	asking(t, map[string]string{about: mcp.ElicitDecline, "Which size of pizza?": mcp.ElicitCancel, "What is your name?": mcp.ElicitDecline, "Where are you?": `{"place":"Oslo"}`}, func(t *testing.T, c *mcp.Client, _ *user) {
		says(t, c, "ask", nil, "The user declined to answer.")
		says(t, c, "ask-twice", nil, "The user dismissed the question.")
		says(t, c, "ask-two-at-once", nil, "The user declined to answer.")
	})
}

func TestAskURL(t *testing.T) {
	asking(t, map[string]string{"Please visit the example page. Nothing happens there.": mcp.ElicitAccept}, func(t *testing.T, c *mcp.Client, u *user) {
		says(t, c, "ask-url", nil, "The user's answer to the request to open the page: accept.")
		if req := u.asked[0]; req.Mode != mcp.ElicitURL || req.URL != "https://example.com/" {
			t.Errorf("asked %+v", req)
		}
	})
}

func TestAskTwiceAsksEachQuestionOnce(t *testing.T) {
	asking(t, map[string]string{
		"Which size of pizza?":                      `{"size":"large"}`,
		"A large pizza is 11 euros. Order it?":      `{"confirm":true}`,
		"The second question depends on the first?": mcp.ElicitDecline,
	}, func(t *testing.T, c *mcp.Client, u *user) {
		says(t, c, "ask-twice", nil, "A large pizza for 11 euros was not really ordered.")
		if len(u.asked) != 2 {
			t.Errorf("asked %d times", len(u.asked))
		}
	})
}

func TestAskTwoAtOnceAsksEachQuestionOnce(t *testing.T) {
	asking(t, map[string]string{"What is your name?": `{"name":"Ada"}`, "Where are you?": `{"place":"London"}`}, func(t *testing.T, c *mcp.Client, u *user) {
		says(t, c, "ask-two-at-once", nil, "Ada is in London.")
		if len(u.asked) != 2 {
			t.Errorf("asked %d times", len(u.asked))
		}
	})
}

func TestTheModelAndTheRootsAreAskedFor(t *testing.T) {
	asking(t, nil, func(t *testing.T, c *mcp.Client, _ *user) {
		says(t, c, "sample", values{"prompt": "Hi!"}, "parrot said: You said: Hi!")
		says(t, c, "sample-with-tools", values{"prompt": "What is 40 plus 2?"}, "parrot said: It is 42")
		if got := call(t, c, "list-roots", nil); string(got.StructuredContent) != `{"roots":[{"uri":"file:///home/ada","name":"Home"}]}` {
			t.Errorf("roots: %s", got.StructuredContent)
		}
	})
}

func TestAClientThatCannotBeAskedGetsAnError(t *testing.T) {
	inEveryMode(t, mcp.ClientOptions{}, func(t *testing.T, c *mcp.Client) {
		for _, tool := range []string{"ask", "ask-url", "ask-twice", "ask-two-at-once", "list-roots", "sample", "sample-with-tools"} {
			arguments := values{}
			if strings.HasPrefix(tool, "sample") {
				arguments["prompt"] = "Hi!"
			}
			result, err := c.CallTool(t.Context(), tool, arguments)
			if err == nil && !result.IsError {
				t.Errorf("%s: %s", tool, result.Text())
			}
		}
	})
}
