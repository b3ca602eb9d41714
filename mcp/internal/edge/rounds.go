package edge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// rounds is what a request knows of the questions it asked, in this round and
// in those before (basic/patterns/mrtr).
type rounds struct {
	answers map[string]json.RawMessage // by key: all the client gave so far
	used    map[string]bool            // answers a Handler has asked for
	asked   []question                 // questions without an answer, in order
	repeats map[string]int             // how often a question of this content was asked
}

type question struct {
	key, method string
	params      json.RawMessage
}

// sealedState is what travels in requestState.
type sealedState struct {
	Expires int64                      `json:"e"` // Unix seconds
	Answers map[string]json.RawMessage `json:"a,omitempty"`
	State   map[string]json.RawMessage `json:"s,omitempty"`
}

// resume takes up the answers and the state that the client sent along.
func (c *modernCall) resume(m *jsonrpc.Message) *jsonrpc.Error {
	c.req.State = new(mcp.State)
	responses, state := m.Members.Get("inputResponses"), m.Members.Get("requestState")
	if responses == nil && state == nil {
		return nil
	}
	if !revision.Askable(m.Method) {
		return nil // members that mean nothing here are ignored, like all unknown ones
	}
	c.rounds.answers = map[string]json.RawMessage{}
	if state != nil {
		if fault := c.open(state); fault != nil {
			return fault
		}
	}
	if responses == nil {
		return nil
	}
	if responses[0] != '{' {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "inputResponses: expected an object, got %.40s", responses)
	}
	var fault *jsonrpc.Error
	jsonrpc.EachMember(responses, func(quoted, value []byte) bool {
		key, _ := jsonrpc.Unquote(quoted)
		if value[0] != '{' {
			fault = jsonrpc.Errorf(jsonrpc.InvalidParams, "inputResponses: %q: expected an object, got %.40s", key, value)
		}
		c.rounds.answers[key] = value
		return fault == nil && len(c.rounds.answers) <= 4*maxQuestions
	})
	return fault
}

// open unseals requestState and checks that it belongs to this very request.
func (c *modernCall) open(raw json.RawMessage) *jsonrpc.Error {
	text, ok := jsonrpc.Unquote(raw)
	if !ok || len(text) > maxState {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState: expected the string that this server sent")
	}
	plain, err := c.edge.seal.Open(text, c.binding())
	if err != nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState: %v, or it belongs to another request or user; send the request again without it", err)
	}
	var s sealedState
	if err := json.Unmarshal(plain, &s); err != nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState: %v", err)
	}
	if time.Now().Unix() >= s.Expires {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState: expired; send the request again without it")
	}
	for key, answer := range s.Answers {
		c.rounds.answers[key] = answer
	}
	for key, value := range s.State {
		c.req.State.Set(key, value)
	}
	return nil
}

// binding is what requestState is bound to: principal, method and parameters,
// the latter in canonical form, as a client may order them anew.
func (c *modernCall) binding() []byte {
	h := sha256.New()
	if p := c.req.Principal; p != nil {
		fmt.Fprintf(h, "%q %q ", p.Issuer, p.Subject)
	}
	fmt.Fprintf(h, "%q ", c.req.Method)
	params, _ := jsonrpc.AppendEdited(nil, c.req.Params, "_meta", "inputResponses", "requestState")
	canonical := jsontext.Value(append(params, '}'))
	if canonical.Canonicalize() != nil {
		canonical = jsontext.Value(params)
	}
	h.Write(canonical)
	return h.Sum(nil)
}

// Ask finds the client's answer among those it sent along; if it is not there,
// the question goes out with the response.
func (c *modernCall) Ask(_ context.Context, q mcp.Question) (json.RawMessage, error) {
	if err := c.req.Meta.Capabilities.Allow(q); err != nil {
		return nil, err
	}
	if !revision.Askable(c.req.Method) {
		return nil, mcp.Errorf(mcp.CodeInternalError, "%s asked the client something (%s); only tools/call, prompts/get and resources/read can", c.req.Method, q.Method)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.rounds.key(q)
	if answer := c.rounds.answers[key]; answer != nil {
		if c.rounds.used == nil {
			c.rounds.used = map[string]bool{}
		}
		c.rounds.used[key] = true
		return answer, nil
	}
	if slices.ContainsFunc(c.rounds.asked, func(other question) bool { return other.key == key }) {
		return nil, mcp.ErrInputRequired
	}
	if len(c.rounds.asked) >= maxQuestions {
		return nil, mcp.Errorf(mcp.CodeInternalError, "more than %d questions in one round", maxQuestions)
	}
	c.rounds.asked = append(c.rounds.asked, question{key, q.Method, q.Params})
	return nil, mcp.ErrInputRequired
}

// key names a question by its content, so that a Handler that runs again finds
// the answer whatever order it asks in.
func (r *rounds) key(q mcp.Question) string {
	if q.Key != "" {
		return q.Key
	}
	sum := sha256.Sum256(append(append([]byte(q.Method), ' '), q.Params...))
	kind, _, _ := strings.Cut(q.Method, "/")
	key := kind + "-" + hex.EncodeToString(sum[:4])
	if r.repeats == nil {
		r.repeats = map[string]int{}
	}
	r.repeats[key]++
	if n := r.repeats[key]; n > 1 {
		key += "-" + strconv.Itoa(n)
	}
	return key
}

// inputRequired is the result that asks the client what is still open.
func (c *modernCall) inputRequired() (mcp.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := sealedState{Expires: time.Now().Add(c.edge.options.StateTime).Unix(), State: c.req.State.All()}
	for key := range c.rounds.used {
		if state.Answers == nil {
			state.Answers = map[string]json.RawMessage{}
		}
		state.Answers[key] = c.rounds.answers[key]
	}
	plain, err := json.Marshal(state)
	if err != nil {
		return mcp.Result{}, err
	}
	sealed := c.edge.seal.Seal(plain, c.binding())
	if len(sealed) > maxState {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the state between two rounds is too large: %d bytes, at most %d", len(sealed), maxState)
	}
	out := []byte(`{`)
	if len(c.rounds.asked) > 0 {
		out = append(c.appendQuestions(append(out, `"inputRequests":{`...)), `},`...)
	}
	out = append(append(append(out, `"requestState":"`...), sealed...), `"}`...)
	return mcp.Result{Type: "input_required", JSON: out}, nil
}

func (c *modernCall) appendQuestions(out []byte) []byte {
	for i, q := range c.rounds.asked {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonrpc.AppendString(out, q.key), `:{"method":`...)
		out = jsonrpc.AppendString(out, q.method)
		out = append(out, `,"params":`...)
		if q.params == nil {
			out = append(out, `{}`...) // there are clients that insist on it
		}
		out = append(append(out, q.params...), '}')
	}
	return out
}
