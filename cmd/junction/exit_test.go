package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// One code means one thing, whichever command ends with it.
func TestChatAndConversationsEndWithTheSameCodes(t *testing.T) {
	clitest.NoState(t)
	if got := runs(t, "", "chat", "-p", "add 2 and 40"); got.code != cli.ExitOK {
		t.Fatalf("%+v", got)
	}
	if err := os.WriteFile(clitest.In(t, "broken.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, args string
		code       int
		stderr     string // found in there
	}{
		{"an answer", "chat|-p|echo hello|--resume", cli.ExitOK, ""},
		{"a list", "conversations|list", cli.ExitOK, ""},
		{"a list that is empty", "conversations|list|nothing-like-it", cli.ExitOK, "No conversation matches."},
		{"an export", "conversations|export|last", cli.ExitOK, ""},
		{"a limit", "chat|-p|add 1 2|--max-steps|1", cli.ExitToolFailed, ""},
		{"a conversation to resume that is not there", "chat|-p|x|--resume=nope", cli.ExitUsage, "junction: no conversation has the ID \"nope\"; junction chat history list shows all conversations\n"},
		{"a conversation to fork that is not there", "chat|-p|x|--fork|nope", cli.ExitUsage, "junction: no conversation has the ID \"nope\"; junction chat history list shows all conversations\n"},
		{"a conversation to show that is not there", "conversations|export|nope", cli.ExitUsage, "junction: no conversation has the ID \"nope\"; junction chat history list shows all conversations\n"},
		{"a conversation to copy that is not there", "conversations|fork|nope", cli.ExitUsage, "junction: no conversation has the ID \"nope\"; junction chat history list shows all conversations\n"},
		{"a conversation to delete that is not there", "conversations|delete|nope", cli.ExitUsage, "junction: no conversation has the ID \"nope\"; junction chat history list shows all conversations\n"},
		{"a copy of more than there is", "conversations|fork|last|--entries|999", cli.ExitUsage, "give a number from 1 to "},
		{"a list of less than nothing", "conversations|list|--limit|-1", cli.ExitUsage, "--limit"},
		{"a format that there is not", "conversations|export|last|--format|pdf", cli.ExitUsage, "--format"},
		{"no ID", "conversations|export", cli.ExitUsage, "expected one ID"},
		{"a flag that there is not", "chat|--bogus", cli.ExitUsage, "--bogus"},
		{"a command that there is not", "conversations|nothing", cli.ExitUsage, "--help"},
		{"a file to import that is not there", "conversations|import|none.json", cli.ExitConnection, "none.json"},
		{"a file to import that is no conversation", "conversations|import|broken.json", cli.ExitConnection, "exported as json"},
		{"a configuration that is not there", "chat|-p|x|--config|none.json", cli.ExitConnection, "none.json"},
		{"a server that is not there", "chat|-p|x|nowhere", cli.ExitConnection, "nowhere"},
		{"a model without its key", "chat|-p|x|--model|anthropic:claude-sonnet-4-5", cli.ExitConnection, "ANTHROPIC_API_KEY"},
		{"vectors without their key", "chat|-p|x|--embeddings|http://127.0.0.1:1|--embeddings-key-env|NONE_SUCH", cli.ExitConnection, "NONE_SUCH"},
		{"a time that is over", "chat|-p|wait milliseconds=60000|--max-time|300ms", cli.ExitTimeout, "--max-time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := runs(t, "", strings.Split(test.args, "|")...)
			if got.code != test.code || !strings.Contains(got.stderr, test.stderr) {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s\nwant %q", got.code, test.code, got.stdout, got.stderr, test.stderr)
			}
		})
	}
}

// Stored conversations that cannot be read are a file, whoever wants them.
func TestAnUnreadableArchiveIsAFile(t *testing.T) {
	clitest.NoState(t)
	path := filepath.Join(clitest.PlaceOf(t).Getenv("JUNCTION_STATE"), "conversations.db")
	if err := os.WriteFile(clitest.In(t, path), []byte(strings.Repeat("this is no archive ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"chat", "-p", "x"}, {"chat", "-p", "x", "--resume"}, {"conversations", "list"}, {"conversations", "export", "last"}} {
		if got := runs(t, "", args...); got.code != cli.ExitConnection || !strings.Contains(got.stderr, path) {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
