package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// A request is a decoded request of any wire format.
type request struct {
	model.Request
	model    string
	stream   bool
	injected bool // the system prompt describes the tools
	// names maps the ids of calls to the names of the called tools.
	names map[string]string
	// results contains the texts of all tool results in the conversation.
	results []string
}

func newRequest(model string, stream bool) *request {
	return &request{model: model, stream: stream, names: map[string]string{}}
}

// An answer is the response to one request.
type answer struct {
	id    string
	model string
	text  string
	calls []*model.Call
}

var response = regexp.MustCompile(`(?s)<tool_response name="[^"]*"[^>]*>\n(.*?)\n</tool_response>`)

// read finds the tool results, and the tools that the system prompt describes.
func (r *request) read() {
	_, manual, found := strings.Cut(r.System, "<tools>\n")
	if r.injected = len(r.Tools) == 0 && found; r.injected {
		for line := range strings.Lines(manual) {
			if tool := json.RawMessage(line); json.Valid(tool) && jsonrpc.Get(tool, "name") != nil {
				name, _ := jsonrpc.Unquote(jsonrpc.Get(tool, "name"))
				r.Tools = append(r.Tools, model.Tool{Name: name, Schema: jsonrpc.Get(tool, "parameters")})
			}
		}
	}
	for i := range r.Messages {
		for _, p := range r.Messages[i].Parts {
			if p.Result != nil {
				r.results = append(r.results, p.Result.Text())
			}
		}
		for _, m := range response.FindAllStringSubmatch(r.Messages[i].Text(), -1) {
			if r.injected && r.Messages[i].Role == model.RoleUser {
				r.results = append(r.results, m[1])
			}
		}
	}
}

// turn returns the number of assistant messages in the conversation.
func (r *request) turn() int {
	n := 0
	for i := range r.Messages {
		if r.Messages[i].Role == model.RoleAssistant {
			n++
		}
	}
	return n
}

func (r *request) last() *model.Message { return &r.Messages[len(r.Messages)-1] }

func (r *request) lastRole() string {
	if r.injected && response.MatchString(r.last().Text()) {
		return string(model.RoleTool)
	}
	return string(r.last().Role)
}

func (r *request) lastText() string {
	text := r.last().Text()
	for _, p := range r.last().Parts {
		if p.Result != nil {
			text += p.Result.Text() + "\n"
		}
	}
	return text
}

// offered returns the full name under which a tool is offered.
func (r *request) offered(name string) (string, error) {
	var names []string
	for _, t := range r.Tools {
		if t.Name == name || strings.HasSuffix(t.Name, "__"+name) {
			return t.Name, nil
		}
		names = append(names, t.Name)
	}
	return "", fmt.Errorf("expected the tool %q to be offered, got %s", name, clip(strings.Join(names, ", ")))
}

// play returns the answer to a request that is preceded by n answers.
func (t *Turn) play(req *request, n int) (*answer, error) {
	if err := t.Expect.met(req); err != nil {
		return nil, err
	}
	said := *t
	if t.Then != nil {
		if len(req.results) == 0 {
			return nil, errors.New("expected results of tools, got none")
		}
		said = t.Then(req.results)
	}
	a := &answer{id: fmt.Sprintf("replay_%d", n), model: req.model, text: said.Text}
	for i, c := range said.Calls {
		name, err := req.offered(c.Name)
		if err != nil {
			return nil, err
		}
		arguments := json.RawMessage("{}")
		if c.Arguments != nil {
			if arguments, err = json.Marshal(c.Arguments); err != nil {
				return nil, fmt.Errorf("call of %s: %w", c.Name, err)
			}
		}
		a.calls = append(a.calls, &model.Call{ID: fmt.Sprintf("call_%d_%d", n, i), Name: name, Arguments: arguments})
	}
	if req.injected {
		a.write()
	}
	return a, nil
}

// write converts the calls to text, in the form that the system prompt requires.
func (a *answer) write() {
	var b strings.Builder
	b.WriteString(a.text)
	for _, c := range a.calls {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		object := jsonrpc.NewObject(nil)
		object.String("name", c.Name)
		object.Raw("arguments", c.Arguments)
		b.WriteString("<tool_call>\n" + string(object.Bytes()) + "\n</tool_call>")
	}
	a.text, a.calls = b.String(), nil
}
