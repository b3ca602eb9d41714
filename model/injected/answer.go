package injected

import (
	"strings"

	"github.com/junction-mcp/junction/model"
)

// answer is one answer while it is made: what the parser found so far.
type answer struct {
	emit  func(model.Delta)
	tools *toolbox
	mute  bool   // no calls are wanted
	stop  func() // ends the request below

	parser  *parser
	parts   []model.Part
	said    strings.Builder // text that is no part yet
	mused   strings.Builder // reasoning that is no part yet
	calls   int
	fed     strings.Builder
	stopped bool
	firstID int
}

// begin starts over, for the first attempt and for each that follows.
func (a *answer) begin() {
	if a.parser != nil {
		a.parser.stop()
		a.tools.lastID = a.firstID
	}
	a.firstID = a.tools.lastID
	a.parts, a.calls = nil, 0
	a.fed.Reset()
	a.said.Reset()
	a.mused.Reset()
	a.parser = &parser{tools: a.tools, text: a.text, reasoning: a.thought, call: a.call}
	a.parser.start()
}

// delta takes a piece of the model below.
func (a *answer) delta(d model.Delta) {
	switch {
	case d.Text != "":
		a.write(d.Text)
	case d.Retry != nil:
		a.begin()
		a.emit(d)
	case d.Reasoning != "":
		a.emit(d)
	}
}

func (a *answer) write(text string) {
	if a.parser.over {
		return
	}
	a.fed.WriteString(text)
	a.parser.write(text)
	if a.parser.over && !a.stopped {
		a.stopped = true
		a.stop()
	}
}

func (a *answer) text(text string) {
	if a.mused.Len() > 0 {
		a.settle()
	}
	a.said.WriteString(text)
	a.emit(model.Delta{Text: text})
}

func (a *answer) thought(text string) {
	if a.said.Len() > 0 {
		a.settle()
	}
	a.mused.WriteString(text)
	a.emit(model.Delta{Reasoning: text})
}

// settle makes a part of what was said.
func (a *answer) settle() {
	if a.said.Len() > 0 {
		a.parts = append(a.parts, model.Part{Text: a.said.String()})
	}
	if a.mused.Len() > 0 {
		a.parts = append(a.parts, model.Part{Reasoning: &model.Reasoning{Text: a.mused.String()}})
	}
	a.said.Reset()
	a.mused.Reset()
}

func (a *answer) call(c *model.Call) {
	if a.mute {
		return
	}
	a.emit(model.Delta{Call: &model.CallDelta{Index: a.calls, ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)}})
	a.calls++
	a.settle()
	a.parts = append(a.parts, model.Part{Call: c})
}

// finish makes res the whole answer. It had come to its end if failed is nil.
func (a *answer) finish(res *model.Response, failed error) {
	// A model that tells nothing while it writes has it all in its answer.
	if rest, ok := strings.CutPrefix(res.Message.Text(), a.fed.String()); ok && rest != "" {
		a.write(rest)
	}
	a.parser.close(failed == nil && res.Stop != model.StopLength && res.Stop != model.StopRefusal)
	a.settle()
	var before, behind []model.Part
	for _, p := range res.Message.Parts {
		switch {
		case p.Text != "" || p == (model.Part{}):
			behind = append(behind, model.Part{}) // marks where the text stood
		case p.Call != nil: // it was offered no tools
		case len(behind) == 0:
			before = append(before, p)
		default:
			behind = append(behind, p)
		}
	}
	res.Message.Role = model.RoleAssistant
	res.Message.Parts = append(before, a.parts...)
	for _, p := range behind {
		if p != (model.Part{}) {
			res.Message.Parts = append(res.Message.Parts, p)
		}
	}
	if a.calls > 0 && failed == nil && res.Stop != model.StopLength && res.Stop != model.StopRefusal {
		res.Stop = model.StopCalls
	}
}
