package launch

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/process/processtest"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/sandbox"
)

// start is a trial of a server, as a start of it makes one.
func start(t *testing.T, c *command.Command) *trial {
	t.Helper()
	trial := new(Launcher).newTrial(c, "files", sandbox.Profile{}, sandbox.Options{})
	if trial == nil {
		t.Fatal("there is no trial")
	}
	return trial
}

func (t *trial) used(refused bool) *trial {
	t.answered.Store(true)
	t.works.Store(true)
	t.isRefused.Store(refused)
	return t
}

func TestAProfileFitsUntilAStartIsRefusedSomething(t *testing.T) {
	for name, starts := range map[string]struct {
		run  func(c *command.Command)
		want bool
	}{
		"a start that is refused nothing":      {func(c *command.Command) { start(t, c).used(false).end() }, true},
		"one that is refused something":        {func(c *command.Command) { start(t, c).used(true).end() }, false},
		"one that shows nothing":               {func(c *command.Command) { start(t, c).end() }, false},
		"one that shows nothing, after a good": {func(c *command.Command) { start(t, c).used(false).end(); start(t, c).end() }, false},
		"one that is refused something, and began when it was not known that it fits": {func(c *command.Command) {
			first, second := start(t, c), start(t, c)
			first.used(false).end()
			second.used(true).end()
		}, false},
		"a program that is started a second time by one connection, and refused something": {func(c *command.Command) {
			both := start(t, c)
			both.used(false).end()
			both.used(true).end()
		}, false},
		"a program that is started a second time as it did not understand the first request": {func(c *command.Command) {
			start(t, c).used(false).end()
			both := start(t, c)
			both.end()
			both.used(false).end()
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("JUNCTION_STATE", t.TempDir())
			c := command.New("true")
			starts.run(c)
			if got := start(t, c).wasFit; got != starts.want {
				t.Errorf("it fits: %v", got)
			}
		})
	}
}

func TestAnotherProgramOrOtherPathsAreAnotherTrial(t *testing.T) {
	t.Setenv("JUNCTION_STATE", t.TempDir())
	program := filepath.Join(t.TempDir(), "server")
	processtest.WriteProgram(t, program, []byte("#!/bin/sh\n"), 0o700)
	of := func(env ...string) *command.Command {
		c := command.New(program)
		c.Env = env
		return c
	}
	start(t, of("DATA=/srv/a", "TOKEN=one")).used(false).end()
	for _, test := range []struct {
		env  []string
		want bool
	}{{[]string{"DATA=/srv/a", "TOKEN=one"}, true}, {[]string{"TOKEN=one", "DATA=/srv/a"}, true}, {[]string{"DATA=/srv/a", "TOKEN=two"}, true}, {[]string{"DATA=/srv/b", "TOKEN=one"}, false}, {[]string{"DATA=/srv/a"}, false}} {
		if got := start(t, of(test.env...)).wasFit; got != test.want {
			t.Errorf("with %q it fits: %v", test.env, got)
		}
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if start(t, of("DATA=/srv/a", "TOKEN=one")).wasFit {
		t.Error("another version of the program fits before it was tried")
	}
}

func TestTheEndOfAServerWaitsForNoOtherProcess(t *testing.T) {
	t.Setenv("JUNCTION_STATE", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		path, err := place.Place{}.State("fitting.json.lock")
		if err != nil {
			t.Fatal(err)
		}
		unlock, err := filelock.Wait(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		trial := start(t, command.New("true")).used(false)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			trial.end()
		}()
		select {
		case <-ended:
			unlock()
		case <-time.After(time.Minute):
			t.Error("it waits")
			unlock()
			<-ended
		}
	})
}
