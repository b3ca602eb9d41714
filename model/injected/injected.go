package injected

import (
	"context"
	"slices"

	"github.com/junction-mcp/junction/model"
)

// Options says how tools are injected. The zero value is good for most models.
type Options struct {
	// MaxManual is how many bytes the manual of the tools may have in the system
	// prompt; 0 means 128 KiB. Tools beyond are set aside with a note.
	MaxManual int
}

// New returns a model that calls tools through one that cannot: the manual of the
// tools goes into the system prompt, calls and results of the past become text,
// and calls are found in the text that the model writes. It is as safe for
// concurrent use as m. Errors are those of m.
//
// A call is found in the form that the manual asks for, and in those that models
// were trained on. One that was cut off is dropped; one that is too damaged is
// returned as malformed, so that the model can learn of it. What a model writes as
// the result of its own call is cut off.
func New(m model.Model, o Options) model.Model {
	if o.MaxManual <= 0 {
		o.MaxManual = defaultManual
	}
	return &injected{m, o}
}

type injected struct {
	inner   model.Model
	options Options
}

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
	below, offered, notes := m.request(req)
	a := &answer{emit: emit, tools: newToolbox(offered, req.Messages), mute: req.Choice == model.ChoiceNone, stop: cancel}
	a.begin()
	defer func() { a.parser.stop() }()
	res, err := m.inner.Generate(within, below, a.delta)
	if a.stopped && ctx.Err() == nil {
		err = nil // what came after was made up, and was not waited for
	}
	if res == nil && err != nil {
		return nil, err
	}
	if res == nil {
		res = &model.Response{Stop: model.StopOther}
	}
	out := *res
	out.Notes = append(notes, res.Notes...)
	a.finish(&out, err)
	if out.Usage == (model.Usage{}) {
		out.Usage = estimate(below, &out.Message)
	}
	return &out, err
}

// request returns what the model below is asked, and which tools it knows of.
func (m *injected) request(req *model.Request) (*model.Request, []model.Tool, []model.Note) {
	below := *req
	text, notes := manual(req.Tools, m.options.MaxManual)
	offered := slices.DeleteFunc(slices.Clone(req.Tools), func(t model.Tool) bool {
		return slices.ContainsFunc(notes, func(n model.Note) bool { return n.SetAside && n.Tool == t.Name })
	})
	for _, more := range []string{text, choiceText(req.Choice, len(offered))} {
		if more != "" && below.System != "" {
			below.System += "\n\n"
		}
		below.System += more
	}
	below.Tools, below.CachedTools, below.Choice = nil, 0, model.ChoiceAuto
	below.Messages = render(req.Messages)
	return &below, offered, notes
}

func choiceText(c model.Choice, tools int) string {
	switch {
	case tools == 0:
		return ""
	case c == model.ChoiceRequired:
		return "Call at least one tool now."
	case c == model.ChoiceNone:
		return "Answer now without calling a tool."
	}
	return ""
}

// estimate guesses what was used, where the model below did not say.
func estimate(req *model.Request, answer *model.Message) model.Usage {
	read, written := len(req.System), len(answer.Text())
	for i := range req.Messages {
		read += len(req.Messages[i].Text())
	}
	for i := range answer.Parts {
		if r := answer.Parts[i].Reasoning; r != nil {
			written += len(r.Text)
		}
	}
	for _, c := range answer.Calls() {
		written += len(c.Name) + len(c.Arguments) + len(c.Raw)
	}
	return model.Usage{Input: model.EstimateTokens(read), Output: model.EstimateTokens(written), Estimated: true}
}
