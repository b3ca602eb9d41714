package lint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// NoDescription names findings of tools and prompts that do not describe what they do.
const NoDescription = "no-description"

var noDescriptionRule = Rule{
	Name: NoDescription, Severity: Warning,
	Doc:  `A tool has no description; a prompt has neither a description nor a title.`,
	Bad:  `{"name": "sync", "inputSchema": {"type": "object"}}`,
	Good: `{"name": "sync", "description": "Fetches what is new, and sends what was changed here.", "inputSchema": {"type": "object"}}`,
	check: func(r *report, subject any) {
		of((*report).checkDescription)(r, subject)
		of((*report).checkPrompt)(r, subject)
	},
}

// NoArgumentDescription names the finding of a server that does not describe a tenth of its arguments or more.
const NoArgumentDescription = "no-argument-description"

var noArgumentDescriptionRule = Rule{
	Name: NoArgumentDescription, Severity: Note,
	Doc: `One finding for a server if at least a tenth of its arguments, and at least two, are unexplained. An argument is
unexplained if it is not a boolean, and neither it nor a part of it has a description, ` + "`" + `enum` + "`" + `, ` + "`" + `const` + "`" + `, ` + "`" + `examples` + "`" + `,
` + "`" + `format` + "`" + ` or ` + "`" + `pattern` + "`" + `. Its name must also have a word that is not in the tool's name and description, nor in the
server's instructions. The finding lists the names, the most frequent first.`,
	Bad:   `{"name": "events", "description": "Lists the events of a calendar.", "inputSchema": {"type": "object", "properties": {"since": {"type": "string"}, "order": {"type": "string"}}}}`,
	Good:  `{"name": "events", "description": "Lists the events of a calendar.", "inputSchema": {"type": "object", "properties": {"since": {"type": "string", "description": "a day, such as 2026-11-25"}, "order": {"enum": ["time", "title"]}}}}`,
	check: of((*report).checkArguments),
}

// SameDescription names findings of tools that have the same description.
const SameDescription = "same-description"

var sameDescriptionRule = Rule{
	Name: SameDescription, Severity: Warning,
	Doc: `Two tools have the same description, so a model cannot choose between them.`,
	Bad: `{"name": "find", "description": "Finds notes.", "inputSchema": {"type": "object"}}
{"name": "search", "description": "Finds notes.", "inputSchema": {"type": "object"}}`,
	Good: `{"name": "find", "description": "Finds notes by their title.", "inputSchema": {"type": "object"}}
{"name": "search", "description": "Finds notes by the words in them.", "inputSchema": {"type": "object"}}`,
	check: of((*report).checkSameDescriptions),
}

// checkDescription looks at what a tool says of itself.
func (r *report) checkDescription(t *tool) {
	if strings.TrimSpace(t.Description) == "" {
		r.add(NoDescription, Warning, "description", "the model knows only the tool's name", "describe in one to three sentences what it does, and when to use it")
	}
}

// checkPrompt looks at what a prompt says of itself.
func (r *report) checkPrompt(p *mcp.Prompt) {
	if strings.TrimSpace(p.Description) == "" && strings.TrimSpace(p.Title) == "" {
		r.add(NoDescription, Warning, "description", "users of the prompt do not learn its purpose", "describe in one sentence what it asks the model for")
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
func (r *report) checkArguments(s toolset) {
	instructed := saidIn(s.Instructions)
	all, silent := 0, 0
	var names []string // the silent ones, in their order
	of := map[string][]string{}
	for i := range s.tools {
		t := &s.tools[i]
		if !t.fits(inputField) || strings.TrimSpace(t.Description) == "" {
			continue
		}
		said := saidIn(t.Name + " " + t.Description)
		for p := range schema.Look(t.InputSchema).Properties() {
			all++
			if areSaid(p.Name, said, instructed) || r.describes(p.View, 0) {
				continue
			}
			silent++
			if of[p.Name] == nil {
				names = append(names, p.Name)
			}
			of[p.Name] = append(of[p.Name], t.Name)
		}
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
		"give each a description: its meaning, its form or unit, and an example if that helps")
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
func (r *report) describes(v schema.View, depth int) bool {
	r.described += len(v.Raw())
	if r.described > maxDescribed || depth > 4 || v.Text("type") == "boolean" || isEmpty(v.Raw()) {
		return true
	}
	for _, keyword := range []string{"enum", "const", "examples"} {
		if v.Get(keyword) != nil {
			return true
		}
	}
	for _, keyword := range []string{"description", "format", "pattern"} {
		if v.Text(keyword) != "" {
			return true
		}
	}
	for p := range v.Properties() {
		if r.describes(p.View, depth+1) {
			return true
		}
	}
	for alternative := range v.Alternatives() {
		if r.describes(alternative, depth+1) {
			return true
		}
	}
	items := v.Get("items")
	return items != nil && r.describes(v.At(items), depth+1)
}

// isEmpty reports whether only {} fits a schema.
func isEmpty(raw json.RawMessage) bool {
	return string(jsonrpc.Get(raw, "additionalProperties")) == "false" && string(jsonrpc.Get(raw, "properties")) == "{}"
}

// checkSameDescriptions looks for tools that a model cannot choose between.
func (r *report) checkSameDescriptions(s toolset) {
	tools := s.tools
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
			r.add(SameDescription, Warning, "description", fmt.Sprintf("it equals that of %s, so a model cannot choose between them", tools[at].Name),
				"describe in each how it differs from the other")
		}
	}
}
