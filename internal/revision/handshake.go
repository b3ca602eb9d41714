package revision

import (
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Handshake converts the result of server/discover to a result of initialize. discovered contains
// the result's own members, and meta is its _meta.
func Handshake(r *Revision, discovered, meta json.RawMessage) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.String("protocolVersion", r.Name)
	writeCapabilities(&w, discovered, r.lowerCapabilities)
	if info := jsonrpc.Get(meta, MetaServerInfo); isObject(info) {
		w.Raw("serverInfo", info)
	} else {
		w.Object("serverInfo")
		w.String("name", "unknown")
		w.String("version", "0")
		w.End()
	}
	writeInstructions(&w, discovered)
	return w.Bytes()
}

// Discovery converts the result of initialize to a result of server/discover. discovered contains
// the result's own members, and meta is its _meta.
func Discovery(initialized json.RawMessage) (discovered, meta json.RawMessage) {
	w := jsonrpc.NewObject(nil)
	writeModern(&w, "supportedVersions")
	writeCapabilities(&w, initialized, raiseCapabilities)
	writeInstructions(&w, initialized)
	if info := jsonrpc.Get(initialized, "serverInfo"); isObject(info) {
		meta = jsonrpc.With(nil, MetaServerInfo, info)
	}
	return w.Bytes(), meta
}

// writeCapabilities writes the capabilities. If they are not an object, it writes an empty one.
func writeCapabilities(w *jsonrpc.Writer, from json.RawMessage, as func(json.RawMessage) json.RawMessage) {
	if capabilities := jsonrpc.Get(from, "capabilities"); isObject(capabilities) {
		w.Raw("capabilities", as(capabilities))
		return
	}
	w.Object("capabilities")
	w.End()
}

func writeInstructions(w *jsonrpc.Writer, from json.RawMessage) {
	if instructions, ok := jsonrpc.Unquote(jsonrpc.Get(from, "instructions")); ok {
		w.String("instructions", instructions)
	}
}

// ServerRequestParams converts the params of a request of a server to the form that a client of the
// revision expects.
func (r *Revision) ServerRequestParams(method string, params json.RawMessage) json.RawMessage {
	if params = r.lower(params, method); r.Modern || method != "elicitation/create" {
		return params
	}
	mode := string(jsonrpc.Get(params, "mode"))
	switch {
	case !r.ElicitationModes && mode != "":
		return jsonrpc.Without(params, "mode")
	case mode == `"url"` && jsonrpc.Get(params, "elicitationId") == nil:
		return jsonrpc.With(params, "elicitationId", jsonrpc.AppendString(nil, rand.Text()))
	}
	return params
}

// ServerRequestResult converts the result of a client to the form that a server of the revision
// expects. Before 2025-11-25 the content of a sampling result is a single block. Several texts are
// joined; other blocks cannot be converted and stay unchanged.
func (r *Revision) ServerRequestResult(method string, result json.RawMessage) json.RawMessage {
	if r.ElicitationModes || method != "sampling/createMessage" {
		return result
	}
	content := jsonrpc.Get(result, "content")
	if len(content) == 0 || content[0] != '[' {
		return result
	}
	var one json.RawMessage
	var texts []string
	n := 0
	jsonrpc.EachElement(content, func(block []byte) bool {
		one, n = block, n+1
		if string(jsonrpc.Get(block, "type")) == `"text"` {
			text, _ := jsonrpc.Unquote(jsonrpc.Get(block, "text"))
			texts = append(texts, text)
		}
		return true
	})
	switch {
	case n == 1:
		return jsonrpc.With(result, "content", one)
	case len(texts) < n:
		return result
	}
	w := jsonrpc.NewObject(nil)
	w.String("type", "text")
	w.String("text", strings.Join(texts, "\n"))
	return jsonrpc.With(result, "content", w.Bytes())
}
