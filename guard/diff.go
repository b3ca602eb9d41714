package guard

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/rogpeppe/go-internal/diff"
)

// A Change is a field in which two definitions differ. Old and New are safe to show: hidden
// characters are visible, and JSON is indented with sorted members.
type Change struct {
	Field string // name as in the JSON of a Definition
	Old   string
	New   string
}

// Changes returns the fields in which two definitions differ, in the order of the fields of
// [Definition]. It compares at most 32 KiB of each field, the part that [Pins] keeps. Definitions
// that differ only beyond that have no Changes, although their hashes differ.
func Changes(old, new Definition) []Change {
	var changes []Change
	add := func(field, before, after string) {
		if before != after {
			changes = append(changes, Change{Field: field, Old: Visible(before), New: Visible(after)})
		}
	}
	old, new = old.kept(), new.kept()
	add("kind", string(old.Kind), string(new.Kind))
	add("server", old.Server, new.Server)
	add("name", old.Name, new.Name)
	add("title", old.Title, new.Title)
	add("description", old.Description, new.Description)
	addJSON := func(field string, before, after json.RawMessage) {
		if !bytes.Equal(canonical(before), canonical(after)) {
			add(field, readable(before), readable(after))
		}
	}
	addJSON("schema", old.Schema, new.Schema)
	addJSON("outputSchema", old.OutputSchema, new.OutputSchema)
	addJSON("annotations", old.Annotations, new.Annotations)
	addJSON("icons", old.Icons, new.Icons)
	add("text", old.Text, new.Text)
	return changes
}

// Diff returns the differences between old and new for a user, as a unified diff of each field in
// [Changes]. It splits prose at the ends of sentences. It returns "" if there are no differences.
func Diff(old, new Definition) string {
	var b strings.Builder
	for _, c := range Changes(old, new) {
		text := diff.Diff(c.Field+" (approved)", lines(c.Old), c.Field+" (now)", lines(c.New))
		if _, body, found := bytes.Cut(text, []byte("\n")); found {
			text = body // drop the line that repeats the diff command
		}
		b.Write(text)
	}
	return b.String()
}

// readable returns JSON indented, with sorted members and unchanged numbers. Text that is not JSON
// is returned unchanged.
func readable(raw json.RawMessage) string {
	if len(raw) == 0 || jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		return string(raw)
	}
	value := jsontext.Value(bytes.Clone(raw))
	if value.Indent(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false), jsontext.WithIndent("  ")) != nil {
		return string(raw)
	}
	return string(value)
}

// lines puts each sentence on a line of its own, so that one changed word does not mark a whole
// description.
func lines(s string) []byte {
	if s == "" {
		return nil
	}
	s = strings.NewReplacer(". ", ".\n", "! ", "!\n", "? ", "?\n", "; ", ";\n").Replace(s)
	return []byte(strings.TrimSuffix(s, "\n") + "\n")
}
