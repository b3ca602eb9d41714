package loose

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/tolerance"
)

// Shapes of the results of requests to clients, by method. The shape of an elicitation's result
// depends on the form; see elicited.
var answers = map[string]*shape{
	"sampling/createMessage": {kind: object, members: []member{
		{name: "role", shape: aRole, need: true, orElse: `"assistant"`, why: tolerance.MissingMember},
		{name: "content", shape: &shape{kind: several, of: aSampleBlock, lost: tolerance.BlockLeftOut, instead: leftOut}, need: true},
		{name: "model", shape: aText, need: true, orElse: `""`, why: tolerance.MissingMember},
		{name: "stopReason", shape: &shape{kind: text, words: []string{"endTurn", "stopSequence", "maxTokens", "toolUse"}, mend: stopReason}},
		{name: "_meta", shape: anObject}}},
	"roots/list": {kind: object, mend: listedRoots, members: []member{
		{name: "roots", shape: &shape{kind: list, of: aRoot, lost: tolerance.EntryLeftOut}, need: true, vital: true, orElse: "[]", why: tolerance.ListForm},
		{name: "_meta", shape: anObject}}},
}

var (
	aRoot = &shape{kind: object, mend: namedRoot, members: []member{{name: "uri", shape: &shape{kind: name}, need: true}, {name: "name", shape: aText}, {name: "_meta", shape: anObject}}}

	// aSampleBlock is a block of a model's output, including uses of tools and their results.
	aSampleBlock = &shape{kind: object, mend: mendSampleBlock, whole: sampleBlockWhole, members: append([]member{
		{name: "id", shape: aText}, {name: "toolUseId", shape: aText}, {name: "input", shape: anObject}, {name: "content", shape: blocks}, {name: "isError", shape: aFlag}}, aBlock.members...)}

	anAction = &shape{kind: text, words: []string{"accept", "decline", "cancel"}, mend: synonym(actions, tolerance.ActionWord)}
)

// Answer returns the result of a client in the form that schema.ts requires, and the tolerances
// that it needed. params are the parameters of the request. If the result is unreadable, Answer
// returns it unchanged.
func Answer(method string, params, result json.RawMessage) (json.RawMessage, []Found) {
	s := answers[method]
	if method == "elicitation/create" {
		s = elicited(params)
	}
	if s == nil || len(result) == 0 {
		return result, nil
	}
	if _, fits := s.fits(result, 0); fits {
		return result, nil
	}
	var m mender
	mended, ok := m.value(s, result)
	if !ok {
		return result, nil
	}
	return mended, m.found
}

// ReadAnswer is like [Answer], but also records the tolerances.
func ReadAnswer(ctx context.Context, log *slog.Logger, method string, params, result json.RawMessage) json.RawMessage {
	read, found := Answer(method, params, result)
	for i := range found {
		found[i].Tolerance.MetOf(ctx, log, slog.String("from", "client"), method+": "+found[i].String())
	}
	return read
}

// elicited returns the shape of the result of an elicitation with the form in params. Unreadable
// values are not dropped, because the form may have defaults that would replace them.
func elicited(params json.RawMessage) *shape {
	content := &shape{kind: object, mend: textOfObject}
	for p := range schema.Look(jsonrpc.Get(params, "requestedSchema")).Properties() {
		if s := fields[p.Text("type")]; s != nil && len(content.members) < maxFields {
			content.members = append(content.members, member{name: p.Name, shape: s, vital: true})
		}
	}
	return &shape{kind: object, mend: unacceptedContent, members: []member{
		{name: "action", shape: anAction, need: true, vital: true}, {name: "content", shape: content, vital: true}, {name: "_meta", shape: anObject}}}
}

// maxFields is the number of fields of a form that are read. Each needs a bit in the set of present
// members.
const maxFields = 32

// fields maps the types of form fields to shapes.
var fields = map[string]*shape{"string": aText, "number": aNumber, "integer": anInteger, "boolean": aFlag,
	"array": {kind: list, of: aText, lost: tolerance.MemberLeftOut}}

// actions maps synonyms to the actions that schema.ts defines.
var actions = map[string]string{"accepted": "accept", "declined": "decline", "reject": "decline", "rejected": "decline", "cancelled": "cancel", "canceled": "cancel"}

// unacceptedContent drops the content of a form that was not accepted if it is malformed, as no
// server reads it.
func unacceptedContent(m *mender, s *shape, raw json.RawMessage) json.RawMessage {
	content := jsonrpc.Get(raw, "content")
	if content == nil || content[0] == '{' {
		return nil
	}
	action := jsonrpc.Get(raw, "action")
	if action == nil {
		return nil
	}
	quiet := new(mender)
	if read, ok := quiet.value(anAction, action); !ok || string(read) == `"accept"` {
		return nil
	}
	why := tolerance.MemberLeftOut
	if string(content) == "null" {
		why = tolerance.NullMember
	}
	m.at("content", why)
	return m.rest(s, jsonrpc.Without(raw, "content"))
}

// textOfObject reads a string that contains a JSON object as this object.
func textOfObject(m *mender, s *shape, raw json.RawMessage) json.RawMessage {
	written, quoted := jsonrpc.Unquote(raw)
	if !quoted {
		return nil
	}
	object := json.RawMessage(strings.TrimSpace(written))
	if _, fault := jsonrpc.Index(object, jsonrpc.Limits{}); fault != nil || jsonrpc.Valid(object, jsonrpc.Limits{}) != nil {
		return unreadable
	}
	m.add(tolerance.MemberForm)
	if _, fits := s.fits(object, 0); fits {
		return object
	}
	return m.rest(s, object)
}

// stopReason reads a known stop reason in another spelling. It leaves an unknown reason unchanged.
func stopReason(m *mender, s *shape, raw json.RawMessage) json.RawMessage {
	reason, quoted := jsonrpc.Unquote(raw)
	if !quoted {
		return nil
	}
	plain := strings.NewReplacer("_", "", "-", "", " ", "").Replace(reason)
	for _, word := range s.words {
		if strings.EqualFold(plain, word) {
			m.add(tolerance.LetterCase)
			return jsonrpc.AppendString(nil, word)
		}
	}
	return raw
}

// listedRoots reads an array of roots as a result with these roots.
func listedRoots(m *mender, s *shape, raw json.RawMessage) json.RawMessage {
	if raw[0] != '[' {
		return nil
	}
	m.at("roots", tolerance.ListForm)
	return m.rest(s, jsonrpc.With(json.RawMessage("{}"), "roots", raw))
}

// namedRoot reads a string as the URI of a root.
func namedRoot(m *mender, s *shape, raw json.RawMessage) json.RawMessage {
	if uri, quoted := jsonrpc.Unquote(raw); !quoted || !strings.Contains(uri, "://") {
		return nil
	}
	m.add(tolerance.MemberForm)
	return jsonrpc.With(json.RawMessage("{}"), "uri", raw)
}

// sampleBlockWhole reports whether a block of a model's output has the members that its type
// requires. Each bit of has stands for a member of aSampleBlock.
func sampleBlockWhole(has uint32, kind []byte) bool {
	const id, toolUseID, input, content = 1 << 0, 1 << 1, 1 << 2, 1 << 3
	need := uint32(0)
	switch string(kind) {
	case `"tool_use"`:
		need = id | input | blockName<<sampleMembers
	case `"tool_result"`:
		need = toolUseID | content
	default:
		return blockWhole(has>>sampleMembers, kind) && !isToolBlock(foldKind(kind))
	}
	return has&need == need
}

// sampleMembers is the number of members of aSampleBlock before the members of aBlock.
const sampleMembers = 5

func isToolBlock(kind string) bool { return kind == "tool_use" || kind == "tool_result" }

// mendSampleBlock is like mendBlock, but for a block of a model's output.
func mendSampleBlock(m *mender, s *shape, raw json.RawMessage) json.RawMessage {
	if raw[0] != '{' || !isToolBlock(foldKind(jsonrpc.Get(raw, "type"))) {
		return mendBlock(m, s, raw)
	}
	kind, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "type"))
	if folded := foldKind(jsonrpc.Get(raw, "type")); folded != kind {
		m.at("type", tolerance.LetterCase)
		kind, raw = folded, jsonrpc.With(raw, "type", jsonrpc.AppendString(nil, folded))
	}
	missing := func(name string) bool { v := jsonrpc.Get(raw, name); return v == nil || string(v) == "null" }
	switch {
	case kind == "tool_use" && missing("input"):
		m.at("input", tolerance.MissingMember)
		raw = jsonrpc.With(raw, "input", json.RawMessage("{}"))
	case kind == "tool_use":
		if input := textOfObject(new(mender), anObject, jsonrpc.Get(raw, "input")); len(input) > 0 {
			m.at("input", tolerance.MemberForm)
			raw = jsonrpc.With(raw, "input", input)
		}
	case missing("content"):
		m.at("content", tolerance.ListForm)
		raw = jsonrpc.With(raw, "content", json.RawMessage("[]"))
	}
	return m.rest(s, raw)
}
