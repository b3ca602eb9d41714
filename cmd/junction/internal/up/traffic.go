package up

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	secrets "github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/traffic"
)

// setGateway sets what is served, with what the files of the configuration were like before they were read. Of its messages nobody
// sees what its settings hide.
func (v *Served) setGateway(g *gateway.Gateway, y *Layers, b *board, stamped map[string]string) {
	v.Gateway, v.Layers, v.board = g, y, b
	v.stamped = v.stamp()
	maps.Copy(v.stamped, stamped)
	if v.App.Traffic != nil {
		v.App.Traffic.Hide(v.ShownOf)
	}
}

// ShownOf is what who watches sees of a message: not the arguments that a server does not get, nor the results that clients do
// not get, nor what settings keep out of the audit log.
func (v *Served) ShownOf(e *traffic.Event) json.RawMessage {
	now := v.Layers.Now.Load()
	if now == nil || len(now.Redacted) == 0 && now.unlogged.None() {
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
		hidden := now.unlogged.Hide(v.hideArguments(now, e, e.Name, arguments))
		return jsonrpc.With(message, "params", jsonrpc.With(params, "arguments", hidden))
	case traffic.Response:
		result := jsonrpc.Get(message, "result")
		if len(result) == 0 || result[0] != '{' {
			return message
		}
		places := v.placesOf(now, e, e.Name).Results
		hidden := places.HideResult(result)
		if task := jsonrpc.Get(hidden, "result"); task != nil { // of tasks/get
			hidden = jsonrpc.With(hidden, "result", now.unlogged.Hide(places.HideResult(task)))
		}
		return jsonrpc.With(message, "result", now.unlogged.Hide(hidden))
	case traffic.Note:
		headers := jsonrpc.Get(message, "requestHeaders")
		if headers == nil || now.unlogged.None() && v.placesOf(now, e, e.Name).Arguments.None() {
			return message
		}
		return withoutArguments(message, headers)
	}
	return message
}

// placesOf is what is hidden of the calls of a tool, which is named as the messages of the hop name it. Of one that goes to
// no server it is what is hidden of any.
func (v *Served) placesOf(now *Arrangement, e *traffic.Event, tool string) (p redact.Places) {
	server := e.Server
	if e.Hop == traffic.Client {
		if e.Method != "tools/call" {
			return now.hiddenOfAny() // a URI may begin as the name of a tool does
		}
		if server, tool = v.Gateway.Destination(tool); server == "" {
			return now.hiddenOfAny()
		}
	}
	o, some := now.Redacted[server]
	switch {
	case !some:
	case e.Method == "tools/call" && tool != "":
		p = o.Of(tool)
	case e.Method == "resources/read":
		p = o.All
	case strings.HasPrefix(e.Method, "tasks/"), e.Method == "", e.Method == "tools/call": // they do not say of which tool; nor does a call that was missed
		p = o.Any()
	}
	return p
}

// hideArguments hides arguments of a tool. Those of call_tool are of another one.
func (v *Served) hideArguments(now *Arrangement, e *traffic.Event, tool string, arguments json.RawMessage) json.RawMessage {
	hidden := v.placesOf(now, e, tool).Arguments.Hide(arguments)
	name, _ := jsonrpc.Unquote(jsonrpc.Get(arguments, "name"))
	inner := jsonrpc.Get(hidden, "arguments")
	if text, is := jsonrpc.Unquote(inner); is { // as some models write them
		if inner = json.RawMessage(text); jsonrpc.Valid(inner, jsonrpc.Limits{}) != nil {
			return hidden
		}
	}
	if inner = inner[jsonrpc.SkipSpace(inner, 0):]; e.Hop != traffic.Client || len(inner) == 0 || inner[0] != '{' {
		return hidden
	}
	return jsonrpc.With(hidden, "arguments", now.unlogged.Hide(v.placesOf(now, e, name).Arguments.Hide(inner)))
}

// withoutArguments is a note without the values of request headers that repeat arguments.
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
