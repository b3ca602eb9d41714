package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/internal/process/processtest"
)

func TestAServiceIsInstalledAndRemoved(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skip: this drives systemctl")
	}
	clitest.Alone(t)
	here, err := clitest.PlaceOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	clitest.Setenv(t, "XDG_CONFIG_HOME", here)
	clitest.Setenv(t, "PATH", here+":/usr/bin:/bin")
	const program = "#!/bin/sh\necho \"$@\" >> " + "asked\n[ ! -e broken ] || { echo no bus; exit 3; }\n"
	processtest.WriteProgram(t, clitest.In(t, "systemctl"), []byte(program), 0o700)
	runs(t, "", "service", "uninstall").expect(t, cli.ExitConnection, "", "junction service install writes it")
	runs(t, "", "service", "install").expect(t, cli.ExitConnection, "", "build it first")
	processtest.WriteProgram(t, clitest.In(t, "junction"), []byte(program), 0o700) // a test is gone when it ends, too
	runs(t, "", "service", "install", "--", "--nonsense").expect(t, cli.ExitUsage, "", "unknown flag: --nonsense")
	runs(t, "", "service", "install", "--", "--stdio").expect(t, cli.ExitUsage, "", "leave --stdio out")
	printed := runs(t, "", "service", "install", "--print", "--", "--audit")
	printed.expect(t, cli.ExitOK, `"up" "--audit"`, "")
	file := filepath.Join("systemd", "user", "junction.service")
	if _, err := os.Stat(clitest.In(t, file)); err == nil {
		t.Error("--print wrote the unit")
	}
	runs(t, "", "service", "install", "--", "--audit").expect(t, cli.ExitOK, "It is running", "junction.service is written")
	if text, err := os.ReadFile(clitest.In(t, file)); err != nil || string(text) != printed.stdout {
		t.Errorf("it is %s, %v", text, err)
	}
	if err := os.WriteFile(clitest.In(t, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "service", "install").expect(t, cli.ExitConnection, "", "systemctl --user daemon-reload: exit status 3: no bus")
	if err := os.Remove(clitest.In(t, "broken")); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "service", "uninstall").expect(t, cli.ExitOK, "is removed", "")
	asked, err := os.ReadFile(clitest.In(t, "asked"))
	if want := "--user daemon-reload\n--user enable junction\n--user restart junction\n--user daemon-reload\n--user disable --now junction\n"; err != nil || string(asked) != want {
		t.Errorf("systemctl was asked\n%s\nwant\n%s", asked, want)
	}
	if _, err := os.Stat(clitest.In(t, file)); err == nil {
		t.Error("the unit is still there")
	}
}
