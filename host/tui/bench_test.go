package tui

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

// What one piece of a streamed answer costs on the screen, while a paragraph of a
// few kilobytes is being written.
func BenchmarkPieceOfAnAnswer(b *testing.B) {
	ui, err := New(Options{Theme: "mono"})
	if err != nil {
		b.Fatal(err)
	}
	s := newScreen(b.Context(), ui, &scripted{info: model.Info{Name: "m", Language: true}})
	s.resize(80, 24)
	s.run = &run{}
	paragraph := strings.Repeat("The quick *brown* fox jumps over `the` lazy dog. ", 60) + "\n\n"
	at := 0
	for b.Loop() {
		s.receive(host.Event{Delta: &model.Delta{Text: paragraph[at:min(len(paragraph), at+5)]}})
		s.draw()
		at = (at + 5) % len(paragraph)
		s.paper.queue = nil
	}
}
