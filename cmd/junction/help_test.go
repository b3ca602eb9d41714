package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/terminal"
)

func TestHelpFitsANarrowTerminal(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "tools", "call", "chat", "up", "serve", "proxy"} {
		text := runs(t, "", append(strings.Fields(command), "--help")...).stdout
		if strings.Contains(text, "(default )") {
			t.Errorf("junction %s --help names defaults that are nothing", command)
		}
		got := cli.WrapText(text, 60)
		for line := range strings.Lines(got) {
			if terminal.Width(strings.TrimRight(line, "\n")) > 60 {
				t.Errorf("junction %s --help: %s", command, line)
			}
		}
		if want := strings.Join(strings.Fields(text), " "); strings.Join(strings.Fields(got), " ") != want {
			t.Errorf("junction %s --help: words were changed:\n%s", command, got)
		}
	}
	const rows = "One line\nand another one that is much too long.\n\n  call        Call a tool and do more\n  a b c d e f g h i j k l m n o p q r s\n"
	const want = "One line and another one that is\nmuch too long.\n\n  call        Call a tool and do\n              more\n  a b c d e f g h i j k l m n o p q\n  r s\n"
	if got := cli.WrapText(rows, 36); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAValueThatMayBeLeftOutIsShownBehindItsSign(t *testing.T) {
	for command, want := range map[string]string{"up": "--audit[=FOLDER] ", "chat": "--resume[=ID] ", "connect": "--url[=URL] "} {
		if help := runs(t, "", command, "--help").stdout; !strings.Contains(help, want) || strings.Contains(help, "[=\"") {
			t.Errorf("junction %s --help: %s", command, help)
		}
	}
}
