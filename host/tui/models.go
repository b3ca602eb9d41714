package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// Models are the models that can answer, and how hard they think. Its methods are called
// from several goroutines.
type Models interface {
	// List returns the models that can be chosen, those of the current provider first.
	// An error may come with some of them: it says which provider did not answer.
	List(ctx context.Context) ([]ModelChoice, error)
	// Choose has another model answer from the next question on.
	Choose(name string) error
	// Efforts are the levels of effort that the model can be asked for, and the one that
	// it is; no levels where it has none.
	Efforts() (levels []string, current string)
	// SetEffort asks for a level from the next question on.
	SetEffort(level string) error
}

// A ModelChoice is a model that can be chosen.
type ModelChoice struct {
	Name    string // as Choose takes it
	About   string
	Current bool
}

// model shows the models to choose from, or has one of them answer.
func (s *screen) model(name string) {
	models := s.ui.options.Models
	switch {
	case models == nil && name == "":
		s.say(ink.Plain, s.aboutModel())
	case models == nil:
		s.hint = "the model cannot be switched here; start with --model " + oneLine(name, 100)
	case name != "":
		s.chooseModel(name)
	default:
		s.hint = "asking which models there are…"
		s.later(func(ctx context.Context) func(*screen) {
			list, err := models.List(ctx)
			return func(s *screen) {
				s.hint = ""
				if err != nil {
					s.say(ink.Warn, err.Error())
				}
				if len(list) == 0 {
					s.say(ink.Plain, s.aboutModel()+". For another one: /model PROVIDER:NAME")
					return
				}
				s.panel = s.modelPicker(list)
			}
		})
	}
}

func (s *screen) modelPicker(list []ModelChoice) *picker {
	p := &picker{title: "model: " + s.aboutModel()}
	for i, m := range list {
		about := m.About
		if m.Current {
			about = strings.TrimSpace("this one " + about)
			p.selected = i
		}
		p.items = append(p.items, item{label: m.Name, detail: about})
	}
	p.chosen = func(s *screen, i int) { s.chooseModel(list[i].Name) }
	return p
}

// chooseModel has a model answer from now on.
func (s *screen) chooseModel(name string) {
	if s.run != nil { // the list came while the next answer began
		s.hint = "the answer is still coming; Esc interrupts it"
		return
	}
	if err := s.ui.options.Models.Choose(name); err != nil {
		s.say(ink.Bad, "error: "+err.Error())
		return
	}
	text := "From now on answers " + s.aboutModel() + "."
	window, planned := s.session.Model().Window, s.used.Window
	switch {
	case window > planned && planned > 0:
		text += fmt.Sprintf(" This session still uses %s tokens of its context; start with --model to use all of it.", count(planned))
	case window > 0 && window < planned:
		text += fmt.Sprintf(" Its context is smaller than the %s tokens of this session: old turns are summarized when it refuses them.", count(planned))
	}
	s.say(ink.Muted, text)
}

// effort shows or sets how hard the model thinks.
func (s *screen) effort(level string) {
	var levels []string
	var current string
	if s.ui.options.Models != nil {
		levels, current = s.ui.options.Models.Efforts()
	}
	switch {
	case len(levels) == 0:
		s.hint = oneLine(s.session.Model().Name, 40) + " has no levels of effort that junction knows"
	case level != "" && !slices.Contains(levels, level):
		s.hint = "expected /effort with one of " + strings.Join(levels, ", ")
	case level != "":
		s.setEffort(level)
	default:
		p := &picker{title: "effort", chosen: func(s *screen, i int) { s.setEffort(levels[i]) }, selected: max(0, slices.Index(levels, current))}
		for _, l := range levels {
			it := item{label: l}
			if l == current {
				it.detail = "this one"
			}
			p.items = append(p.items, it)
		}
		s.panel = p
	}
}

func (s *screen) setEffort(level string) {
	if err := s.ui.options.Models.SetEffort(level); err != nil {
		s.say(ink.Bad, "error: "+err.Error())
		return
	}
	s.say(ink.Muted, "From the next question on, the model is asked for this effort: "+level)
}

// aboutModel is what is known of the model that answers.
func (s *screen) aboutModel() string {
	m := s.session.Model()
	text := fmt.Sprintf("%s at %s", m.Name, m.Provider)
	if !m.Language {
		text += "; it is not a language model"
	}
	if m.Window > 0 {
		text += fmt.Sprintf(", %s-token context", count(m.Window))
	}
	if m.Price.Output > 0 {
		text += fmt.Sprintf("; a million tokens cost $%g in, $%g out", m.Price.Input, m.Price.Output)
	}
	if s.ui.options.Models != nil {
		if levels, current := s.ui.options.Models.Efforts(); len(levels) > 0 {
			text += "; effort: " + current
		}
	}
	return text
}
