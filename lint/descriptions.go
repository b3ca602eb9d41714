package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// checkDescription looks at what a tool says of itself and its arguments; instructed are the words of
// the instructions, which may describe what all tools have.
func (r *report) checkDescription(t *tool, instructed map[string]bool) {
	if strings.TrimSpace(t.Description) == "" {
		r.add(NoDescription, Warning, "description", "the model learns nothing of what the tool does but its name", "say in one to three sentences what it does, and when to use it")
		return
	}
	if !t.inputFits {
		return
	}
	w := words{report: r, root: t.InputSchema, said: saidIn(t.Name + " " + t.Description), instructed: instructed}
	var silent []string
	operands, n := true, 0
	jsonrpc.EachMember(jsonrpc.Get(t.InputSchema, "properties"), func(name, value []byte) bool {
		property, _ := jsonrpc.Unquote(name)
		operands = operands && len(property) == 1
		n++
		if !w.isEvident(property) && !w.describes(value, 0) {
			silent = append(silent, property)
		}
		return true
	})
	if operands || n == 1 && w.said["separated"] {
		return // the a and b of "adds two numbers" are what it computes with, and a lone argument is what is "comma-separated"
	}
	if len(silent) > 0 {
		r.add(NoArgumentDescription, Note, "inputSchema.properties", fmt.Sprintf("nothing describes %s", strings.Join(silent, ", ")),
			"give each a description: what it means, in which form or unit, and an example where that helps")
	}
}

// Words of names of arguments.
var (
	// handles end the name of what stands for a thing; the rest of the name says which.
	handles = strings.Fields("id ids uuid pid key keys cursor")
	// evident say what they mean, and in which form.
	evident = strings.Fields("rows cols name names number title text message body content url limit offset page per size skip count max results query q expr lhs rhs timeout ms seconds")
)

// words are what is said around the arguments of a tool.
type words struct {
	*report
	root             json.RawMessage // the input schema
	said, instructed map[string]bool // by the tool, and by the server's instructions
}

// isEvident reports whether the name of an argument says all: it is that of a handle, or its words are
// evident, or among those that the tool or the server's instructions said, be they one or many, as the
// branch of branchName is in createBranch.
func (w *words) isEvident(property string) bool {
	name := strings.Fields(inWords(property))
	if len(name) > 0 && slices.Contains(handles, name[len(name)-1]) {
		return true
	}
	for _, word := range name {
		if s := singular(word); !w.said[s] && !w.instructed[s] && !slices.Contains(evident, word) {
			return false
		}
	}
	return true
}

// saidIn are the words of a text.
func saidIn(text string) map[string]bool {
	said := map[string]bool{}
	for word := range strings.FieldsSeq(inWords(text)) {
		said[singular(word)] = true
	}
	return said
}

// singular is the same for branch and branches, file and files, entry and entries.
func singular(word string) string {
	word = strings.TrimSuffix(strings.TrimSuffix(word, "s"), "e")
	if stem, is := strings.CutSuffix(word, "i"); is {
		return stem + "y"
	}
	return word
}

// inWords is a text or a name in lower case with one space between its words: issueNumber and
// issue_number are both issue number.
func inWords(text string) string {
	var words strings.Builder
	last := ' '
	for _, c := range text {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			c = ' '
			if last != ' ' {
				words.WriteByte(' ')
			}
		case unicode.IsUpper(c) && unicode.IsLower(last):
			words.WriteByte(' ')
			words.WriteRune(unicode.ToLower(c))
		default:
			words.WriteRune(unicode.ToLower(c))
		}
		last = c
	}
	return strings.TrimSpace(words.String())
}

// maxDescribed is how many bytes of schemas are looked at to see whether they describe their values: what they
// refer to can be looked at as often as they do.
const maxDescribed = 256 << 20

// describes reports whether a schema says what its values mean: in words, by what they can be, by
// their form, or by what they are made of. What is true or false is said by its name.
func (w *words) describes(raw json.RawMessage, depth int) bool {
	if w.described += len(raw); w.described > maxDescribed {
		return true
	}
	if text(raw, "description") != "" || jsonrpc.Get(raw, "enum") != nil || jsonrpc.Get(raw, "const") != nil || jsonrpc.Get(raw, "examples") != nil ||
		text(raw, "format") != "" || text(raw, "pattern") != "" || text(raw, "type") == "boolean" || isEmpty(raw) {
		return true
	}
	if depth > 4 {
		return true
	}
	if ref, ok := strings.CutPrefix(text(raw, "$ref"), "#/"); ok {
		if place, name, found := strings.Cut(ref, "/"); found && !strings.Contains(name, "/") {
			w.described += len(w.root)
			return w.describes(jsonrpc.Get(jsonrpc.Get(w.root, place), name), depth+1)
		}
		return true // elsewhere
	}
	found := false
	parts, named := 0, 0
	jsonrpc.EachMember(jsonrpc.Get(raw, "properties"), func(name, value []byte) bool {
		found = w.describes(value, depth+1)
		property, _ := jsonrpc.Unquote(name)
		if parts++; w.isEvident(property) {
			named++
		}
		return !found
	})
	found = found || parts > 0 && named == parts
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		jsonrpc.EachElement(jsonrpc.Get(raw, keyword), func(value []byte) bool {
			found = found || w.describes(value, depth+1)
			return !found
		})
	}
	if items := jsonrpc.Get(raw, "items"); !found && items != nil {
		found = w.describes(items, depth+1)
	}
	return found
}

// isEmpty reports whether only {} fits a schema.
func isEmpty(raw json.RawMessage) bool {
	return string(jsonrpc.Get(raw, "additionalProperties")) == "false" && string(jsonrpc.Get(raw, "properties")) == "{}"
}

// checkSameDescriptions looks for tools that a model cannot choose between.
func (r *report) checkSameDescriptions(tools []tool) {
	first := map[string]int{}
	for i := range tools {
		said := strings.TrimSpace(tools[i].Description)
		if said == "" {
			continue
		}
		at, again := first[said]
		if !again {
			first[said] = i
			continue
		}
		if tools[at].Name != tools[i].Name {
			r.about(OfTool, tools[i].Name)
			r.add(SameDescription, Warning, "description", fmt.Sprintf("it is word for word that of %s, so that a model cannot choose between them", tools[at].Name),
				"say in each what it does that the other does not")
		}
	}
}
