package edge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/loose"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// rounds holds the requests to the client that a call made in this round and earlier ones
// (basic/patterns/mrtr).
type rounds struct {
	responses map[string]json.RawMessage // by key: all responses that the client sent so far
	used      map[string]bool            // keys of responses that a Handler has used
	asked     []openRequest              // requests without a response, in order
	repeats   map[string]int             // number of requests by content
	over      bool                       // set when the Handler has returned
}

type openRequest struct {
	key, method string
	params      json.RawMessage
}

// A sealedState is the content of requestState.
type sealedState struct {
	Expires   int64                      `json:"e"` // Unix seconds
	Round     int                        `json:"r"` // number of the round in which the client sends it back
	Responses map[string]json.RawMessage `json:"a,omitempty"`
	State     map[string]json.RawMessage `json:"s,omitempty"`
	Replica   string                     `json:"p,omitempty"` // process that must get this round; empty for any
	Bound     string                     `json:"b,omitempty"` // id of the round there
}

// resume reads the responses and the state that the client sent.
func (c *modernCall) resume(m *jsonrpc.Message) *jsonrpc.Error {
	c.req.State = &c.state
	responses, state := m.Members.Get("inputResponses"), m.Members.Get("requestState")
	if responses == nil && state == nil {
		return nil
	}
	if !revision.MethodNamed(m.Method).Asks {
		return nil // other methods ignore both, like unknown members
	}
	c.rounds.responses = map[string]json.RawMessage{}
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
		c.rounds.responses[key] = value
		return fault == nil && len(c.rounds.responses) <= 4*maxServerRequests
	})
	return fault
}

// unseal decrypts requestState and checks that it belongs to this request.
func (c *modernCall) unseal(raw json.RawMessage) (s sealedState, fault *jsonrpc.Error) {
	text, ok := jsonrpc.Unquote(raw)
	if !ok || len(text) > maxState {
		return s, jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState: expected the string that this server sent")
	}
	plain, err := c.edge.seal.Open(text, c.binding())
	if err != nil {
		return s, jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState: %v, or it belongs to another request or user; send the request again without it", err)
	}
	if err := json.Unmarshal(plain, &s); err != nil {
		return s, jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState: %v", err)
	}
	if time.Now().Unix() >= s.Expires {
		return s, jsonrpc.Errorf(jsonrpc.InvalidParams, "requestState: expired; send the request again without it")
	}
	return s, nil
}

// open reads the content of requestState.
func (c *modernCall) open(raw json.RawMessage) *jsonrpc.Error {
	s, fault := c.unseal(raw)
	if fault != nil {
		return fault
	}
	if s.Bound != "" {
		c.edge.bound.came(s.Bound)
	}
	c.req.Round = s.Round
	maps.Copy(c.rounds.responses, s.Responses)
	for key, value := range s.State {
		c.req.State.Set(key, value)
	}
	return nil
}

// binding returns a hash of the principal, the method and the params, which the requestState is
// bound to. The params are in canonical form, as a client may order them differently.
func (c *modernCall) binding() []byte {
	h := sha256.New()
	if p := c.req.Principal; p != nil {
		fmt.Fprintf(h, "%q %q %q ", p.Issuer, p.Subject, p.ClientID)
	}
	fmt.Fprintf(h, "%q ", c.req.Method)
	params := jsonrpc.NewObject(nil)
	params.Members(c.req.Params, "_meta", "inputResponses", "requestState")
	canonical, ok := jsonrpc.Canonical(params.Bytes())
	if !ok { // only identical bytes match then
		canonical = params.Bytes()
	}
	h.Write(canonical)
	return h.Sum(nil)
}

// Ask returns the client's response if the request contains it. Otherwise it returns
// [mcp.ErrInputRequired], and the result of this round contains the request to the client.
func (c *modernCall) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	if err := c.req.Meta.Capabilities.Allow(q); err != nil {
		return nil, err
	}
	if c.req.Method == methodListen {
		return nil, mcp.ErrInputRequired // a subscription has no rounds
	}
	if !revision.MethodNamed(c.req.Method).Asks {
		return nil, mcp.Errorf(mcp.CodeInternalError, "%s asked the client something (%s); only tools/call, prompts/get and resources/read can", c.req.Method, q.Method)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rounds.over {
		return nil, cannotAsk(q, errOver)
	}
	key := c.rounds.key(q)
	if response := c.rounds.responses[key]; response != nil {
		if c.rounds.used == nil {
			c.rounds.used = map[string]bool{}
		}
		c.rounds.used[key] = true
		return loose.ReadAnswer(ctx, c.edge.log, q.Method, q.Params, response), nil
	}
	if slices.ContainsFunc(c.rounds.asked, func(other openRequest) bool { return other.key == key }) {
		return nil, mcp.ErrInputRequired
	}
	if len(c.rounds.asked) >= maxServerRequests {
		return nil, mcp.Errorf(mcp.CodeInternalError, "more than %d requests to the client in one round", maxServerRequests)
	}
	c.rounds.asked = append(c.rounds.asked, openRequest{key, q.Method, q.Params})
	return nil, mcp.ErrInputRequired
}

// endAsking makes later calls of Ask fail.
func (c *modernCall) endAsking() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rounds.over = true
}

// warnUnasked logs a warning if the Handler asked the client something and then returned a final
// result instead of [mcp.ErrInputRequired]. The client is then never asked.
func (c *modernCall) warnUnasked(result *mcp.Result) {
	c.mu.Lock()
	asked := c.rounds.asked
	c.mu.Unlock()
	if len(asked) > 0 && result.IsComplete() {
		c.edge.log.Warn("mcp: the client is not asked, because the handler returned a result; return the error of Elicit, Sample or Roots unchanged",
			"method", c.req.Method, "name", c.req.Name, "asked", asked[0].method)
	}
}

// madeKey matches keys that are made from the content of a request.
var madeKey = regexp.MustCompile(`^[a-z]+-[0-9a-f]{8}(-[0-9]+)?$`)

// key returns the key of a request to the client. If the request has none, the key is made from its
// content. So a Handler that runs again finds the response even if its requests have another order.
func (r *rounds) key(q mcp.ServerRequest) string {
	if madeKey.MatchString(q.Key) {
		return "key-" + q.Key // prevents a server from using the key that was made for a request of its middleware
	}
	if q.Key != "" {
		return q.Key
	}
	sum := sha256.Sum256(slices.Concat([]byte(q.Method), []byte{' '}, q.Params))
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

// inputRequired returns the result that requests the missing responses from the client.
func (c *modernCall) inputRequired(ctx context.Context) (mcp.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := sealedState{Expires: time.Now().Add(c.edge.options.StateTime).Unix(), Round: c.req.Round + 1, State: c.req.State.All()}
	if c.req.State.Bound() && c.edge.options.Replica != "" {
		state.Replica, state.Bound = c.edge.options.Replica, c.edge.bound.add(share.Of(ctx), time.Now())
	}
	for key := range c.rounds.used {
		if state.Responses == nil {
			state.Responses = map[string]json.RawMessage{}
		}
		state.Responses[key] = c.rounds.responses[key]
	}
	plain, err := json.Marshal(state)
	if err != nil {
		return mcp.Result{}, err
	}
	sealed := c.edge.seal.Seal(plain, c.binding())
	if len(sealed) > maxState {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the state between two rounds is too large: %d bytes, at most %d", len(sealed), maxState)
	}
	w := jsonrpc.NewObject(nil)
	if len(c.rounds.asked) > 0 {
		w.Object("inputRequests")
		for _, q := range c.rounds.asked {
			w.Object(q.key)
			w.String("method", q.method)
			if q.params == nil {
				w.Raw("params", json.RawMessage(`{}`)) // some clients require it
			} else {
				w.Raw("params", q.params)
			}
			w.End()
		}
		w.End()
	}
	w.String("requestState", sealed)
	return mcp.Result{Type: "input_required", JSON: w.Bytes()}, nil
}
