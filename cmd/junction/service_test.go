package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/internal/process/processtest"
)

func TestAServiceRunsUpAsItIsAskedTo(t *testing.T) {
	s := &up.Service{Program: "/opt/my junction/junction", Args: []string{"up", "--http", "127.0.0.1:7717", "--pin", `a"b$c%d\e`}, Folder: "/home/ada/50% done", Path: "/usr/bin:/opt/$x"}
	unit := s.Unit()
	for _, want := range []string{
		`ExecStart="/opt/my junction/junction" "up" "--http" "127.0.0.1:7717" "--pin" "a\"b$$c%%d\\e"` + "\n",
		"WorkingDirectory=/home/ada/50%% done\n", `Environment="PATH=/usr/bin:/opt/$x"` + "\n", "WantedBy=default.target\n",
	} {
		if !strings.Contains(unit, want) {
			t.Errorf("%q is not in\n%s", want, unit)
		}
	}
	s.Args = append(s.Args, "<&>")
	agent := s.Agent()
	if !strings.Contains(agent, "<string>/opt/my junction/junction</string>\n<string>up</string>") || !strings.Contains(agent, "<string>&lt;&amp;&gt;</string>") {
		t.Errorf("the agent is\n%s", agent)
	}
	for d := xml.NewDecoder(strings.NewReader(agent)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the agent is no XML: %v", err)
		}
	}
}

func TestAServiceIsInstalledAndRemoved(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skip: this drives systemctl")
	}
	alone(t)
	here, err := placeOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	setenv(t, "XDG_CONFIG_HOME", here)
	setenv(t, "PATH", here+":/usr/bin:/bin")
	const program = "#!/bin/sh\necho \"$@\" >> " + "asked\n[ ! -e broken ] || { echo no bus; exit 3; }\n"
	processtest.WriteProgram(t, in(t, "systemctl"), []byte(program), 0o700)
	runs(t, "", "service", "uninstall").expect(t, cli.ExitConnection, "", "junction service install writes it")
	runs(t, "", "service", "install").expect(t, cli.ExitConnection, "", "build it first")
	processtest.WriteProgram(t, in(t, "junction"), []byte(program), 0o700) // a test is gone when it ends, too
	runs(t, "", "service", "install", "--", "--nonsense").expect(t, cli.ExitUsage, "", "unknown flag: --nonsense")
	runs(t, "", "service", "install", "--", "--stdio").expect(t, cli.ExitUsage, "", "leave --stdio out")
	printed := runs(t, "", "service", "install", "--print", "--", "--audit")
	printed.expect(t, cli.ExitOK, `"up" "--audit"`, "")
	file := filepath.Join("systemd", "user", "junction.service")
	if _, err := os.Stat(in(t, file)); err == nil {
		t.Error("--print wrote the unit")
	}
	runs(t, "", "service", "install", "--", "--audit").expect(t, cli.ExitOK, "It runs", "junction.service is written")
	if text, err := os.ReadFile(in(t, file)); err != nil || string(text) != printed.stdout {
		t.Errorf("it is %s, %v", text, err)
	}
	if err := os.WriteFile(in(t, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "service", "install").expect(t, cli.ExitConnection, "", "systemctl --user daemon-reload: exit status 3: no bus")
	if err := os.Remove(in(t, "broken")); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "service", "uninstall").expect(t, cli.ExitOK, "is removed", "")
	asked, err := os.ReadFile(in(t, "asked"))
	if want := "--user daemon-reload\n--user enable junction\n--user restart junction\n--user daemon-reload\n--user disable --now junction\n"; err != nil || string(asked) != want {
		t.Errorf("systemctl was asked\n%s\nwant\n%s", asked, want)
	}
	if _, err := os.Stat(in(t, file)); err == nil {
		t.Error("the unit is still there")
	}
}
