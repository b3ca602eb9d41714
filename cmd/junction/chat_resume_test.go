package main

import (
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestAConversationGoesOnWithItsModelAndItsServers(t *testing.T) {
	clitest.NoState(t)
	clitest.WithoutKeys(t)
	clitest.Setenv(t, "MINE", "key-of-mine")
	var sent []string
	base := clitest.Provider(t, &sent).URL + "/v1"
	clitest.Chdir(t, t.TempDir())
	runs(t, "", "chat", "--model", "ollama:a", "--base-url", base, "--key-env", "MINE", "-p", "first", "filesystem").expect(t, cli.ExitOK, "hello", "")
	runs(t, "", "chat", "--resume", "-p", "second").expect(t, cli.ExitOK, "hello", "")
	last := sent[len(sent)-1]
	if !strings.Contains(last, "key-of-mine") || !strings.Contains(last, `"model":"a"`) || !strings.Contains(last, "first") || !strings.Contains(last, "second") {
		t.Errorf("asked %s", last)
	}
	if !strings.Contains(last, "filesystem__") || strings.Contains(last, "everything__") {
		t.Errorf("with the tools of other servers: %s", last)
	}
	runs(t, "", "chat", "--resume", "--model", "offline", "-p", "add 2 and 40", "everything").expect(t, cli.ExitOK, "42", "")
	clitest.Chdir(t, t.TempDir())
	runs(t, "", "chat", "--resume", "-p", "third").expect(t, cli.ExitUsage, "", "this folder has no conversation to continue")
}

func TestAFileThatAQuestionOnTheCommandLineNamesIsSaidNotToGoAlong(t *testing.T) {
	clitest.NoState(t)
	clitest.Chdir(t, t.TempDir())
	if err := os.WriteFile(clitest.In(t, "notes.txt"), []byte("milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "chat", "-p", "echo see @notes.txt and @nobody").expect(t, cli.ExitOK, "see @notes.txt", "@notes.txt is only text here; --attach notes.txt sends the file")
}
