package lint

import (
	"slices"
	"strings"
	"unicode"
)

// Contradiction is the name of the rule about annotations of a tool that contradict each other or
// the tool's name.
const Contradiction = "contradiction"

var contradictionRule = Rule{
	Name: Contradiction, Severity: Warning,
	Doc: `A tool is read-only (` + "`" + `readOnlyHint` + "`" + `) and destructive (` + "`" + `destructiveHint` + "`" + `), or its name begins with a verb such as delete and
its ` + "`" + `destructiveHint` + "`" + ` is false. Error if a read-only tool has such a name: hosts run it without asking.`,
	Bad:   `{"name": "delete_note", "description": "Deletes a note.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}`,
	Good:  `{"name": "delete_note", "description": "Deletes a note.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": false, "destructiveHint": true}}`,
	check: of((*report).checkAnnotations),
}

// destroying lists verbs at the beginning of a tool's name that a read-only tool does not have.
var destroying = strings.Fields("delete remove drop destroy erase purge kill uninstall overwrite truncate wipe")

// checkAnnotations reports annotations of a tool that contradict each other or the tool's name.
func (r *report) checkAnnotations(t *tool) {
	a := t.Annotations
	if a == nil {
		return
	}
	isSet := func(hint *bool) bool { return hint != nil && *hint }
	verb := firstWord(t.Name)
	destroys := slices.Contains(destroying, verb)
	switch {
	case isSet(a.ReadOnlyHint) && isSet(a.DestructiveHint):
		r.add(Contradiction, Warning, "annotations", "the tool is marked both as read-only (readOnlyHint) and as destructive (destructiveHint)", "decide: a read-only tool has no destructiveHint, or false")
	case isSet(a.ReadOnlyHint) && destroys:
		r.add(Contradiction, Error, "annotations.readOnlyHint", "the tool is marked as read-only, but its name begins with "+verb+": hosts run it without asking", "set readOnlyHint to false")
	case a.DestructiveHint != nil && !*a.DestructiveHint && destroys:
		r.add(Contradiction, Warning, "annotations.destructiveHint", "the tool is marked as not destructive, but its name begins with "+verb, "set destructiveHint to true")
	}
}

// firstWord returns the first word of a name such as delete_file or deleteFile, in lower case.
func firstWord(name string) string {
	end := strings.IndexFunc(name, func(c rune) bool { return !unicode.IsLetter(c) })
	if end < 0 {
		end = len(name)
	}
	for i, c := range name[:end] {
		if i > 0 && unicode.IsUpper(c) && !unicode.IsUpper(rune(name[i-1])) {
			end = i
			break
		}
	}
	return strings.ToLower(name[:end])
}
