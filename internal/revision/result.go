package revision

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A ResultType is the resultType of a result.
type ResultType string

// Result types of the core protocol, and of the Tasks extension.
const (
	Complete      ResultType = "complete"
	InputRequired ResultType = "input_required"
	Task          ResultType = "task"
)

// A CacheScope is the cacheScope of a result: the users to whom a cached copy may be sent.
type CacheScope string

// The scopes that server/utilities/caching defines.
const (
	Private CacheScope = "private"
	Public  CacheScope = "public"
)

// An Envelope contains the members of a result that are not its own.
type Envelope struct {
	Type  ResultType      // empty means complete
	Meta  json.RawMessage // _meta, an object or nil
	TTL   int64           // in milliseconds; for cacheable methods
	Scope CacheScope      // any value except Public means Private
}

// A Body contains the own members of a result as one object, either encoded or as a function that
// encodes it.
type Body struct {
	JSON   []byte
	Append func(dst []byte) ([]byte, error) // used if JSON is nil
	Kept   *Kept                            // the forms of JSON, if it is sent to many clients; otherwise nil
	// TextOnly is set if the result is known to contain only parts that every revision can express.
	TextOnly bool
}

func (b Body) appendTo(dst []byte) ([]byte, error) {
	if b.JSON != nil {
		return append(dst, b.JSON...), nil
	}
	return b.Append(dst)
}

// AppendResult appends a result object in the form of the revision. If body is not an object, it
// returns an error.
func (r *Revision) AppendResult(dst []byte, method string, e Envelope, body Body) ([]byte, error) {
	if r.Modern {
		return r.appendModern(dst, method, e, body)
	}
	w := jsonrpc.NewObject(dst)
	if err := w.EncodedMembers(func(dst []byte) ([]byte, error) { return r.appendLowered(dst, method, body) }); err != nil {
		return nil, err
	}
	if meta := withoutReserved(e.Meta); meta != nil {
		w.Raw("_meta", meta)
	}
	return w.Bytes(), nil
}

func (r *Revision) appendLowered(dst []byte, method string, body Body) ([]byte, error) {
	if body.Kept != nil {
		return append(dst, body.Kept.form(r)...), nil
	}
	from := len(dst)
	dst, err := body.appendTo(dst)
	if err != nil || body.TextOnly {
		return dst, err
	}
	if lowered := r.lower(dst[from:], method); len(lowered) > 0 && &lowered[0] != &dst[from] {
		return append(dst[:from], lowered...), nil
	}
	return dst, nil
}

func (r *Revision) appendModern(dst []byte, method string, e Envelope, body Body) ([]byte, error) {
	w := jsonrpc.NewObject(dst)
	w.String("resultType", string(cmp.Or(e.Type, Complete)))
	members := body.appendTo
	if r != Latest() { // the latest revision can express everything
		members = func(dst []byte) ([]byte, error) { return r.appendLowered(dst, method, body) }
	}
	if err := w.EncodedMembers(members); err != nil {
		return nil, err
	}
	if (e.Type == "" || e.Type == Complete) && MethodNamed(method).Cached {
		w.Int("ttlMs", e.TTL)
		scope := Private
		if e.Scope == Public {
			scope = Public
		}
		w.String("cacheScope", string(scope))
	}
	if e.Meta != nil {
		w.Raw("_meta", e.Meta)
	}
	return w.Bytes(), nil
}

// withoutReserved returns meta without the members that the modern revision defines. If no member
// is left, it returns nil.
func withoutReserved(meta json.RawMessage) json.RawMessage {
	if len(meta) <= len("{}") {
		return nil
	}
	if !mayHold(meta, MetaReserved) {
		return meta
	}
	only := true
	jsonrpc.EachMember(meta, func(quoted, _ []byte) bool {
		only = bytes.HasPrefix(quoted[1:], []byte(MetaReserved)) && !bytes.HasPrefix(quoted[1:], []byte(MetaRelatedTask))
		return only
	})
	if only { // the case for most results
		return nil
	}
	var names []string
	jsonrpc.EachMember(meta, func(quoted, _ []byte) bool {
		if name, _ := jsonrpc.Unquote(quoted); strings.HasPrefix(name, MetaReserved) && name != MetaRelatedTask {
			names = append(names, name)
		}
		return true
	})
	if kept := jsonrpc.Without(meta, names...); len(kept) > len("{}") {
		return kept
	}
	return nil
}

// mayHold reports whether a string in the JSON may contain text. Strings can contain escapes.
func mayHold(body []byte, text string) bool {
	return bytes.Contains(body, []byte(text)) || bytes.Contains(body, []byte(`\u`))
}

// Split splits a result of a server of the revision into its own members and the Envelope around
// them. It drops an unknown scope. If the type is unknown or impossible for the method, it returns
// an error. In the result of a legacy server, members of the modern Envelope have no meaning and
// are dropped.
func (r *Revision) Split(method string, result json.RawMessage, members *jsonrpc.Members) (json.RawMessage, Envelope, error) {
	var e Envelope
	if e.Meta = members.Get("_meta"); len(e.Meta) > 0 && e.Meta[0] != '{' {
		e.Meta = nil
	}
	around := aroundResult
	if r.Modern {
		var err error
		if e.Type, err = parseType(method, members.Get("resultType")); err != nil {
			return nil, Envelope{}, err
		}
		if e.Type == Task || strings.HasPrefix(method, "tasks/") {
			around = aroundTask
		} else if ttl, err := strconv.ParseFloat(string(members.Get("ttlMs")), 64); err == nil && ttl > 0 {
			e.TTL = int64(min(ttl, 1<<50))
		}
		name, _ := jsonrpc.Unquote(members.Get("cacheScope"))
		if scope := CacheScope(name); scope == Private || scope == Public {
			e.Scope = scope
		}
	}
	for _, name := range around {
		if members.Get(name) != nil {
			return members.Without(around...), e, nil
		}
	}
	return result, e, nil
}

// Filled returns a complete result from Split and adds the required member if it is missing. Some
// servers omit empty members, and strict clients reject such results.
func Filled(method string, result json.RawMessage, members *jsonrpc.Members) json.RawMessage {
	m := MethodNamed(method)
	if m.Member == "" {
		return result
	}
	value := members.Get(m.Member)
	if m.Task && jsonrpc.Get(members.Get("task"), "taskId") != nil {
		return result // a task of 2025-11-25
	}
	if value == nil || string(value) == "null" {
		return jsonrpc.With(result, m.Member, []byte(m.Empty))
	}
	if method == "completion/complete" && isObject(value) {
		if values := jsonrpc.Get(value, "values"); values == nil || string(values) == "null" {
			return jsonrpc.With(result, m.Member, jsonrpc.With(value, "values", []byte(`[]`)))
		}
	}
	return result
}

// The members around a result, and around a task. The ttlMs of a task is one of its own members.
var (
	aroundResult = []string{"resultType", "ttlMs", "cacheScope", "_meta"}
	aroundTask   = []string{"resultType", "_meta"}
)

func parseType(method string, raw json.RawMessage) (ResultType, error) {
	if raw == nil {
		return "", nil
	}
	name, _ := jsonrpc.Unquote(raw)
	switch t := ResultType(name); {
	case t == Complete, t == Task && MethodNamed(method).Task:
		return t, nil
	case t == Task:
		return "", errors.New("the result cannot be of type task: only tools/call can become one")
	case t != InputRequired:
		return "", fmt.Errorf("expected a result of type complete, input_required or task, got %.80s", raw)
	case !MethodNamed(method).Asks:
		return "", errors.New("the result cannot be of type input_required: only tools/call, prompts/get and resources/read can ask for input")
	}
	return InputRequired, nil
}
