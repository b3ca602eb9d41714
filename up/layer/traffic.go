package layer

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	secrets "github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/traffic"
)

// Shown returns a message of g for observers. It omits arguments that servers do not get, parts of
// results that clients do not get, and values that settings hide in the audit log.
func (p *Plan) Shown(g *gateway.Gateway, e *traffic.Event) json.RawMessage {
	if len(p.redacted) == 0 && p.unlogged.None() {
		return e.Message
	}
	message := e.Message[jsonrpc.SkipSpace(e.Message, 0):]
	switch e.Kind {
	case traffic.Request:
		params := jsonrpc.Get(message, "params")
		arguments := jsonrpc.Get(params, "arguments")
		if arguments == nil {
			return message
		}
		hidden := p.unlogged.Hide(p.hideArguments(g, e, e.Name, arguments))
		return jsonrpc.With(message, "params", jsonrpc.With(params, "arguments", hidden))
	case traffic.Response:
		result := jsonrpc.Get(message, "result")
		if len(result) == 0 || result[0] != '{' {
			return message
		}
		places := p.placesOf(g, e, e.Name).Results
		hidden := places.HideResult(result)
		if task := jsonrpc.Get(hidden, "result"); task != nil { // the result of tasks/get has a result inside
			hidden = jsonrpc.With(hidden, "result", p.unlogged.Hide(places.HideResult(task)))
		}
		return jsonrpc.With(message, "result", p.unlogged.Hide(hidden))
	case traffic.Note:
		headers := jsonrpc.Get(message, "requestHeaders")
		if headers == nil || p.unlogged.None() && p.placesOf(g, e, e.Name).Arguments.None() {
			return message
		}
		return withoutArguments(message, headers)
	}
	return message
}

// placesOf returns the places to hide in calls of a tool. The name tool is the one in messages on
// the hop of e. For a call that reaches no server, placesOf returns the places of all tools.
func (p *Plan) placesOf(g *gateway.Gateway, e *traffic.Event, tool string) (hidden redact.Places) {
	server := e.Server
	if e.Hop == traffic.Client {
		if e.Method != "tools/call" {
			return p.hiddenOfAny() // a URI may begin like the name of a tool
		}
		if server, tool = g.Destination(tool); server == "" {
			return p.hiddenOfAny()
		}
	}
	o, some := p.redacted[server]
	switch {
	case !some:
	case e.Method == "tools/call" && tool != "":
		hidden = o.Of(tool)
	case e.Method == "resources/read":
		hidden = o.All
	case strings.HasPrefix(e.Method, "tasks/"), e.Method == "", e.Method == "tools/call": // these events do not contain the name of the tool, and the request of a call may have been missed
		hidden = o.Any()
	}
	return hidden
}

// hideArguments hides places in the arguments of a tool. A call of call_tool contains the arguments
// of another tool.
func (p *Plan) hideArguments(g *gateway.Gateway, e *traffic.Event, tool string, arguments json.RawMessage) json.RawMessage {
	hidden := p.placesOf(g, e, tool).Arguments.Hide(arguments)
	name, _ := jsonrpc.Unquote(jsonrpc.Get(arguments, "name"))
	inner := jsonrpc.Get(hidden, "arguments")
	if text, is := jsonrpc.Unquote(inner); is { // some models write the arguments as a string
		if inner = json.RawMessage(text); jsonrpc.Valid(inner, jsonrpc.Limits{}) != nil {
			return hidden
		}
	}
	if inner = inner[jsonrpc.SkipSpace(inner, 0):]; e.Hop != traffic.Client || len(inner) == 0 || inner[0] != '{' {
		return hidden
	}
	return jsonrpc.With(hidden, "arguments", p.unlogged.Hide(p.placesOf(g, e, name).Arguments.Hide(inner)))
}

// withoutArguments returns a note without the values of request headers that repeat arguments.
func withoutArguments(note, headers json.RawMessage) json.RawMessage {
	w, hides := jsonrpc.NewObject(make([]byte, 0, len(headers))), false
	jsonrpc.EachMember(headers, func(quoted, values []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		if strings.HasPrefix(strings.ToLower(name), "mcp-param-") {
			w.String(name, secrets.Hidden)
			hides = true
		} else {
			w.Raw(name, values)
		}
		return true
	})
	if !hides {
		return note
	}
	return jsonrpc.With(note, "requestHeaders", w.Bytes())
}
