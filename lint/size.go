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
	Doc: `A tool takes more than 2,000 tokens of each request, all tools of a server more than 20,000, its instructions more than 2,000, or the
server has more than 128 tools, the limit of a request.`,
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
			r.add(Size, Warning, "", fmt.Sprintf("its definition takes some %d tokens of each request, %d of them its schema", tokens, toolsearch.Tokens(string(t.InputSchema))),
				fmt.Sprintf("bring it below %d: move what is rarely needed into a resource or another tool, and say nothing twice", largeTool))
		}
	}
	r.about(OfServer, "")
	if all > largeTools {
		r.add(Size, Warning, "", fmt.Sprintf("its %d tools take some %d tokens of each request", len(s.tools), all), fmt.Sprintf("bring them below %d: offer fewer tools, or let the user choose sets of them", largeTools))
	}
	if openai, _ := model.DialectNamed("openai"); openai.MaxTools > 0 && len(s.tools) > openai.MaxTools {
		r.add(Size, Warning, "", fmt.Sprintf("it has %d tools, and a request to OpenAI or Gemini can have %d", len(s.tools), openai.MaxTools), "offer fewer tools, or let the user choose sets of them")
	}
	if tokens := toolsearch.Tokens(s.Instructions); tokens > largeInstructions {
		r.add(Size, Warning, "instructions", fmt.Sprintf("they take some %d tokens of each request", tokens), fmt.Sprintf("bring them below %d: what is needed for one tool belongs into its description", largeInstructions))
	}
}
