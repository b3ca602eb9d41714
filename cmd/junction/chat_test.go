package main

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/replay"
)

func TestChatAnswersOneQuestion(t *testing.T) {
	clitest.NoState(t)
	clitest.Setenv(t, asInFolder, "1")
	if err := os.WriteFile(clitest.In(t, "note.txt"), []byte("buy milk\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name           string
		stdin          string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"a question on the command line", "", []string{"-p", "add 2 and 40"}, cli.ExitOK, "42\n", ""},
		{"a question on standard input", "add 2 and 40\n", nil, cli.ExitOK, "42\n", ""},
		{"a question on standard input that is asked for", "add 1 and 1", []string{"-p", "-"}, cli.ExitOK, "2\n", ""},
		{"a server that is named", "", []string{"everything", "-p", "add 2 and 40"}, cli.ExitOK, "42\n", ""},
		{"a file is read", "", []string{"-p", "read-file path=note.txt"}, cli.ExitOK, "buy milk", ""},
		{"without a user a call that writes is not allowed", "", []string{"-p", "delete name=x"}, cli.ExitToolFailed, "", "(--allow 'everything/delete' allows it in advance)"},
		{"what writes was allowed in advance", "", []string{"-p", "delete name=x", "--allow", "everything/delete"}, cli.ExitOK, "x", ""},
		{"a form is declined without a user", "", []string{"everything", "-p", "ask"}, cli.ExitOK, "declined", ""},
		{"a form is answered by a flag", "", []string{"everything", "-p", "ask-twice", "--elicit", "cancel"}, cli.ExitOK, "", ""},
		{"a server that is trusted is not there", "", []string{"-p", "add 2 and 40", "--trust", "everthing"}, cli.ExitOK, "42\n", "--trust everthing: there is no such server here (there are: everything, filesystem)"},
		{"an empty question", "", []string{"-p", " "}, cli.ExitUsage, "", "the question is empty"},
		{"a server that is not there", "", []string{"nowhere", "-p", "x"}, cli.ExitConnection, "", `no server is called "nowhere"`},
		{"a provider that is not known", "", []string{"-p", "x", "--model", "acme:one"}, cli.ExitUsage, "", `no provider is called "acme"`},
		{"a provider without a model", "", []string{"-p", "x", "--model", "ollama"}, cli.ExitUsage, "", "ollama is a provider: expected ollama:NAME"},
		{"a model without a name", "", []string{"-p", "x", "--model", "ollama:"}, cli.ExitUsage, "", "expected PROVIDER:NAME"},
		{"a server that is named and does not start", "", []string{"-p", "x", "--", "no-such-program"}, cli.ExitConnection, "", "no-such-program"},
		{"a server that is named and does not answer", "", []string{"-p", "x", "--", "sh", "-c", "exit 3"}, cli.ExitConnection, "", "status 3"},
		{"a junction up that does not run", "", []string{"-p", "x", "--up=http://127.0.0.1:1/mcp"}, cli.ExitConnection, "", "connection refused"},
		{"one server that answers of two that are named", "", []string{"-p", "add 2 and 40", "everything", "http://127.0.0.1:1/mcp"}, cli.ExitOK, "42\n", "connection refused"},
		{"a key that is missing", "", []string{"-p", "x", "--model", "anthropic:claude-sonnet-4-5"}, cli.ExitConnection, "", "set ANTHROPIC_API_KEY"},
		{"a model that is not reached", "", []string{"-p", "x", "--model", "m", "--base-url", "http://127.0.0.1:1/v1"}, cli.ExitConnection, "", "start the model's server"},
		{"a question that takes too long", "", []string{"-p", "wait milliseconds=60000", "--max-time", "300ms"}, cli.ExitTimeout, "", "there was no answer within --max-time"},
		{"a limit below nothing", "", []string{"-p", "x", "--max-steps", "-1"}, cli.ExitUsage, "", "cannot be negative"},
		{"a diagram of a kind that there is not", "", []string{"-p", "x", "--trace-file", "run.png"}, cli.ExitUsage, "", "--trace-file: expected a name that ends in .svg, .mmd or .txt"},
		{"a diagram that cannot be written", "", []string{"-p", "add 2 and 40", "--max-steps", "1", "--trace-file", "none/run.svg"}, cli.ExitConnection, "", "--trace-file: open none/run.svg"},
		{"an attachment without its server", "", []string{"-p", "x", "--attach", "nothing"}, cli.ExitUsage, "", `--attach: there is no file "nothing"`},
		{"a question and an attachment that both are standard input", "x", []string{"-p", "-", "--attach", "-"}, cli.ExitUsage, "", "both read standard input"},
		{"a theme without a screen", "", []string{"-p", "x", "--theme", "foo"}, cli.ExitUsage, "", "--theme does not go with -p or --plain"},
		{"a limit of costs without a price", "", []string{"-p", "x", "--model", "mock-1", "--base-url", "http://127.0.0.1:1/v1", "--max-cost", "0.5"}, cli.ExitUsage, "", "the price of mock-1 is not known; give it with --price IN,OUT"},
		{"a limit of costs with a price", "", []string{"-p", "x", "--model", "mock-1", "--base-url", "http://127.0.0.1:1/v1", "--max-cost", "0.5", "--price", "0,0"}, cli.ExitConnection, "", "start the model's server"},
		{"a limit of costs of what costs nothing", "", []string{"-p", "add 2 and 40", "--max-cost", "0.5"}, cli.ExitOK, "42\n", ""},
		{"a model without its provider", "", []string{"-p", "x", "--model", "claude-sonnet-4-5"}, cli.ExitUsage, "", "expected anthropic:claude-sonnet-4-5"},
		{"standard input without a question", "x", []string{"--attach", "-"}, cli.ExitUsage, "", "give one with -p"},
		{"standard input that is no text", "\xff\xfe", []string{"-p", "x", "--attach", "-"}, cli.ExitUsage, "", "is neither text in UTF-8 nor a picture"},
		{"standard input that is empty", "\n", []string{"-p", "x", "--attach", "-"}, cli.ExitUsage, "", "is empty"},
		{"a rule that is not valid", "", []string{"-p", "x", "--allow", "delete"}, cli.ExitUsage, "", "--allow: expected SERVER/TOOL"},
		{"a conversation that is not there", "", []string{"-p", "x", "--resume=nope"}, cli.ExitUsage, "", "nope"},
		{"a conversation that cannot be resumed", "", []string{"-p", "x", "--resume", "--no-save"}, cli.ExitUsage, "", "--no-save"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := runs(t, test.stdin, append([]string{"chat"}, test.args...)...)
			if got.code != test.code || !strings.Contains(got.stdout, test.stdout) || !strings.Contains(got.stderr, test.stderr) {
				t.Errorf("exit code %d, want %d\nstdout: %s\nwant %q\nstderr: %s\nwant %q", got.code, test.code, got.stdout, test.stdout, got.stderr, test.stderr)
			}
		})
	}
}

func TestChatPrintsItsSevenSteps(t *testing.T) {
	clitest.NoState(t)
	got := runs(t, "", "chat", "-p", "add 2 and 40", "--trace", "--trace-file", "run.svg")
	if got.code != cli.ExitOK || got.stdout != "42\n" {
		t.Fatalf("exit code %d, stdout %q", got.code, got.stdout)
	}
	at := 0
	for _, step := range []string{" 1  list tools", " 2  ask model", " 3  decide", " 4  call", " 5  result", " 6  model", " 7  answer"} {
		next := strings.Index(got.stderr[at:], step)
		if next < 0 {
			t.Fatalf("step %q does not come, or not in its turn:\n%s", step, got.stderr)
		}
		at += next
	}
	for _, message := range []string{`"method":"tools/list"`, `"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":40}}`} {
		if !strings.Contains(strings.Join(strings.Fields(got.stderr), ""), message) {
			t.Errorf("the trace has no %s", message)
		}
	}
	drawing, err := os.ReadFile(clitest.In(t, "run.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(drawing, new(struct{ XMLName xml.Name })); err != nil || !strings.Contains(string(drawing), "<svg") {
		t.Errorf("run.svg is no drawing: %v", err)
	}
}

func TestChatPrintsEventsAsJSON(t *testing.T) {
	clitest.NoState(t)
	got := runs(t, "", "chat", "-p", "add 2 and 40", "--json")
	var kinds []string
	lines := bufio.NewScanner(strings.NewReader(got.stdout))
	for lines.Scan() {
		var event map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		for kind := range event {
			if !slices.Contains([]string{"at", "run", "step", "delta", "notice", "consent"}, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	if want := []string{"listed", "asked", "decided", "called", "returned", "asked", "decided", "answered"}; !slices.Equal(kinds, want) {
		t.Errorf("reported %v, want %v", kinds, want)
	}
}

// A model that says nothing, and a text longer than its window, are no failure of a
// connection.
func TestARunWithoutAnAnswerSaysWhy(t *testing.T) {
	clitest.NoState(t)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer endpoint.Close()
	for name, flags := range map[string][]string{"an empty answer": nil, "window": {"--window", "500"}} {
		got := runs(t, "", append([]string{"chat", "everything", "--json", "-p", "hello", "--model", "m", "--base-url", endpoint.URL + "/v1"}, flags...)...)
		if got.code != cli.ExitToolFailed || !strings.Contains(got.stderr, name) || !strings.Contains(got.stdout, `{"error":{"message":"the `) {
			t.Errorf("%s: exit code %d, stderr %s\nstdout %.2000s", name, got.code, got.stderr, got.stdout)
		}
	}
}

// Ctrl-C in the middle of a call: the conversation is kept as far as it came.
func TestAnInterruptedQuestionCanBeResumed(t *testing.T) {
	clitest.NoState(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	stdout := &watchedBuffer{word: `"progress"`, seen: func() { interrupt(cli.ErrInterrupted) }}
	code := run(ctx, clitest.PlaceOf(t), []string{"chat", "-p", "wait milliseconds=60000", "--json"}, strings.NewReader(""), stdout, new(clitest.SafeBuffer))
	if code != cli.ExitInterrupted || !strings.HasSuffix(stdout.String(), `{"error":{"message":"interrupted"}}`+"\n") {
		t.Fatalf("exit code %d, stdout %s", code, stdout.String())
	}
	if got := runs(t, "", "chat", "-p", "add 2 and 40", "--resume"); got.code != cli.ExitOK || got.stdout != "42\n" {
		t.Errorf("resumed: %+v", got)
	}
	if got := runs(t, "", "conversations", "list"); !strings.Contains(got.stdout, "2 questions") {
		t.Errorf("listed %s", got.stdout)
	}
}

func TestSearchResultsAreStored(t *testing.T) {
	clitest.NoState(t)
	path, err := clitest.PlaceOf(t).State("conversations.db")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := archive.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := stored.Memory().Update(t.Context(), archive.ToolQueries, func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`"none"`), nil }); err != nil {
		t.Fatal(err)
	}
	stored.Close()
	if got := runs(t, "", "chat", "-p", "add 2 and 40"); got.code != cli.ExitOK || got.stdout != "42\n" || !strings.Contains(got.stderr, "without the results of earlier searches") {
		t.Errorf("%+v", got)
	}
}

func TestConversationsAreStoredAndGoOn(t *testing.T) {
	clitest.NoState(t)
	runs(t, "", "chat", "-p", "add 2 and 40")
	if got := runs(t, "", "chat", "-p", "echo again", "--resume"); got.code != cli.ExitOK || !strings.Contains(got.stdout, "again") {
		t.Fatalf("resumed: %+v", got)
	}
	list := runs(t, "", "conversations", "list", "--json")
	var metas []struct {
		ID        string
		Title     string
		Questions int
	}
	if err := json.Unmarshal([]byte(list.stdout), &metas); err != nil || len(metas) != 1 || metas[0].Questions != 2 || metas[0].Title != "add 2 and 40" {
		t.Fatalf("listed %s (%v)", list.stdout, err)
	}
	if got := runs(t, "", "chat", "-p", "echo once more", "--resume", metas[0].ID); got.code != cli.ExitOK || !strings.Contains(got.stdout, "once more") {
		t.Fatalf("resumed by its ID: %+v", got)
	}
	if got := runs(t, "", "chat", "-p", "echo once more", "--resume", "nonesuch"); got.code != cli.ExitConnection || !strings.Contains(got.stderr, "write --resume=nonesuch") {
		t.Fatalf("resumed by an ID that there is not: %+v", got)
	}
	if got := runs(t, "", "chat", "-p", "echo fork", "--fork", metas[0].ID); got.code != cli.ExitOK {
		t.Fatalf("forked: %+v", got)
	}
	exported := runs(t, "", "conversations", "export", metas[0].ID, "--format", "json")
	imported := runs(t, exported.stdout, "conversations", "import", "-")
	if id := strings.TrimSpace(imported.stdout); imported.code != cli.ExitOK || id == "" || id == metas[0].ID {
		t.Fatalf("imported: %+v", imported)
	}
	shown := runs(t, "", "conversations", "export", "last")
	for _, want := range []string{"add 2 and 40", "everything__add", "42", "echo again"} {
		if !strings.Contains(shown.stdout, want) {
			t.Errorf("the export has no %q:\n%s", want, shown.stdout)
		}
	}
	if got := runs(t, "", "conversations", "delete", metas[0].ID); got.code != cli.ExitOK {
		t.Errorf("deleted: %+v", got)
	}
	if got := runs(t, "", "conversations", "list", "fork"); !strings.Contains(got.stdout, "add 2 and 40") {
		t.Errorf("a search finds %q", got.stdout)
	}
	if got := runs(t, "", "conversations", "export", metas[0].ID); got.code != cli.ExitUsage {
		t.Errorf("a deleted conversation is exported: %+v", got)
	}
}

func TestChatSpeaksToAModelOverItsWire(t *testing.T) {
	clitest.NoState(t)
	recording := []replay.Turn{
		{Calls: []replay.Call{{Name: "everything__add", Arguments: map[string]int{"a": 20, "b": 22}}}},
		{Then: func(results []string) replay.Turn {
			var result struct{ Sum int }
			if err := replay.JSON(results[0], &result); err != nil {
				t.Error(err)
			}
			return replay.Turn{Text: fmt.Sprintf("It is %d.", result.Sum)}
		}},
	}
	for _, test := range []struct {
		name  string
		flags []string
	}{
		{"chat completions", []string{"--model", "m"}},
		{"tools in the text", []string{"--model", "m", "--injected"}},
		{"OpenAI's responses", []string{"--model", "responses:gpt-5.2", "--key-env", "KEY"}},
		{"Anthropic's messages", []string{"--model", "anthropic:claude-sonnet-4-5", "--key-env", "KEY"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			endpoint := httptest.NewServer(replay.Handler(recording...))
			defer endpoint.Close()
			clitest.Setenv(t, "KEY", "none")
			url := endpoint.URL + "/v1"
			if strings.Contains(test.flags[1], "anthropic") {
				url = endpoint.URL
			}
			got := runs(t, "", append([]string{"chat", "everything", "-p", "what is 20 and 22?", "--base-url", url}, test.flags...)...)
			if got.code != cli.ExitOK || got.stdout != "It is 42.\n" {
				t.Errorf("%+v", got)
			}
		})
	}
}
