package offline

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/toolsearch"
)

// searchTool is the host's own tool that finds others: {"queries":[string]}.
const searchTool = "search_tools"

type offline struct {
	mu    sync.Mutex
	tools []model.Tool // that index holds
	index *toolsearch.Index
}

// New returns the model. It is safe for concurrent use, never fails but when the
// context has ended, and never asks for more than one call at a time. A choice of
// [model.ChoiceRequired] is not kept where no call can be made.
func New() model.Model { return &offline{} }

// Info says that this is no language model.
func (*offline) Info() model.Info { return model.Info{Provider: "junction", Name: "offline"} }

// Generate answers the last message of the user.
func (o *offline) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if emit == nil {
		emit = func(model.Delta) {}
	}
	var resp *model.Response
	if wantsSummary(req) {
		resp = say(req, extract(req.Messages), emit)
	} else {
		resp = o.next(ctx, req, emit)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return resp, nil
}

// next makes the call of the next step, or answers if there is none.
func (o *offline) next(ctx context.Context, req *model.Request, emit func(model.Delta)) *model.Response {
	t := readTurn(req.Messages)
	todo, cut := steps(t.question)
	report := outcome(t.done)
	switch {
	case t.failed:
		return say(req, join(report, notDone(todo, len(t.done))), emit)
	case len(t.done) >= len(todo) && len(t.done) > 0:
		if cut {
			report = join(report, "There were more steps than I take at a time; the rest was not done.")
		}
		return say(req, report, emit)
	case len(todo) == 0:
		return say(req, introduction(req.Tools), emit)
	}
	step := todo[len(t.done)]
	tools, canSearch := withoutSearch(req.Tools)
	found := o.find(ctx, tools, step)
	switch {
	case req.Choice == model.ChoiceNone:
		return say(req, join(report, withheld(found)), emit)
	case found != nil && found.ready():
		return call(req, found.tool.Name, found.arguments(), emit)
	case found == nil && canSearch && !t.searched:
		query := jsonrpc.AppendString([]byte(`{"queries":[`), step)
		return call(req, searchTool, append(query, "]}"...), emit)
	}
	return say(req, join(report, unable(found, step, tools, len(t.done) > 0), notDone(todo, len(t.done)+1)), emit)
}

func withoutSearch(tools []model.Tool) (others []model.Tool, canSearch bool) {
	others = make([]model.Tool, 0, len(tools))
	for _, t := range tools {
		if t.Name == searchTool {
			canSearch = true
		} else {
			others = append(others, t)
		}
	}
	return others, canSearch
}

// call asks for one call.
func call(req *model.Request, name string, arguments json.RawMessage, emit func(model.Delta)) *model.Response {
	c := &model.Call{ID: newID(req.Messages), Name: name, Arguments: arguments}
	emit(model.Delta{Call: &model.CallDelta{ID: c.ID, Name: c.Name, Arguments: string(arguments)}})
	return respond(req, model.Part{Call: c}, model.StopCalls, len(arguments))
}

// say answers with a text, word by word, within the limits of the request.
func say(req *model.Request, text string, emit func(model.Delta)) *model.Response {
	reason := model.StopEnd
	for _, stop := range req.Stop {
		if before, _, found := strings.Cut(text, stop); found && stop != "" {
			text = before
		}
	}
	if most := req.MaxTokens; most > 0 && model.EstimateTokens(len(text)) > most {
		text, reason = whole(text[:most*4]), model.StopLength
	}
	if strings.TrimSpace(text) == "" {
		text = "…" // a message must say something
	}
	for word := range strings.SplitAfterSeq(text, " ") {
		emit(model.Delta{Text: word})
	}
	return respond(req, model.Part{Text: text}, reason, len(text))
}

func respond(req *model.Request, part model.Part, reason model.StopReason, size int) *model.Response {
	input := len(req.System)
	for i := range req.Messages {
		input += len(req.Messages[i].Text())
	}
	return &model.Response{
		Message: model.Message{Role: model.RoleAssistant, Parts: []model.Part{part}},
		Stop:    reason,
		Model:   "offline",
		Usage:   model.Usage{Input: model.EstimateTokens(input), Output: model.EstimateTokens(size), Estimated: true},
	}
}

// whole is the text without the half of a character at its end.
func whole(text string) string {
	for len(text) > 0 {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text
}
