package offline

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// sumQuestion is the example of [Example] where a tool adds two numbers.
const sumQuestion = "add 2 and 40"

// plainWord is what an example takes of a tool: neither spaces nor marks, which a question would read otherwise.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9][\w.-]{0,39}$`)

// Example returns a question that the model answers with a call of one of these tools, or nothing where it
// knows none. With searched, the model has to search for the tools first, and the question has the tool's name.
func Example(tools []model.Tool, searched bool) string {
	var first []*model.Tool
	if p := find(tools, sumQuestion); p != nil && p.problem == "" {
		if !searched {
			return sumQuestion
		}
		first = append(first, p.tool)
	}
	for i := range tools {
		first = append(first, &tools[i])
	}
	for _, tool := range first {
		question := exampleOf(tool)
		if all := steps(question); len(all) != 1 || all[0] != question {
			continue
		}
		if p := find(tools, question); p != nil && p.problem == "" && p.tool == tool {
			return question
		}
	}
	return ""
}

// exampleOf is a call of a tool as a user writes it, or nothing where it needs a text that only a user knows.
func exampleOf(tool *model.Tool) string {
	words := []string{own(tool.Name)}
	for i, p := range paramsOf(tool.Schema) {
		if !p.Required {
			break
		}
		values, value := p.Choices(), ""
		switch {
		case len(values) > 0:
			value, _ = jsonrpc.Unquote(values[0])
		case len(p.types) == 1 && (p.types[0] == "number" || p.types[0] == "integer"):
			value = strconv.Itoa([]int{2, 40}[i%2])
		}
		if !plainWord.MatchString(value) {
			return ""
		}
		words = append(words, p.Name+"="+value)
	}
	for _, w := range words {
		if name, _, _ := strings.Cut(w, "="); !plainWord.MatchString(name) {
			return ""
		}
	}
	return strings.Join(words, " ")
}
