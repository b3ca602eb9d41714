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

// The result types of the core protocol, and that of the Tasks extension.
const (
	Complete      ResultType = "complete"
	InputRequired ResultType = "input_required"
	Task          ResultType = "task"
)

// A CacheScope is the cacheScope of a result: who may share it.
type CacheScope string

// The scopes of server/utilities/caching.
const (
	Private CacheScope = "private"
	Public  CacheScope = "public"
)

// An Envelope is what stands around the own members of a result.
type Envelope struct {
	Type  ResultType      // empty means complete
	Meta  json.RawMessage // _meta, an object or nil
	TTL   int64           // milliseconds, for cacheable methods
	Scope CacheScope      // everything but Public means private
}

// Cacheable reports whether results of the method carry caching hints
// (server/utilities/caching, and of an extension that proxies must not take them from).
func Cacheable(method string) bool {
	switch method {
	case "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read",
		"skills/list", "skills/get": // the extension io.modelcontextprotocol/skills
		return true
	}
	return false
}

// MayBeTask reports whether the method may be answered with a task (ext-tasks,
// supported methods).
func MayBeTask(method string) bool { return method == "tools/call" }

// Askable reports whether the method may be answered with input_required
// (basic/patterns/mrtr).
func Askable(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// A Body is the own members of a result, as one object: encoded, or what encodes
// it to the end of a buffer.
type Body struct {
	JSON   []byte
	Append func(dst []byte) ([]byte, error) // where JSON is nil
	// TextOnly: it is known to hold nothing that a revision has no form for.
	TextOnly bool
}

func (b Body) appendTo(dst []byte) ([]byte, error) {
	if b.JSON != nil {
		return append(dst, b.JSON...), nil
	}
	return b.Append(dst)
}

// AppendResult appends the result object as the revision wants it. A body that
// is no object is an error.
func (r *Revision) AppendResult(dst []byte, method string, e Envelope, body Body) ([]byte, error) {
	if r.Modern {
		return appendModern(dst, method, e, body)
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

func appendModern(dst []byte, method string, e Envelope, body Body) ([]byte, error) {
	w := jsonrpc.NewObject(dst)
	w.String("resultType", string(cmp.Or(e.Type, Complete)))
	if err := w.EncodedMembers(body.appendTo); err != nil {
		return nil, err
	}
	if (e.Type == "" || e.Type == Complete) && Cacheable(method) {
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

// withoutReserved is meta without the members that only the modern revision
// defines; nil if nothing is left.
func withoutReserved(meta json.RawMessage) json.RawMessage {
	if len(meta) <= len("{}") {
		return nil
	}
	if !mayHold(meta, MetaReserved) {
		return meta
	}
	if holdsOnlyReserved(meta) { // as those of most results
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

func holdsOnlyReserved(meta json.RawMessage) bool {
	only := true
	jsonrpc.EachMember(meta, func(quoted, _ []byte) bool {
		only = bytes.HasPrefix(quoted[1:], []byte(MetaReserved)) && !bytes.HasPrefix(quoted[1:], []byte(MetaRelatedTask))
		return only
	})
	return only
}

// mayHold reports whether text can stand in a string of the JSON. A string may be
// written with escapes.
func mayHold(body []byte, text string) bool {
	return bytes.Contains(body, []byte(text)) || bytes.Contains(body, []byte(`\u`))
}

// Split takes a result apart as it came from a server of the revision: its own
// members, and what stands around them. A scope that is not known is dropped.
// A type that is not known, or that the method cannot have, is an error. What
// the modern revision put around results means nothing in one of a legacy
// server, and is dropped.
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
		if e.Type == Task || aboutTask(method) {
			around = aroundTask
		} else if ttl, err := strconv.ParseFloat(string(members.Get("ttlMs")), 64); err == nil && ttl > 0 {
			e.TTL = int64(min(ttl, 1<<50))
		}
		e.Scope = parseScope(members.Get("cacheScope"))
	}
	for _, name := range around {
		if members.Get(name) != nil {
			return jsonrpc.Without(result, around...), e, nil
		}
	}
	return result, e, nil
}

// What stands around a result, and around a task, whose ttlMs is its own.
var (
	aroundResult = []string{"resultType", "ttlMs", "cacheScope", "_meta"}
	aroundTask   = []string{"resultType", "_meta"}
)

func aboutTask(method string) bool { return strings.HasPrefix(method, "tasks/") }

func parseType(method string, raw json.RawMessage) (ResultType, error) {
	if raw == nil {
		return "", nil
	}
	name, _ := jsonrpc.Unquote(raw)
	switch t := ResultType(name); {
	case t == Complete, t == Task && MayBeTask(method):
		return t, nil
	case t == Task:
		return "", errors.New("the result cannot be of type task: only tools/call can become one")
	case t != InputRequired:
		return "", fmt.Errorf("expected a result of type complete, input_required or task, got %.80s", raw)
	case !Askable(method):
		return "", errors.New("the result cannot be of type input_required: only tools/call, prompts/get and resources/read can ask for input")
	}
	return InputRequired, nil
}

func parseScope(raw json.RawMessage) CacheScope {
	name, _ := jsonrpc.Unquote(raw)
	switch scope := CacheScope(name); scope {
	case Private, Public:
		return scope
	}
	return ""
}
