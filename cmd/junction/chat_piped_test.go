package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestPipedTextIsSentWithTheQuestion(t *testing.T) {
	clitest.NoState(t)
	got := runs(t, "buy milk\n", "chat", "-p", "add 2 and 40")
	if got.code != cli.ExitOK || got.stdout != "42\n" || !strings.Contains(got.stderr, "standard input is sent with the question, 9 bytes; < /dev/null") {
		t.Errorf("%+v", got)
	}
	if got := runs(t, "", "conversations", "export", "last"); !strings.Contains(got.stdout, "[attached: standard input]") || !strings.Contains(got.stdout, "buy milk") {
		t.Errorf("the conversation is %s", got.stdout)
	}
	for _, test := range []struct{ name, stdin, want string }{
		{"nothing", "", ""},
		{"an empty line", "\n", ""},
		{"what is no text", "\xff\xfe", "standard input is neither text in UTF-8"},
	} {
		got := runs(t, test.stdin, "chat", "-p", "add 2 and 40")
		if strings.Contains(got.stderr, "standard input") != (test.want != "") || !strings.Contains(got.stderr, test.want) {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
	if got := runs(t, "buy milk\n", "chat", "-p", "-", "--json"); strings.Contains(got.stderr, "is sent with") {
		t.Errorf("the question itself goes along: %+v", got)
	}
}
