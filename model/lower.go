package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// What a schema may cost. It comes from a server that may be hostile.
const (
	// maxSchema is how many bytes a schema may have, as it came and as it is sent.
	maxSchema = 256 << 10
	// maxSchemaDepth is how deep it may be nested, $ref included.
	maxSchemaDepth = 48
	// maxSchemaNodes is how many schemas it may consist of once each $ref was
	// replaced by what it refers to.
	maxSchemaNodes = 5_000
	// maxChanges is how many changes a Note tells of.
	maxChanges = 6
)

// Lower makes tools fit for a provider. What its dialect does not take is
// rewritten: what the schema accepted is still accepted, and what cannot be said
// any more as a schema is said in a description. A tool that cannot be sent at all
// is left out: its schema is broken, too large or not of an object, or there are
// too many tools, of which the first are kept. A Note tells of each tool that was
// changed or left out.
//
// The order is kept, the same tools give the same bytes, and the work is bounded
// whatever the schemas are. The tools given are not changed.
func Lower(tools []Tool, d Dialect) ([]Tool, []Note) {
	kept := make([]Tool, 0, len(tools))
	var notes []Note
	for _, t := range tools {
		lowered, changes, err := lowerRoot(t.Schema, &d)
		switch {
		case err != nil:
			notes = append(notes, Note{Tool: t.Name, SetAside: true, Text: "its schema " + err.Error()})
			continue
		case d.MaxTools > 0 && len(kept) >= d.MaxTools:
			notes = append(notes, Note{Tool: t.Name, SetAside: true, Text: fmt.Sprintf("a request can have %d tools", d.MaxTools)})
			continue
		case len(changes) > 0:
			notes = append(notes, Note{Tool: t.Name, Text: rewritten(d.Name, changes)})
		}
		t.Schema = lowered
		kept = append(kept, t)
	}
	return kept, notes
}

// Changes returns what [Lower] changes in one schema: each change once, with its place, such
// as "/properties/tags: an array without items". The error says why it cannot be sent at all.
func Changes(raw json.RawMessage, d Dialect) ([]string, error) {
	_, changes, err := lowerRoot(raw, &d)
	slices.Sort(changes)
	return slices.Compact(changes), err
}

// rewritten lists changes, each once.
func rewritten(dialect string, changes []string) string {
	slices.Sort(changes)
	changes = slices.Compact(changes)
	more := ""
	if len(changes) > maxChanges {
		more = fmt.Sprintf("; and %d more", len(changes)-maxChanges)
		changes = changes[:maxChanges]
	}
	return "rewritten for " + dialect + ": " + strings.Join(changes, "; ") + more
}

// Why a schema cannot be used at all.
var (
	errSchemaLarge  = fmt.Errorf("is larger than %d KiB", maxSchema>>10)
	errSchemaWide   = fmt.Errorf("has more than %d parts once references are resolved", maxSchemaNodes)
	errSchemaDeep   = fmt.Errorf("is nested deeper than %d", maxSchemaDepth)
	errSchemaObject = errors.New("is not that of an object")
)

// lowering is the work on one schema.
type lowering struct {
	dialect  *Dialect
	root     schema.View
	changes  []string
	nodes    int
	err      error
	within   []string // the references that are being resolved
	resolved int      // bytes of their targets

	typed bool // the root was given its type
}

func lowerRoot(raw json.RawMessage, d *Dialect) (json.RawMessage, []string, error) {
	if raw == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil, nil
	}
	if len(raw) > maxSchema {
		return nil, nil, errSchemaLarge
	}
	raw = json.RawMessage(strings.TrimSpace(string(raw)))
	if fault := jsonrpc.Valid(raw, jsonrpc.Limits{}); fault != nil {
		return nil, nil, errors.New("is not valid JSON: " + fault.Message)
	}
	var out bytes.Buffer
	_ = json.Compact(&out, raw) // so that what is as it was can be recognized
	l := &lowering{dialect: d, root: schema.Look(out.Bytes())}
	s := readMembers(out.Bytes())
	if s == nil {
		return nil, nil, errSchemaObject
	}
	lowered := l.rootObject(s)
	if l.err != nil {
		return nil, nil, l.err
	}
	if len(lowered) > maxSchema {
		return nil, nil, errSchemaLarge
	}
	return lowered, l.changes, nil
}

// rootObject makes the root what every provider wants: an object that says so, and
// has properties.
func (l *lowering) rootObject(s *members) json.RawMessage {
	var said words
	l.repair(s, "", &said)
	if l.dialect.PlainRoot && s.has("$ref") {
		l.changed("", "$ref at the root")
		s = l.follow(s, "", &said)
	}
	said.describe(s)
	for _, name := range []string{"$schema", "$comment"} {
		s.drop(name)
	}
	if !l.rootType(s) {
		l.err = errSchemaObject
		return nil
	}
	if l.dialect.PlainRoot {
		l.flatten(s)
	}
	if readMembers(s.get("properties")) == nil {
		s.set("properties", json.RawMessage("{}"))
	}
	out := l.schemaOf(s, "", 0)
	if l.err != nil {
		return nil
	}
	return out
}

// rootType sets the type of the root to object, and reports false if it is another.
func (l *lowering) rootType(s *members) bool {
	types := typesOf(s.get("type"))
	switch {
	case len(types) > 0 && !slices.Contains(types, "object"):
		return false
	case len(types) == 0:
		l.typed = true
		s.first("type", json.RawMessage(`"object"`))
	case len(types) > 1 && l.dialect.PlainRoot:
		l.changed("", "the arguments are always an object")
		s.set("type", json.RawMessage(`"object"`))
	}
	return true
}

// changed notes a change at a place within the schema.
func (l *lowering) changed(at, what string) {
	at = cmp.Or(at, "/")
	if len(l.changes) < 1_000 {
		l.changes = append(l.changes, at+": "+what)
	}
}
