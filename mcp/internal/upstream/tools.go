package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/paramheader"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
)

// Limits of the stored facts about one server's tools.
const (
	maxTools    = 10_000
	maxToolName = 1 << 10 // bytes; tools with longer names are not stored
)

// A toolTable holds facts about a server's tools from the last lists: which arguments are repeated
// in headers, and which calls may be repeated.
type toolTable struct {
	listed atomic.Bool // set after every tool was listed once

	mu    sync.RWMutex
	tools map[string]toolFacts // only tools with facts
}

type toolFacts struct {
	headers    []paramheader.Field
	repeatable bool // set if the annotations claim that a second call changes nothing
	mayBeTask  bool // set if calls can be tasks of 2025-11-25
}

var hints = [][]byte{[]byte("idempotentHint"), []byte("readOnlyHint"), []byte("taskSupport")}

// learn stores the facts about the tools in a list. It returns the list without those tools with
// invalid header annotations for which omit returns true.
func (t *toolTable) learn(list json.RawMessage, omit func(tool string, err error) bool) json.RawMessage {
	annotated := paramheader.Mentions(list)
	if !annotated && !slices.ContainsFunc(hints, func(hint []byte) bool { return bytes.Contains(list, hint) }) && t.empty() {
		return list
	}
	omitted := false
	kept := jsonrpc.NewArray(nil)
	facts := map[string]toolFacts{}
	jsonrpc.EachElement(jsonrpc.Get(list, "tools"), func(tool []byte) bool {
		name, _ := jsonrpc.Unquote(jsonrpc.Get(tool, "name"))
		fields, err := paramheader.Fields(jsonrpc.Get(tool, "inputSchema"))
		if err != nil && omit(name, err) {
			omitted = true
			return true
		}
		facts[name] = toolFacts{headers: fields, repeatable: repeatable(jsonrpc.Get(tool, "annotations")), mayBeTask: mayBeTask(tool)}
		if annotated {
			kept.Element(tool)
		}
		return true
	})
	t.remember(facts)
	if !omitted {
		return list
	}
	w := jsonrpc.NewObject(make([]byte, 0, len(list)))
	w.Members(list, "tools")
	w.Raw("tools", kept.Bytes())
	return w.Bytes()
}

func mayBeTask(tool json.RawMessage) bool {
	support, _ := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(tool, "execution"), "taskSupport"))
	return support == "optional" || support == "required"
}

func repeatable(annotations json.RawMessage) bool {
	return string(jsonrpc.Get(annotations, "idempotentHint")) == "true" || string(jsonrpc.Get(annotations, "readOnlyHint")) == "true"
}

func (t *toolTable) empty() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.tools) == 0
}

// remember replaces the facts about the listed tools.
func (t *toolTable) remember(facts map[string]toolFacts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tools == nil || len(t.tools) > maxTools {
		t.tools = make(map[string]toolFacts)
	}
	for name, f := range facts {
		if f.headers == nil && !f.repeatable && !f.mayBeTask || len(name) > maxToolName {
			delete(t.tools, name)
		} else {
			t.tools[name] = f
		}
	}
}

func (t *toolTable) of(tool string) toolFacts {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.tools[tool]
}

// check compares the headers of a call over HTTP with its arguments, if the tool is known. A proxy
// that reads the body must do this (2026-07-28 basic/transports/streamable-http, server
// validation).
func (t *toolTable) check(req *mcp.Request) error {
	if err := paramheader.Check(t.of(req.Name).headers, orEmptyObject(req.Arguments), req.ParamHeaders); err != nil {
		return mcp.Errorf(mcp.CodeHeaderMismatch, "tool %q: %v", req.Name, err)
	}
	return nil
}

// addHeaders sets the headers that repeat arguments of a call.
func (t *toolTable) addHeaders(header http.Header, req *mcp.Request) {
	for _, f := range t.of(req.Name).headers {
		if value, present, err := f.Value(req.Arguments); err == nil && present {
			header.Set(f.Header, paramheader.Encode(value))
		}
	}
}

// repeats reports whether a request may be sent again after its response was lost. This holds if
// the request only reads, or if the tool's annotations allow it.
func (t *toolTable) repeats(req *mcp.Request) bool {
	return req.Method != methodToolsCall || t.of(req.Name).repeatable
}

func orEmptyObject(params json.RawMessage) json.RawMessage {
	if len(params) == 0 {
		return json.RawMessage(`{}`)
	}
	return params
}

// learnPages lists the tools for the client of req, and learns all pages. If a later page fails, or
// a cursor repeats, the list ends there.
func (c *conn) learnPages(ctx context.Context, s *session, req *mcp.Request, ask func(context.Context, *session, *mcp.Request) (mcp.Result, error)) error {
	var cursor json.RawMessage
	seen := map[[sha256.Size]byte]bool{}
	for page := range maxPages {
		list := &mcp.Request{Method: methodToolsList, Meta: req.Meta, Peer: noPeer{}}
		list.Meta.ProgressToken = nil
		if cursor != nil {
			w := jsonrpc.NewObject(nil)
			w.Raw("cursor", cursor)
			list.Params = w.Bytes()
		}
		result, err := ask(ctx, s, list)
		if err != nil {
			if page == 0 || ctx.Err() != nil {
				return err
			}
			c.met(ctx, tolerance.PageFailed, methodToolsList)
			return nil
		}
		c.tools.learn(result.JSON, c.omits(s))
		cursor = jsonrpc.Get(result.JSON, "nextCursor")
		if cursor == nil {
			return nil
		}
		at := sha256.Sum256(cursor)
		if seen[at] {
			c.met(ctx, tolerance.RepeatedCursor, methodToolsList)
			return nil
		}
		seen[at] = true
	}
	c.met(ctx, tolerance.EndlessList, methodToolsList)
	return nil
}
