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

// NoDescription is the name of the rule about tools and prompts without a description.
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

// NoArgumentDescription is the name of the rule about servers that leave a tenth or more of their
// arguments undescribed.
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

// SameDescription is the name of the rule about tools with the same description.
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

// checkDescription reports a tool without a description.
func (r *report) checkDescription(t *tool) {
	if strings.TrimSpace(t.Description) == "" {
		r.add(NoDescription, Warning, "description", "the model knows only the tool's name", "describe in one to three sentences what it does, and when to use it")
	}
}

// checkPrompt reports a prompt without a description and a title.
func (r *report) checkPrompt(p *mcp.Prompt) {
	if strings.TrimSpace(p.Description) == "" && strings.TrimSpace(p.Title) == "" {
		r.add(NoDescription, Warning, "description", "users of the prompt do not learn its purpose", "describe in one sentence what it asks the model for")
	}
}

const (
	// Arguments without a description are reported if there are at least minSilent of them, and if
	// they are at least one in silentShare. Below that, it is a matter of taste whether their names
	// are sufficient.
	minSilent   = 2
	silentShare = 10
	// maxSilentShown is the largest number of names in the finding.
	maxSilentShown = 12
)

// checkArguments reports arguments whose meaning a model must guess: neither their schema nor the
// texts of the tool and the server describe them.
func (r *report) checkArguments(s toolset) {
	instructed := wordsIn(s.Instructions)
	all, silent := 0, 0
	var names []string // undescribed arguments in the order of the tools
	of := map[string][]string{}
	for i := range s.tools {
		t := &s.tools[i]
		if !t.fits(inputField) || strings.TrimSpace(t.Description) == "" {
			continue
		}
		mentioned := wordsIn(t.Name + " " + t.Description)
		for p := range schema.Look(t.InputSchema).Properties() {
			all++
			if areMentioned(p.Name, mentioned, instructed) || r.describes(p.View, 0) {
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

// areMentioned reports whether each word of a name is in mentioned or instructed, in singular or
// plural. The name branchName needs both branch and name.
func areMentioned(name string, mentioned, instructed map[string]bool) bool {
	for word := range strings.FieldsSeq(inWords(name)) {
		if word = singular(word); !mentioned[word] && !instructed[word] {
			return false
		}
	}
	return true
}

// wordsIn returns the set of words in a text, in the singular.
func wordsIn(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(inWords(text)) {
		words[singular(word)] = true
	}
	return words
}

// singular returns the same text for the singular and the plural of a word, such as branch and
// branches or entry and entries.
func singular(word string) string {
	word = strings.TrimSuffix(strings.TrimSuffix(word, "s"), "e")
	if stem, is := strings.CutSuffix(word, "i"); is {
		return stem + "y"
	}
	return word
}

// inWords returns a text or a name in lower case with one space between words. For issueNumber and
// issue_number it returns "issue number".
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

// maxDescribed is the largest number of bytes of schemas that describes examines. Schemas can refer
// to each other very often.
const maxDescribed = 256 << 20

// describes reports whether a schema describes its values: by a text, by the possible values, by a
// format, or by its parts. The name of a boolean is sufficient.
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

// isEmpty reports whether a schema matches only {}.
func isEmpty(raw json.RawMessage) bool {
	return string(jsonrpc.Get(raw, "additionalProperties")) == "false" && string(jsonrpc.Get(raw, "properties")) == "{}"
}

// checkSameDescriptions reports tools with the same description.
func (r *report) checkSameDescriptions(s toolset) {
	tools := s.tools
	first := map[string]int{}
	for i := range tools {
		description := strings.TrimSpace(tools[i].Description)
		if description == "" {
			continue
		}
		at, again := first[description]
		if !again {
			first[description] = i
			continue
		}
		if tools[at].Name != tools[i].Name {
			r.about(OfTool, tools[i].Name)
			r.add(SameDescription, Warning, "description", fmt.Sprintf("it equals that of %s, so a model cannot choose between them", tools[at].Name),
				"describe in each how it differs from the other")
		}
	}
}
