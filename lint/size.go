package lint

import (
	"fmt"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/toolsearch"
)

// Size is the name of the rule about definitions that take a large part of a model's context.
const Size = "size"

var sizeRule = Rule{
	Name: Size, Severity: Warning,
	Doc: `The definitions of a server are too large. The limits for each request are 2,000 tokens for a tool, 20,000 for all
tools, and 2,000 for the instructions. A request can have at most 128 tools.`,
	check: of((*report).checkSize),
}

// Numbers of tokens above which definitions count as large.
const (
	largeTool         = 2_000
	largeTools        = 20_000 // all tools of a server together
	largeInstructions = 2_000
)

// checkSize reports definitions that take a large part of a model's context.
func (r *report) checkSize(s server) {
	all := 0
	for i := range s.tools {
		t := &s.tools[i]
		tokens := toolsearch.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema}.Tokens()
		if all += tokens; tokens > largeTool {
			r.about(OfTool, t.Name)
			r.add(Size, Warning, "", fmt.Sprintf("its definition takes about %d tokens of each request, %d of them its schema", tokens, toolsearch.Tokens(string(t.InputSchema))),
				fmt.Sprintf("bring it below %d: move rarely needed parts into a resource or another tool, and remove repetitions", largeTool))
		}
	}
	r.about(OfServer, "")
	if all > largeTools {
		r.add(Size, Warning, "", fmt.Sprintf("its %d tools take about %d tokens of each request", len(s.tools), all), fmt.Sprintf("bring them below %d: offer fewer tools, or let the user choose sets of them", largeTools))
	}
	if openai, _ := model.DialectNamed("openai"); openai.MaxTools > 0 && len(s.tools) > openai.MaxTools {
		r.add(Size, Warning, "", fmt.Sprintf("it has %d tools, and a request to OpenAI or Gemini can have %d", len(s.tools), openai.MaxTools), "offer fewer tools, or let the user choose sets of them")
	}
	if tokens := toolsearch.Tokens(s.Instructions); tokens > largeInstructions {
		r.add(Size, Warning, "instructions", fmt.Sprintf("they take about %d tokens of each request", tokens), fmt.Sprintf("bring them below %d: move text about a single tool into its description", largeInstructions))
	}
}
