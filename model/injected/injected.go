package injected

import (
	"context"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// New returns a model that calls tools through one that cannot: the manual of the
// tools goes into the system prompt, calls and results of the past become text,
// and calls are found in the text that the model writes. It is as safe for
// concurrent use as m. Errors are those of m.
//
// A call is found in the form that the manual asks for, and in those that models
// were trained on. One that was cut off is dropped; one that is too damaged is
// returned as malformed, so that the model can learn of it. What a model writes as
// the result of its own call is cut off.
func New(m model.Model) model.Model { return &injected{m} }

type injected struct{ inner model.Model }

// Info describes the model below, which can have any number of tools now.
func (m *injected) Info() model.Info {
	info := m.inner.Info()
	info.MaxTools = 0
	return info
}

// Generate asks the model below, and finds the calls in what it writes.
func (m *injected) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if emit == nil {
		emit = func(model.Delta) {}
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	below, offered, notes := request(req)
	p := &scanner{emit: emit, tools: newToolbox(offered, req.Messages), mute: req.Choice == model.ChoiceNone}
	p.start()
	res, err := m.inner.Generate(within, below, func(d model.Delta) {
		switch {
		case d.Text != "" && !p.over:
			if p.write(d.Text); p.over {
				cancel() // what comes now is made up
			}
		case d.Retry != nil:
			p.start()
			emit(d)
		case d.Reasoning != "":
			emit(d)
		}
	})
	if p.over && ctx.Err() == nil {
		err = nil // it was not waited for
	}
	if res == nil {
		if err != nil {
			return nil, err
		}
		res = &model.Response{Stop: model.StopOther}
	}
	out := *res
	out.Notes = append(notes, res.Notes...)
	p.finish(&out, err)
	if out.Usage == (model.Usage{}) {
		out.Usage = wire.Estimate(below, &out.Message)
	}
	return &out, err
}

// finish makes res the whole answer. It had come to its end if failed is nil.
func (p *scanner) finish(res *model.Response, failed error) {
	// A model that tells nothing while it writes has it all in its answer.
	if rest, ok := strings.CutPrefix(res.Message.Text(), p.fed.String()); ok && !p.over {
		p.write(rest)
	}
	whole := failed == nil && res.Stop != model.StopLength && res.Stop != model.StopRefusal
	p.close(whole)
	// What the model below thought apart from its text stays in front of it.
	rest := slices.DeleteFunc(slices.Clone(res.Message.Parts), func(part model.Part) bool {
		return part.Text != "" || part.Call != nil || part == (model.Part{})
	})
	res.Message.Role = model.RoleAssistant
	res.Message.Parts = append(rest, p.parts...)
	if whole && len(res.Message.Calls()) > 0 {
		res.Stop = model.StopCalls
	}
}

// request returns what the model below is asked, and which tools it knows of.
func request(req *model.Request) (*model.Request, []model.Tool, []model.Note) {
	below := *req
	text, notes := manual(req.Tools)
	offered := slices.DeleteFunc(slices.Clone(req.Tools), func(t model.Tool) bool {
		return slices.ContainsFunc(notes, func(n model.Note) bool { return n.SetAside && n.Tool == t.Name })
	})
	if choice := choices[req.Choice]; choice != "" && text != "" {
		text += "\n\n" + choice
	}
	if below.System != "" && text != "" {
		text = "\n\n" + text
	}
	below.System += text
	below.Tools, below.CachedTools, below.Choice = nil, 0, model.ChoiceAuto
	below.Messages = render(req.Messages)
	return &below, offered, notes
}

// choices is what a request that leaves no choice adds to the manual.
var choices = map[model.Choice]string{
	model.ChoiceRequired: "Call at least one tool now.",
	model.ChoiceNone:     "Answer now without calling a tool.",
}
