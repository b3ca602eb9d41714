package wire

import "github.com/junction-mcp/junction/model"

// Estimate guesses the tokens of a request and its answer, where nobody says.
func Estimate(req *model.Request, answer *model.Message) model.Usage {
	input, pictures := len(req.System), 0
	for i := range req.Messages {
		size, _ := sizeOf(&req.Messages[i])
		input += size
		pictures += picturesIn(req.Messages[i].Parts)
	}
	for i := range req.Tools {
		input += len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].Schema)
	}
	output, thought := sizeOf(answer)
	return model.Usage{
		Input: model.EstimateTokens(input) + pictures*model.PictureTokens, Output: model.EstimateTokens(output + thought),
		Reasoning: model.EstimateTokens(thought), Estimated: true,
	}
}

// sizeOf is how many bytes of a message are read, and how many of it were thought.
func sizeOf(m *model.Message) (size, thought int) {
	for i := range m.Parts {
		p := &m.Parts[i]
		size += len(p.Text)
		if p.Call != nil {
			size += len(p.Call.Name) + len(p.Call.Raw)
			if string(p.Call.Arguments) != "{}" { // the model may have written nothing
				size += len(p.Call.Arguments)
			}
		}
		if p.Result != nil {
			size += len(p.Result.Text())
		}
		if p.Reasoning != nil {
			thought += len(p.Reasoning.Text)
		}
	}
	return size, thought
}
