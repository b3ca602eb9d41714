package loose

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/tolerance"
)

// Shapes of types of schema.ts that servers send. A shape allows any value for members that it does
// not contain.
var (
	whatever   = &shape{kind: anything}
	aText      = &shape{kind: text}
	aNumber    = &shape{kind: number}
	anInteger  = &shape{kind: integer}
	aFlag      = &shape{kind: flag}
	aBase64    = &shape{kind: encoded}
	anObject   = &shape{kind: object}
	texts      = &shape{kind: list, of: aText, lost: tolerance.MemberLeftOut}
	anyText    = &shape{kind: text, mend: asText}
	aSchema    = &shape{kind: object, mend: insteadOfTrue(`{"type":"object"}`), members: []member{{name: "properties", shape: anObject}, {name: "required", shape: texts}}}
	aRole      = &shape{kind: text, words: []string{"user", "assistant"}}
	audience   = &shape{kind: list, of: aRole, lost: tolerance.MemberLeftOut}
	annotation = &shape{kind: object, members: []member{{name: "audience", shape: audience}, {name: "priority", shape: aNumber}, {name: "lastModified", shape: aText}}}
	anIcon     = &shape{kind: object, members: []member{{name: "src", shape: aText, need: true}, {name: "mimeType", shape: aText}, {name: "sizes", shape: texts}, {name: "theme", shape: aText}}}
	icons      = &shape{kind: list, of: anIcon, lost: tolerance.MemberLeftOut}

	aTool = entry("name", member{name: "inputSchema", shape: aSchema, vital: true}, member{name: "outputSchema", shape: anObject},
		member{name: "annotations", shape: &shape{kind: object, members: []member{{name: "title", shape: aText}, {name: "readOnlyHint", shape: aFlag}, {name: "destructiveHint", shape: aFlag}, {name: "idempotentHint", shape: aFlag}, {name: "openWorldHint", shape: aFlag}}}},
		member{name: "execution", shape: &shape{kind: object, members: []member{{name: "taskSupport", shape: &shape{kind: text, words: []string{"forbidden", "optional", "required"}}}}}})
	aPrompt    = entry("name", member{name: "arguments", shape: &shape{kind: list, of: anArgument, lost: tolerance.EntryLeftOut, mend: namedArguments}})
	anArgument = entry("name", member{name: "required", shape: aFlag})
	aResource  = located("uri", member{name: "size", shape: anInteger})
	aTemplate  = located("uriTemplate")

	contents = &shape{kind: object, mend: mendContents, whole: hasContents, members: []member{{name: "uri", shape: aText}, {name: "text", shape: anyText}, {name: "blob", shape: aBase64},
		{name: "mimeType", shape: aText}, {name: "_meta", shape: anObject}}}

	capability   = &shape{kind: object, mend: insteadOfTrue(`{}`), members: []member{{name: "listChanged", shape: aFlag}, {name: "subscribe", shape: aFlag}}}
	capabilities = &shape{kind: object, mend: namedCapabilities, members: append(listedCapabilities(),
		member{name: "logging", shape: capability}, member{name: "completions", shape: capability}, member{name: "experimental", shape: anObject}, member{name: "extensions", shape: anObject}, member{name: "tasks", shape: capability})}
	implementation = &shape{kind: object, mend: namedImplementation, members: []member{{name: "name", shape: aText, need: true}, {name: "version", shape: aText, need: true, orElse: `""`, why: tolerance.MissingMember},
		{name: "title", shape: aText}, {name: "description", shape: aText}, {name: "websiteUrl", shape: aText}, {name: "icons", shape: icons}}}

	aLevel = &shape{kind: text, words: []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}, mend: synonym(levels, tolerance.LetterCase)}
)

// listedCapabilities returns the members of server capabilities that describe lists.
func listedCapabilities() (all []member) {
	for _, list := range revision.Changes() {
		all = append(all, member{name: list.Capability, shape: capability})
	}
	return all
}

// Shapes of the results of requests to servers, by method.
var results = map[string]*shape{
	"initialize": {kind: object, members: []member{{name: "capabilities", shape: capabilities}, {name: "serverInfo", shape: implementation}, {name: "instructions", shape: aText}, {name: "_meta", shape: anObject}}},
	"server/discover": result(member{name: "supportedVersions", shape: texts}, member{name: "capabilities", shape: capabilities},
		member{name: "instructions", shape: aText}),
	"tools/list":               listed("tools", aTool),
	"prompts/list":             listed("prompts", aPrompt),
	"resources/list":           listed("resources", aResource),
	"resources/templates/list": listed("resourceTemplates", aTemplate),
	"tools/call":               called,
	"tasks/result":             called,
	"prompts/get":              result(member{name: "description", shape: aText}, member{name: "messages", shape: &shape{kind: list, of: aMessage, lost: tolerance.BlockLeftOut, split: splitMessage}}),
	"resources/read":           result(member{name: "contents", shape: &shape{kind: list, of: contents, lost: tolerance.BlockLeftOut}}),
	"completion/complete": result(member{name: "completion", shape: &shape{kind: object, members: []member{
		{name: "values", shape: texts, need: true, orElse: "[]", why: tolerance.ListForm}, {name: "total", shape: anInteger}, {name: "hasMore", shape: aFlag}}}}),
}

var called = result(member{name: "content", shape: blocks, orElse: "[]", why: tolerance.ListForm}, member{name: "isError", shape: aFlag})

// anyResult is the shape of the results of all other methods.
var anyResult = result()

// Shapes of the params of notifications and requests of servers, by method.
var sent = map[string]*shape{
	"notifications/progress": {kind: object, members: []member{{name: "progressToken", shape: aToken, need: true}, {name: "progress", shape: aNumber, need: true}, {name: "total", shape: aNumber}, {name: "message", shape: aText}}},
	"notifications/message": {kind: object, members: []member{{name: "level", shape: aLevel, need: true, orElse: `"info"`, why: tolerance.LevelUnknown}, {name: "logger", shape: aText},
		{name: "data", shape: whatever, need: true, orElse: "null", why: tolerance.MissingMember}}},
	"notifications/cancelled":         {kind: object, members: []member{{name: "requestId", shape: anID, need: true}, {name: "reason", shape: aText}}},
	"notifications/resources/updated": {kind: object, members: []member{{name: "uri", shape: aText, need: true}}},
	"elicitation/create":              {kind: object, members: []member{{name: "message", shape: aText}, {name: "requestedSchema", shape: aSchema}}},
	"sampling/createMessage": {kind: object, members: []member{{name: "messages", shape: &shape{kind: list, of: aSample, lost: tolerance.BlockLeftOut}}, {name: "maxTokens", shape: anInteger}, {name: "systemPrompt", shape: aText},
		{name: "temperature", shape: aNumber}, {name: "stopSequences", shape: texts}, {name: "includeContext", shape: &shape{kind: text, words: []string{"none", "thisServer", "allServers"}}}}},
}

// Shapes of a progress token and of a request id. Junction generates progress tokens, as numbers.
var (
	aToken = &shape{kind: integer}
	anID   = &shape{kind: anything}
)

// entry returns the shape of a list entry. It has the members that all definitions have.
func entry(key string, more ...member) *shape {
	return &shape{kind: object, members: append([]member{{name: key, shape: &shape{kind: name}, need: true}, {name: "title", shape: aText}, {name: "description", shape: aText},
		{name: "icons", shape: icons}, {name: "_meta", shape: anObject}}, more...)}
}

// located returns the shape of a list entry whose address is in the member key. If the entry has no
// name, its address becomes the name.
func located(key string, more ...member) *shape {
	s := entry(key, append(more, member{name: "name", shape: aText, need: true}, member{name: "mimeType", shape: aText}, member{name: "annotations", shape: annotation})...)
	s.mend = func(m *mender, s *shape, raw json.RawMessage) json.RawMessage {
		uri := jsonrpc.Get(raw, key)
		if name := jsonrpc.Get(raw, "name"); uri == nil || uri[0] != '"' || name != nil && string(name) != "null" {
			return nil
		}
		m.at("name", tolerance.MissingMember)
		return m.rest(s, jsonrpc.With(raw, "name", uri))
	}
	return s
}

// result returns the shape of a result. It has the members that all results have.
func result(more ...member) *shape {
	return &shape{kind: object, members: append([]member{
		{name: "_meta", shape: anObject},
		{name: "resultType", shape: &shape{kind: text, words: []string{"complete", "input_required", "task"}, mend: keepWord}},
		{name: "ttlMs", shape: aNumber},
		{name: "cacheScope", shape: &shape{kind: text, words: []string{"public", "private"}}},
	}, more...)}
}

// listed returns the shape of one page of a list.
func listed(name string, of *shape) *shape {
	return result(member{name: name, shape: &shape{kind: list, of: of, lost: tolerance.EntryLeftOut}, need: true, orElse: "[]", why: tolerance.ListForm},
		member{name: "nextCursor", shape: &shape{kind: text, exact: true, mend: cursor}})
}

// asText reads any value except null as a string. Objects and arrays become their JSON text.
func asText(m *mender, _ *shape, raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	m.add(tolerance.MemberForm)
	return jsonrpc.AppendStringBytes(nil, raw)
}

// keepWord leaves an unknown resultType unchanged; it makes the request fail later.
func keepWord(m *mender, _ *shape, raw json.RawMessage) json.RawMessage {
	name, quoted := jsonrpc.Unquote(raw)
	switch {
	case string(raw) == "null":
		return nil
	case !quoted:
		return raw
	}
	for _, word := range []string{"complete", "input_required", "task"} {
		if strings.EqualFold(name, word) {
			m.add(tolerance.ResultType)
			return jsonrpc.AppendString(nil, word)
		}
	}
	return raw
}

// cursor reads a number as a cursor, which is a string.
func cursor(m *mender, _ *shape, raw json.RawMessage) json.RawMessage {
	if !isNumber(raw) {
		return nil
	}
	m.add(tolerance.CursorForm)
	return jsonrpc.AppendStringBytes(nil, raw)
}

// insteadOfTrue returns a function that reads true as the given object.
func insteadOfTrue(object string) func(*mender, *shape, json.RawMessage) json.RawMessage {
	return func(m *mender, _ *shape, raw json.RawMessage) json.RawMessage {
		if string(raw) != "true" {
			return nil
		}
		m.add(tolerance.MemberForm)
		return json.RawMessage(object)
	}
}

// namedCapabilities reads an array of names as an object of capabilities without settings.
func namedCapabilities(m *mender, _ *shape, raw json.RawMessage) json.RawMessage {
	w, all := jsonrpc.NewObject(nil), true
	seen := map[string]bool{}
	jsonrpc.EachElement(raw, func(value []byte) bool {
		name, quoted := jsonrpc.Unquote(value)
		if all = quoted && !seen[name]; all {
			seen[name] = true
			w.Raw(name, json.RawMessage("{}"))
		}
		return all
	})
	if !all || len(seen) == 0 {
		return nil
	}
	m.add(tolerance.MemberForm)
	return w.Bytes()
}

// namedImplementation reads a string as an implementation with this name.
func namedImplementation(m *mender, _ *shape, raw json.RawMessage) json.RawMessage {
	if raw[0] != '"' {
		return nil
	}
	m.add(tolerance.MemberForm)
	w := jsonrpc.NewObject(nil)
	w.Raw("name", raw)
	w.String("version", "")
	return w.Bytes()
}

// namedArguments reads an object that maps names to definitions as a list of definitions.
func namedArguments(m *mender, s *shape, raw json.RawMessage) json.RawMessage {
	if raw[0] != '{' || isText(jsonrpc.Get(raw, "name")) { // the object is a single definition
		return nil
	}
	w, all := jsonrpc.NewArray(nil), true
	jsonrpc.EachMember(raw, func(quoted, value []byte) bool {
		if all = value[0] == '{'; all {
			w.Element(jsonrpc.With(value, "name", quoted))
		}
		return all
	})
	if !all {
		return nil
	}
	m.add(tolerance.MemberForm)
	mended, ok := m.value(s, w.Bytes())
	if !ok {
		return nil
	}
	return mended
}

func isText(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// levels maps the names of levels in syslog and other programs to the levels of schema.ts.
var levels = map[string]string{"warn": "warning", "err": "error", "crit": "critical", "emerg": "emergency", "information": "info"}

// synonym returns a function that replaces synonyms by the words of schema.ts.
func synonym(words map[string]string, why tolerance.Tolerance) func(*mender, *shape, json.RawMessage) json.RawMessage {
	return func(m *mender, _ *shape, raw json.RawMessage) json.RawMessage {
		text, _ := jsonrpc.Unquote(raw)
		word := words[strings.ToLower(strings.TrimSpace(text))]
		if word == "" {
			return nil
		}
		m.add(why)
		return jsonrpc.AppendString(nil, word)
	}
}
