package revision

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// An InputRequest is an entry of inputRequests: a request of the server to the client.
type InputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitzero"` // an object; nil if absent
}

// ParseInputRequired parses a result of type [InputRequired], given by its own members. It returns
// an error if a request has a form that the revision does not allow, or if the result contains
// neither requests nor a state.
func ParseInputRequired(body json.RawMessage) (requests map[string]InputRequest, state *string, err error) {
	if raw := jsonrpc.Get(body, "requestState"); raw != nil {
		text, ok := jsonrpc.Unquote(raw)
		if !ok {
			return nil, nil, fmt.Errorf("requestState: expected a string, got %.40s", raw)
		}
		state = &text
	}
	raw := jsonrpc.Get(body, "inputRequests")
	if raw != nil && raw[0] != '{' {
		return nil, nil, fmt.Errorf("inputRequests: expected an object, got %.40s", raw)
	}
	jsonrpc.EachMember(raw, func(quoted, value []byte) bool {
		key, _ := jsonrpc.Unquote(quoted)
		request, fault := parseInputRequest(value)
		if fault != nil {
			err = fmt.Errorf("inputRequests: %q: %w", key, fault)
			return false
		}
		if requests == nil {
			requests = make(map[string]InputRequest)
		}
		requests[key] = request
		return true
	})
	if err != nil {
		return nil, nil, err
	}
	if len(requests) == 0 && state == nil {
		return nil, nil, errors.New("input_required with neither inputRequests nor requestState")
	}
	return requests, state, nil
}

func parseInputRequest(raw []byte) (InputRequest, error) {
	params := jsonrpc.Get(raw, "params")
	method, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "method"))
	switch method {
	case "elicitation/create", "sampling/createMessage":
	case "roots/list":
		if params == nil || string(params) == "null" {
			return InputRequest{Method: method}, nil
		}
	default:
		return InputRequest{}, fmt.Errorf("expected elicitation/create, sampling/createMessage or roots/list as the method, got %.80q", method)
	}
	if !isObject(params) {
		return InputRequest{}, fmt.Errorf("%s: expected params to be an object, got %.40s", method, params)
	}
	return InputRequest{Method: method, Params: params}, nil
}
