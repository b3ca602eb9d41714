package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway"
)

func TestAFailureIsOneLineThatNamesTheServerOnce(t *testing.T) {
	ended := func(tail string) error {
		return fmt.Errorf("server %q: initialize: server %q: npx -y x: expected a response to initialize: found the end of its output; it exited with status 1; its standard error ends with:\n%s", "x", "x", tail)
	}
	for what, tt := range map[string]struct {
		err  error
		want string
	}{
		"npm":       {ended("npm error code E404\nnpm error 404 Not Found - GET https://registry.example/x\nnpm error A complete log of this run can be found in: /tmp/log"), "it exited with status 1: npm error 404 Not Found - GET https://registry.example/x"},
		"python":    {ended("Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nKeyError: 'API_KEY'"), "it exited with status 1: KeyError: 'API_KEY'"},
		"node":      {ended("node:internal/process:1\n    throw err;\n    ^\n\nError: Cannot find module 'x'\n    at f (y.js:1)\n\nNode.js v22.1.0"), "it exited with status 1: Error: Cannot find module 'x'"},
		"in words":  {ended("starting\nAPI_KEY environment variable is required\nbye"), "it exited with status 1: API_KEY environment variable is required"},
		"no reason": {ended("starting\nbye"), "it exited with status 1: bye"},
		"a URL":     {errors.New(`server "x": initialize: connection refused`), "initialize: connection refused"},
	} {
		if got := reason(tt.err, "x"); got != tt.want {
			t.Errorf("%s: %q, want %q", what, got, tt.want)
		}
	}
}

func TestTheTableStaysReadableWithManyServers(t *testing.T) {
	var all []gateway.Status
	for i := range 59 {
		s := gateway.Status{Name: fmt.Sprint("server", i), State: gateway.Idle, Known: true, Tools: 14, Resources: 7, Templates: 2}
		switch {
		case i%10 == 1:
			s.State, s.Err = gateway.Failed, errors.New(strings.Repeat("long words ", 200))
		case i%10 == 2:
			s.State, s.Revision = gateway.Connected, "2025-11-25"
		case i == 3:
			s.State, s.Note = gateway.Connecting, "npx installs x"
		case i == 4:
			s.State = gateway.Waiting
		}
		all = append(all, s)
	}
	table := statusTable(all, false, 80)
	lines := strings.Split(table, "\n")
	if got, want := lines[len(lines)-1], "59 servers: 45 remembered, 6 connected, 1 starting, 1 waiting to start, 6 failed · 826 tools"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
	if len(lines) > 59+6*5+1 {
		t.Errorf("it has %d lines:\n%s", len(lines), table)
	}
	for _, want := range []string{"remembered: 14 tools, 7 resources, 2 templates, 0 prompts", "still starting: npx installs x", "waiting to start", "connected, revision 2025-11-25: 14 tools"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
}
