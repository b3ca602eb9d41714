package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/internal/process/processtest"
)

// Ctrl-C at a terminal goes to all of its foreground group: a program that dies of it first would be called broken.
func TestDoctorStartsVersionCommandsInTheirOwnGroup(t *testing.T) {
	clitest.Alone(t)
	npx := filepath.Join(t.TempDir(), "npx")
	processtest.WriteProgram(t, npx, []byte("#!/bin/sh\nread -r pid name state parent group rest < /proc/$$/stat\necho \"of group $group\"\necho more\n"), 0o700)
	configure(t, "d.json", fmt.Sprintf(`"n":{"command":%q,"args":["x"]}`, npx), "")
	got := runs(t, "", "doctor", "--config", "d.json")
	got.expect(t, cli.ExitToolFailed, "ok      program: "+npx+", of group ", "")
	if own := fmt.Sprintf("of group %d\n", syscall.Getpgrp()); strings.Contains(got.stdout, own) {
		t.Errorf("it was started in the group of doctor:\n%s", got.stdout)
	}
}
