package lint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// checkDescription looks at what a tool says of itself.
func (r *report) checkDescription(t *tool) {
	if strings.TrimSpace(t.Description) == "" {
		r.add(NoDescription, Warning, "description", "the model learns nothing of what the tool does but its name", "say in one to three sentences what it does, and when to use it")
	}
}

const (
	// minSilent is how many arguments of a server must have nothing that describes them to be reported, and
	// silentShare which part of all: of fewer it is a matter of taste which name says enough.
	minSilent   = 2
	silentShare = 10
	// maxSilentShown is how many of their names are shown.
	maxSilentShown = 12
)

// checkArguments looks for arguments of which a model must guess what they mean, as neither their schemas, nor the tool
// or the instructions, say a word of it.
func (r *report) checkArguments(tools []tool, instructions string) {
	instructed := saidIn(instructions)
	all, silent := 0, 0
	var names []string // the silent ones, in their order
	of := map[string][]string{}
	for i := range tools {
		t := &tools[i]
		if !t.inputFits || strings.TrimSpace(t.Description) == "" {
			continue
		}
		said := saidIn(t.Name + " " + t.Description)
		jsonrpc.EachMember(jsonrpc.Get(t.InputSchema, "properties"), func(name, schema []byte) bool {
			all++
			property, _ := jsonrpc.Unquote(name)
			if areSaid(property, said, instructed) || r.describes(t.InputSchema, schema, 0) {
				return true
			}
			silent++
			if of[property] == nil {
				names = append(names, property)
			}
			of[property] = append(of[property], t.Name)
			return true
		})
	}
	if silent < minSilent || silent*silentShare < all {
		return
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(of[b]), len(of[a])) })
	shown := names[:min(len(names), maxSilentShown)]
	var list []string
	for _, name := range shown {
		if n := len(of[name]); n > 1 {
			list = append(list, fmt.Sprintf("%s (%d tools)", name, n))
		} else {
			list = append(list, fmt.Sprintf("%s of %s", name, of[name][0]))
		}
	}
	if more := len(names) - len(shown); more > 0 {
		list = append(list, fmt.Sprintf("and %d other names", more))
	}
	r.about(OfServer, "")
	r.add(NoArgumentDescription, Note, "tools", fmt.Sprintf("nothing describes %d of %d arguments: %s", silent, all, strings.Join(list, ", ")),
		"give each a description: what it means, in which form or unit, and an example where that helps")
}

// areSaid reports whether the words of a name are among those that the tool or the server's instructions said, be they
// one or many, as the branch of branchName is in createBranch.
func areSaid(name string, said, instructed map[string]bool) bool {
	for word := range strings.FieldsSeq(inWords(name)) {
		if word = singular(word); !said[word] && !instructed[word] {
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
func (r *report) describes(root, raw json.RawMessage, depth int) bool {
	if r.described += len(raw); r.described > maxDescribed {
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
			r.described += len(root)
			return r.describes(root, jsonrpc.Get(jsonrpc.Get(root, place), name), depth+1)
		}
		return true // elsewhere
	}
	found := false
	jsonrpc.EachMember(jsonrpc.Get(raw, "properties"), func(_, value []byte) bool {
		found = r.describes(root, value, depth+1)
		return !found
	})
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		jsonrpc.EachElement(jsonrpc.Get(raw, keyword), func(value []byte) bool {
			found = found || r.describes(root, value, depth+1)
			return !found
		})
	}
	if items := jsonrpc.Get(raw, "items"); !found && items != nil {
		found = r.describes(root, items, depth+1)
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
