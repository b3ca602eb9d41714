package use_test

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/use"
	"github.com/junction-mcp/junction/internal/terminal"
)

func TestServersThatStillStartAreNamed(t *testing.T) {
	seen := new(bytes.Buffer)
	s := &use.StartList{App: reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Screen: terminal.NewScreen(seen)}}), Pending: map[string]string{"a": "", "b": "", "c": "", "d": use.Waiting, "e": use.Waiting}, Printed: map[string]bool{}}
	s.Note("a", "", false)
	s.Print()
	s.Print()
	s.Note("b", "npx installs x", true)
	s.Print()
	s.Note("b", "", false)
	s.Note("c", "", false)
	s.Note("d", "", true)
	s.Print()
	s.Note("d", "", false)
	s.Print()
	if want := "junction: still starting: b, c; 2 wait to start\n" +
		"junction: still starting: b (npx installs x); 2 wait to start\njunction: still starting: d; 1 waits to start\n"; seen.String() != want {
		t.Errorf("got %q, want %q", seen, want)
	}
}

func TestOneServerThatStartsForLongIsNamed(t *testing.T) {
	for took, want := range map[time.Duration][]string{
		reach.StartingPause - time.Millisecond: nil,
		reach.StartingPause + time.Millisecond: {"still starting: a (npx installs x)", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var shown []string
			end := reach.ShowStarting("a (npx installs x)", func(line string) { shown = append(shown, line) })
			time.Sleep(took)
			end()
			if !slices.Equal(shown, want) {
				t.Errorf("after %v: %q, want %q", took, shown, want)
			}
		})
	}
}
