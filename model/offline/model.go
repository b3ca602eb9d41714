package offline

import (
	"context"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

const (
	// maxQuestion is how many bytes of a question are read.
	maxQuestion = 8 << 10
	// maxSteps is how many steps of one question are taken.
	maxSteps = 16
	// maxExtract is how many bytes of a conversation stand for its summary.
	maxExtract = 4 << 10
	// searchTool is the host's own tool that finds others: {"queries":[string]}.
	searchTool = "search_tools"
)

type offline struct{}

// New returns the model. It is safe for concurrent use, never fails but when the
// context has ended, and never asks for more than one call at a time. A choice of
// [model.ChoiceRequired] is not kept where no call can be made, nor are limits of an answer.
func New() model.Model { return offline{} }

// Info says that this is no language model.
func (offline) Info() model.Info { return model.Info{Provider: "junction", Name: "offline"} }

// Generate answers the last message of the user.
func (offline) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if emit == nil {
		emit = func(model.Delta) {}
	}
	res := &model.Response{Stop: model.StopEnd, Model: "offline"}
	call, text := next(req)
	if call != nil {
		res.Stop = model.StopCalls
		emit(model.Delta{Call: &model.CallDelta{ID: call.ID, Name: call.Name, Arguments: string(call.Arguments)}})
	} else {
		for word := range strings.SplitAfterSeq(text, " ") {
			emit(model.Delta{Text: word})
		}
	}
	res.Message = model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: text, Call: call}}}
	res.Usage = wire.Estimate(req, &res.Message)
	return res, ctx.Err()
}

// next is the call of the next step, or what is said where there is none.
func next(req *model.Request) (*model.Call, string) {
	if len(req.Tools) == 0 && req.System != "" {
		text := req.Messages[len(req.Messages)-1].Text()
		return nil, "An extract, as no language model is at hand:\n" + strings.ToValidUTF8(text[max(0, len(text)-maxExtract):], "")
	}
	question, done, searched := lastTurn(req.Messages)
	todo := steps(question)
	at, last := len(done), min(len(todo), maxSteps)
	said := outcome(done)
	switch {
	case at > 0 && (at >= last || done[at-1].IsError):
		return nil, join(said, notDone(todo[min(at, last):]))
	case last == 0:
		return nil, introduction(req.Tools)
	case req.Choice == model.ChoiceNone:
		return nil, join(said, "I may not call a tool now.", honest)
	}
	tools := slices.DeleteFunc(slices.Clone(req.Tools), func(t model.Tool) bool { return t.Name == searchTool })
	p := find(tools, todo[at])
	call := &model.Call{ID: wire.NewIDs(req).Unique("")}
	switch {
	case p != nil && p.problem == "":
		call.Name, call.Arguments = p.tool.Name, p.arguments
		return call, ""
	case p == nil && !searched && len(tools) < len(req.Tools):
		query := jsonrpc.NewObject(nil)
		query.Array("queries")
		query.StringElement(todo[at])
		call.Name, call.Arguments = searchTool, query.Bytes()
		return call, ""
	case p == nil && at == 0:
		said = introduction(tools)
	default:
		said = join(said, unable(p, todo[at]))
	}
	return nil, join(said, notDone(todo[at+1:]))
}

// lastTurn is what the user said last, and what came of it: the results of calls,
// without those of the tool search, and whether that was the last call.
func lastTurn(messages []model.Message) (question string, done []*model.Result, searched bool) {
	for i := range messages {
		if messages[i].Role == model.RoleUser {
			question, done, searched = questionIn(&messages[i]), nil, false
		}
		for _, p := range messages[i].Parts {
			if p.Result == nil {
				continue
			}
			if searched = p.Result.Name == searchTool; !searched {
				done = append(done, p.Result)
			}
		}
	}
	return question, done, searched
}

// questionIn is the first text that a person may have written: what a host puts
// before it, such as a summary of what was said, is several lines in brackets.
func questionIn(m *model.Message) string {
	for _, p := range m.Parts {
		note := strings.HasPrefix(p.Text, "[") && strings.HasSuffix(p.Text, "]") && strings.Contains(p.Text, "\n")
		if p.Text != "" && !note {
			return strings.ToValidUTF8(p.Text[:min(len(p.Text), maxQuestion)], "")
		}
	}
	return ""
}
