package replay

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// A request is what came over one of the wires.
type request struct {
	model.Request
	model    string
	stream   bool
	usage    bool // a stream tells it at its end
	injected bool // tools are in the system prompt
	// results are the texts of all results of the conversation.
	results []string
}

// An answer is a turn for one request.
type answer struct {
	id    string
	model string
	text  string
	calls []*model.Call
}

var response = regexp.MustCompile(`(?s)<tool_response name="[^"]*"[^>]*>\n(.*?)\n</tool_response>`)

// read looks for results, and for tools that are written into the prompt.
func (r *request) read() {
	_, manual, found := strings.Cut(r.System, "<tools>\n")
	if r.injected = len(r.Tools) == 0 && found; r.injected {
		for line := range strings.Lines(manual) {
			if tool := json.RawMessage(line); json.Valid(tool) && jsonrpc.Get(tool, "name") != nil {
				r.Tools = append(r.Tools, model.Tool{Name: plain(jsonrpc.Get(tool, "name")), Schema: jsonrpc.Get(tool, "parameters")})
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

// turn is how many answers the conversation has already.
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

// answer plays the turn of a request.
func (r *Recording) answer(req *request) (*answer, error) {
	if err := model.Check(&req.Request); err != nil {
		return nil, err
	}
	n := req.turn()
	if n >= len(r.Turns) {
		return nil, fmt.Errorf("the recording has %d turns, and this request comes after the last", len(r.Turns))
	}
	a, err := r.Turns[n].play(req, n)
	if err != nil {
		return nil, fmt.Errorf("turn %d: %w", n, err)
	}
	return a, nil
}

func (t *Turn) play(req *request, n int) (*answer, error) {
	if err := t.Expect.met(req); err != nil {
		return nil, err
	}
	text, err := expandText(t.Text, req.results)
	if err != nil {
		return nil, err
	}
	a := &answer{id: fmt.Sprintf("replay_%d", n), model: req.model, text: text}
	for i, c := range t.Calls {
		name, err := req.offered(c.Name)
		if err != nil {
			return nil, err
		}
		arguments, err := expand(c.Arguments, req.results)
		if err != nil {
			return nil, fmt.Errorf("call of %s: %w", c.Name, err)
		}
		a.calls = append(a.calls, &model.Call{ID: fmt.Sprintf("call_%d_%d", n, i), Name: name, Arguments: arguments})
	}
	if req.injected {
		a.write()
	}
	return a, nil
}

// write turns calls into text, in the form that the manual asks for.
func (a *answer) write() {
	var b strings.Builder
	b.WriteString(a.text)
	for _, c := range a.calls {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		object := jsonrpc.AppendString([]byte(`{"name": `), c.Name)
		object = append(append(object, `, "arguments": `...), c.Arguments...)
		b.WriteString("<tool_call>\n" + string(object) + "}\n</tool_call>")
	}
	a.text, a.calls = b.String(), nil
}
