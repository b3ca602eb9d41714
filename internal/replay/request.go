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

// A request is a request in one of the wire formats.
type request struct {
	model.Request
	model    string
	stream   bool
	injected bool // the system prompt contains the tools
	// names maps the ids of calls to the names of the tools.
	names map[string]string
	// results holds the texts of all results of the conversation.
	results []string
}

func newRequest(model string, stream bool) *request {
	return &request{model: model, stream: stream, names: map[string]string{}}
}

// An answer is a turn for one request.
type answer struct {
	id    string
	model string
	text  string
	calls []*model.Call
}

var response = regexp.MustCompile(`(?s)<tool_response name="[^"]*"[^>]*>\n(.*?)\n</tool_response>`)

// read finds results, and tools written into the prompt.
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

// turn returns the number of answers in the conversation.
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

// offered returns the full name of an offered tool.
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

// play answers a request after n answers with the turn.
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

// write turns calls into text, in the form that the manual describes.
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
