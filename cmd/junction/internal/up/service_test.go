package up_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/up"
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
