package tui

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/model"
)

const (
	maxPasteLines = 6     // that are shown as they are
	maxPasteBytes = 1_000 // of a paste that is shown as it is
	maxPastes     = 50    // that are remembered by their label
)

// A pasted text is long, and stands in the input as its label. It is sent whole. The label
// of a picture is sent as it is.
type pasted struct {
	label, text string
	picture     *host.Attachment // nil: it is a text
}

// fold is what stands for a pasted text in the input.
func (s *screen) fold(text string) string {
	var clean editor.Buffer
	clean.Insert(text)
	text = clean.Text()
	lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	if lines <= maxPasteLines && len(text) <= maxPasteBytes {
		return text
	}
	s.pastes.count++
	size := plural(lines, "line", "lines")
	if lines == 1 {
		size = bytes(len(text))
	}
	return s.remembered(pasted{label: fmt.Sprintf("[paste %d: %s]", s.pastes.count, size), text: text})
}

// remembered is the label of something that was pasted, which is remembered by it.
func (s *screen) remembered(p pasted) string {
	s.pastes.all = append(s.pastes.all, p)
	s.forgetPastes()
	s.input.Solid = nil
	for _, p := range s.pastes.all {
		s.input.Solid = append(s.input.Solid, p.label)
	}
	return p.label
}

// unfolded is a text with what was pasted in place of the labels.
func (s *screen) unfolded(text string) string {
	var pairs []string
	for _, p := range s.pastes.all {
		pairs = append(pairs, p.label, p.text)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// folded is a text with labels in place of what was pasted.
func (s *screen) folded(text string) string {
	for _, p := range s.pastes.all {
		text = strings.ReplaceAll(text, p.text, p.label)
		text = strings.ReplaceAll(text, strings.TrimSpace(p.text), p.label) // at an end of what was sent
	}
	return text
}

// refold puts labels into the input after something came back to it.
func (s *screen) refold() {
	if text := s.folded(s.input.Text()); text != s.input.Text() {
		s.input.Set(text)
	}
}

// largeQuestion is how many percent of the model's window a question may take that is sent at the
// first Enter.
const largeQuestion = 50

// holdsLarge keeps back a question that is large for the model's window, until it is sent a second time. It reports
// whether it did.
func (s *screen) holdsLarge(text string) bool {
	tokens, window := model.EstimateTokens(len(text)), s.used.Window
	if text == s.large || tokens*100 < window*largeQuestion || window == 0 {
		s.large = ""
		return false
	}
	s.large = text
	s.hint = fmt.Sprintf("Enter again sends it: about %s tokens, of the %s that the model sees at a time", count(tokens), count(window))
	return true
}

// inked is a row of the input, with the labels of pastes set off.
func (s *screen) inked(text string) ink.Line {
	var line ink.Line
	for text != "" {
		at, label := len(text), ""
		for _, p := range s.pastes.all {
			if i := strings.Index(text, p.label); i >= 0 && i < at {
				at, label = i, p.label
			}
		}
		line = append(line, ink.T(ink.Plain, text[:at]), ink.T(ink.Accent, label))
		text = text[at+len(label):]
	}
	return line
}
