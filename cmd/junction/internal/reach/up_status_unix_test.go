//go:build unix

package reach_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/terminal"
)

// A process that is killed removes no socket, and nobody may ever ask at it again.
func TestKilledProcessesLeaveNoSockets(t *testing.T) {
	const gone = "214748364" // no system has so many processes
	reused := fmt.Sprint(os.Getppid(), cli.ControlSuffix)
	clitest.Alone(t)
	dir, err := cli.StatusFolder(clitest.PlaceOf(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{gone + "1.sock", gone + "2.control", gone + "3" + cli.ControlSuffix, gone + "4" + reach.TrafficSuffix, gone + "5" + reach.WatcherSuffix, gone + "6" + cli.ControlSuffix, reused} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		if name == gone+"6"+cli.ControlSuffix { // which lives
			defer l.Close()
			continue
		}
		l.Close()
	}
	clitest.AwaitStarts()
	notMade := filepath.Join(dir, gone+"7"+cli.ControlSuffix+".new")
	if err := os.WriteFile(notMade, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	screen := terminal.NewScreen(io.Discard)
	end := reach.ShareTraffic(t.Context(), reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Out: screen, Screen: screen}}), "")
	files, err := os.ReadDir(dir)
	end()
	var left []string
	for _, f := range files {
		left = append(left, f.Name())
	}
	want := []string{fmt.Sprint(os.Getpid(), reach.TrafficSuffix), gone + "6" + cli.ControlSuffix, filepath.Base(notMade), reused}
	slices.Sort(want)
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("%v: left are %q, want %q", err, left, want)
	}
}

// It has some places for those who watch, and one who begins is none of them.
func TestAProcessThatBeginsDoesNotAskThoseThatRun(t *testing.T) {
	clitest.Alone(t)
	dir, err := cli.StatusFolder(clitest.PlaceOf(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fmt.Sprint(os.Getppid(), reach.TrafficSuffix))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cli.RemoveStaleSockets(t.Context(), dir)
	asks, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer asks.Close()
	if _, err := asks.Write([]byte{reach.WantsMessages}); err != nil {
		t.Fatal(err)
	}
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if n, err := first.Read(make([]byte, 1)); n != 1 {
		t.Errorf("the first one who came wanted nothing: %v", err)
	}
}
