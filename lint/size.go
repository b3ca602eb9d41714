package lint

import (
	"fmt"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/toolsearch"
)

// From when on definitions are large, in tokens.
const (
	largeTool         = 2_000
	largeTools        = 20_000 // of all tools of a server
	largeInstructions = 2_000
)

// checkSize looks at what definitions cost in a model's context.
func (r *report) checkSize(seen *Seen, tools []tool) {
	all := 0
	for i := range tools {
		t := &tools[i]
		tokens := toolsearch.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema}.Tokens()
		if all += tokens; tokens > largeTool {
			r.about(OfTool, t.Name)
			r.add(Size, Warning, "", fmt.Sprintf("its definition takes some %d tokens of each request, %d of them its schema", tokens, toolsearch.Tokens(string(t.InputSchema))),
				fmt.Sprintf("bring it below %d: move what is rarely needed into a resource or another tool, and say nothing twice", largeTool))
		}
	}
	r.about(OfServer, "")
	if all > largeTools {
		r.add(Size, Warning, "", fmt.Sprintf("its %d tools take some %d tokens of each request", len(tools), all), fmt.Sprintf("bring them below %d: offer fewer tools, or let the user choose sets of them", largeTools))
	}
	if openai, _ := model.DialectNamed("openai"); openai.MaxTools > 0 && len(tools) > openai.MaxTools {
		r.add(Size, Warning, "", fmt.Sprintf("it has %d tools, and a request to OpenAI or Gemini can have %d", len(tools), openai.MaxTools), "offer fewer tools, or let the user choose sets of them")
	}
	if tokens := toolsearch.Tokens(seen.Instructions); tokens > largeInstructions {
		r.add(Size, Warning, "instructions", fmt.Sprintf("they take some %d tokens of each request", tokens), fmt.Sprintf("bring them below %d: what is needed for one tool belongs into its description", largeInstructions))
	}
}
