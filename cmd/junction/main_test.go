package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/sandbox"
)

// asProgram makes the test binary be junction, so that tests can start it.
const asProgram = "JUNCTION_TEST_PROGRAM"

func TestMain(m *testing.M) {
	sandbox.Main()
	if len(os.Args) > 1 && os.Args[1] == asWrapper {
		os.Exit(wrap(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == asCounter {
		os.Exit(count(os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == asBrowser {
		os.Exit(browse(os.Args[2]))
	}
	if os.Getenv(asFollower) != "" && len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "http://") {
		os.Exit(follow(os.Args[1]))
	}
	if path := os.Getenv(asHost); path != "" && len(os.Args) == 1 {
		os.Exit(hostReads(path))
	}
	if os.Getenv(asBare) != "" {
		fmt.Fprintln(os.Stderr, serveBare())
		os.Exit(1)
	}
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Setenv(asProgram, "1")
	os.Exit(clitest.RunTests(m))
}

// self is the command line of a junction that is another process.
func self(t *testing.T, args ...string) []string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{path}, args...)
}

// asInFolder, in the environment of a place, has names of files in its folder be printed without the folder.
const asInFolder = "JUNCTION_TEST_IN_FOLDER"

// inFolder is [alone], in a folder that is not the home, for a test that expects names of files as a process prints them that is there.
func inFolder(t *testing.T) {
	t.Helper()
	clitest.Alone(t)
	clitest.Chdir(t, t.TempDir())
	clitest.Setenv(t, asInFolder, "1")
}

// child returns a program that runs in the place of a test.
func child(t testing.TB, name string, args ...string) *exec.Cmd {
	return clitest.PlaceOf(t).Command(context.Background(), name, args...)
}

func TestCommands(t *testing.T) {
	clitest.Alone(t)
	for _, test := range []struct {
		name           string
		args           string
		code           int
		stdout, stderr string // found in there
	}{
		{"a tool is called with typed arguments", "call everything add a=1 b=2.5", cli.ExitOK, "{\"sum\":3.5}\n", ""},
		{"a tool is called with JSON", `call everything echo --args {"message":"hi"}`, cli.ExitOK, "hi\n", ""},
		{"a tool is called with JSON of standard input", "call everything echo --args -", cli.ExitOK, "from stdin\n", ""},
		{"a tool that fails is marked", "call everything fail", cli.ExitToolFailed, "nothing needs to be fixed\n", "The tool fail failed:\n"},
		{"an unknown tool is the server's error, with a hint", "call everything ecco", cli.ExitProtocol, "", `junction: the server lists no tool "ecco"; did you mean "echo"?`},
		{"an unknown prompt is the server's error, with a hint", "prompt everything travl country=x", cli.ExitProtocol, "", `junction: the server lists no prompt "travl"; did you mean "travel"?`},
		{"what is there of the tools that are named is shown", "tools everything nosuch add", cli.ExitUsage, "add  (", `junction: the server lists no tool "nosuch"`},
		{"completion of a shell that has none", "completion nosuch", cli.ExitUsage, "", `no completion for the shell "nosuch"; expected one of bash, fish, powershell, zsh`},
		{"completion with more than a shell", "completion bash zsh", cli.ExitUsage, "", `unexpected "zsh"`},
		{"completion of a shell", "completion bash", cli.ExitOK, "complete -o", ""},
		{"the completions that there are", "completion", cli.ExitOK, "Commands:\n  bash", ""},
		{"help about an unknown command", "help tolls", cli.ExitUsage, "", `unknown command "tolls"; did you mean "tools"?`},
		{"help about a command", "help tools", cli.ExitOK, "List the tools of a server", ""},
		{"an address without a host", "up --http 7791", cli.ExitUsage, "", `--http: expected HOST:PORT, such as 127.0.0.1:7717, or unix:FILE, got "7791"`},
		{"an address with a port that there is not", "up --http :99999", cli.ExitUsage, "", `--http: expected HOST:PORT, such as 127.0.0.1:7717, or unix:FILE, got ":99999"`},
		{"an unknown argument is reported before the call", "call everything echo massage=hi", cli.ExitUsage, "", `junction: tool "echo": unknown argument "massage"; did you mean "message"?`},
		{"a missing argument is reported before the call", "call everything add a=1", cli.ExitUsage, "", `junction: tool "add": argument missing: b (number) is required`},
		{"a whole object is all arguments", `call everything add {"a":1,"b":2}`, cli.ExitOK, "{\"sum\":3}\n", ""},
		{"a whole object that is no JSON is refused", `call everything add {"a":1,`, cli.ExitUsage, "", "arguments: expected a JSON object"},
		{"a whole object excludes words", `call everything add a=1 {"b":2}`, cli.ExitUsage, "", "a JSON object holds all arguments; give nothing else with it"},
		{"JSON is sent as it is", "call everything add --args {}", cli.ExitToolFailed, "a: required, missing", "The tool add failed"},
		{"JSON and words exclude each other", "call everything add a=1 --args {}", cli.ExitUsage, "", "not both"},
		{"arguments are an object", "call everything add --args [1]", cli.ExitUsage, "", "--args: expected a JSON object"},
		{"a call ends in time", "call everything wait --timeout 50ms", cli.ExitTimeout, "", "50ms; --timeout allows more time\n"},
		{"a form is declined without a user", "call everything ask", cli.ExitOK, "The user declined to answer.\n", "declined: no terminal to ask on"},
		{"a form is answered by a flag", `call everything ask-two-at-once --elicit {"name":"Ada","place":"Oslo"}`, cli.ExitOK, "Ada is in Oslo.\n", "What is your name?"},
		{"a page is consented to by a flag", "call everything ask-url --elicit accept", cli.ExitOK, ": accept.\n", "page: https://example.com/\n"},
		{"sampling is refused", "call everything sample prompt=x", cli.ExitProtocol, "", "--sample answers"},
		{"sampling is answered by a flag", "call everything sample prompt=x --sample words", cli.ExitOK, "canned said: words\n", ""},
		{"roots are reported by a flag", "call everything list-roots --root .", cli.ExitOK, `"uri":"file:///`, ""},
		{"log messages are on stderr", "call everything log", cli.ExitOK, "Wrote eight", "warning everything: "},
		{"log messages have a level", "call everything log --log-level none", cli.ExitOK, "Wrote eight", ""},
		{"progress is reported in lines where wanted", "call everything count-slowly milliseconds=0 steps=2 -v", cli.ExitOK, "Counted to 2.\n", "progress: 1/2 step 1 of 2\n"},
		{"a resource is read", "read everything everything://text", cli.ExitOK, "This is the text of a resource.\n", ""},
		{"an unknown resource is an error", "read everything everything://nope", cli.ExitProtocol, "", "resource not found"},
		{"bytes are announced", "read everything everything://picture.png", cli.ExitOK, "[resource everything://picture.png, image/png, 156 bytes]\n", ""},
		{"a prompt is filled in", "prompt everything travel country=Norway", cli.ExitOK, "user:\nI want to travel to Norway.\n", ""},
		{"a prompt needs its arguments", "prompt everything travel", cli.ExitUsage, "", "country (string) is required"},
		{"an argument is completed", "complete everything travel city=O country=Norway", cli.ExitOK, "Oslo\n", ""},
		{"a variable of a template is completed", "complete everything everything://planets/{name} name=ma", cli.ExitOK, "mars\n", ""},
		{"a server is pinged", "ping everything", cli.ExitOK, "everything: reachable, answered in ", ""},
		{"a revision can be chosen", "ping everything --revision 2025-03-26", cli.ExitOK, "revision 2025-03-26", ""},
		{"all servers are listed", "tools", cli.ExitOK, "━━ filesystem  (", ""},
		{"an unknown server is reported with those there are", "tools everthing", cli.ExitConnection, "", `did you mean "everything"?`},
		{"a server that is not there is reported", "ping http://127.0.0.1:1/mcp", cli.ExitConnection, "", "connection refused"},
		{"a URL may follow the dashes", "ping -- http://127.0.0.1:1/mcp", cli.ExitConnection, "", "connection refused"},
		{"a server that comes last is put first", "call echo http://127.0.0.1:1/mcp", cli.ExitUsage, "", "write the server first: junction call http://127.0.0.1:1/mcp echo"},
		{"a command that does not exist is reported", "ping -- no-such-program", cli.ExitConnection, "", "not found in PATH"},
		{"a command that ends is reported with its last words", "ping -- sh -c echo\u00a0boo>&2", cli.ExitConnection, "", "junction: server "},
		{"an unknown command is reported", "calls", cli.ExitUsage, "", `unknown command "calls"; did you mean "call"?`},
		{"a command that others call differently is suggested", "run", cli.ExitUsage, "", `unknown command "run"; did you mean "call"?`},
		{"a command for configurations says where they are", "config", cli.ExitUsage, "", `junction list shows them`},
		{"a server in place of a command suggests tools", "everything", cli.ExitUsage, "", `did you mean "tools everything"?`},
		{"a command that is like no other leads to the help", "xyzzy", cli.ExitUsage, "", `unknown command "xyzzy"; junction --help lists them`},
		{"servers are listed with a line for each tool", "list", cli.ExitOK, "━━ everything  (ships with junction, 25 tools)\n", ""},
		{"a line has the first sentence", "ls everything", cli.ExitOK, "  echo               Return the message unchanged.\n", ""},
		{"an unknown server is not listed", "list everthing", cli.ExitConnection, "", `did you mean "everything"?`},
		{"the list is of configured servers", "list -- x", cli.ExitUsage, "", "junction list tools -- COMMAND"},
		{"the tools of a server say where it came from", "tools everything", cli.ExitOK, "echo  (", "everything: ships with junction\n"},
		{"one tool is shown", "tools everything add", cli.ExitOK, "add  (", ""},
		{"an unknown tool is not shown", "tools everything ecco", cli.ExitUsage, "", `the server lists no tool "ecco"; did you mean "echo"?`},
		{"only tools are shown by name", "prompts everything greeting", cli.ExitUsage, "", `unexpected "greeting"`},
		{"a server that does not ship suggests the one that was meant", "serve everthing", cli.ExitUsage, "", `did you mean "everything"?`},
		{"an unknown flag is reported", "call --bogus", cli.ExitUsage, "", "unknown flag: --bogus; see junction call --help"},
		{"a server must be named", "call", cli.ExitUsage, "", "SERVER is missing"},
		{"a command must follow the dashes", "ping --", cli.ExitUsage, "", `expected the command of a server after "--"`},
		{"one URI is read at a time", "read everything a b", cli.ExitUsage, "", "expected one URI, got 2"},
		{"headers are for URLs", "ping --header A:B -- x", cli.ExitUsage, "", "--header is for servers with a URL"},
		{"headers have a name", "ping http://127.0.0.1:1 --header secret", cli.ExitUsage, "", "--header: expected 'NAME: VALUE'\n"},
		{"the environment is for commands", "ping http://127.0.0.1:1 --env A=B", cli.ExitUsage, "", "--env is for servers that are started"},
		{"a timeout has a unit", "ping everything --timeout 5", cli.ExitUsage, "", `junction: --timeout: expected a duration, such as 30s, got "5"; see junction ping --help`},
		{"a limit is a number", "chat --max-steps few", cli.ExitUsage, "", `junction: --max-steps: expected a whole number, got "few"; see junction chat --help`},
		{"a switch is on or off", "tools --json=maybe", cli.ExitUsage, "", `junction: --json: expected true or false, got "maybe"; see junction tools --help`},
		{"a timeout is positive", "ping everything --timeout -1s", cli.ExitUsage, "", "--timeout: expected a positive duration"},
		{"a revision is one of five", "ping everything --revision 1999-01-01", cli.ExitUsage, "", "only 2026-07-28, "},
		{"time ships", "call time convert_time time=2026-07-01T10:00:00Z target_timezone=Asia/Tokyo", cli.ExitOK, `"datetime":"2026-07-01T19:00:00+09:00"`, ""},
		{"memory ships", `call memory create_entities entities=[{"name":"Ada","entityType":"person","observations":["likes","tea"]}]`, cli.ExitOK, `"name":"Ada"`, ""},
		{"memory remembers", "call memory search_nodes query=tea", cli.ExitOK, `"entityType":"person"`, ""},
		{"a flag of another server", "serve time --root .", cli.ExitUsage, "", "--root is for filesystem"},
		{"sql asks where its database is", "serve sql", cli.ExitUsage, "", "--dsn-env NAME or --dsn-file FILE"},
		{"sql takes one of them", "serve sql --dsn-env A --dsn-file b", cli.ExitUsage, "", "--dsn-env NAME or --dsn-file FILE"},
		{"sql names the variable that is missing", "serve sql --dsn-env JUNCTION_TEST_UNSET", cli.ExitUsage, "", "the variable JUNCTION_TEST_UNSET"},
		{"sql names the file that is missing", "serve sql --dsn-file missing.dsn", cli.ExitUsage, "", "missing.dsn"},
		{"flags of sql are for sql", "serve memory --dsn-env A", cli.ExitUsage, "", "--dsn-env is for sql"},
		{"serve knows what ships", "serve nothing", cli.ExitUsage, "", "there are: everything, fetch, filesystem, graphql, http, memory, openapi, sql, time"},
		{"serve has one way at a time", "serve everything --http 127.0.0.1:0 --stdio", cli.ExitUsage, "", "give only one"},
		{"an address has a port", "up --http localhost", cli.ExitUsage, "", "--http: expected HOST:PORT"},
		{"help tells the exit codes", "call --help", cli.ExitOK, "130  interrupted", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := runs(t, `{"message":"from stdin"}`, strings.Split(test.args, " ")...)
			got.expect(t, test.code, test.stdout, test.stderr)
		})
	}
}

func TestJSON(t *testing.T) {
	clitest.Alone(t)
	for _, test := range []struct {
		name, args string
		code       int
		members    string // of the object, in its order
	}{
		{"tools", "tools everything --json", cli.ExitOK, "tools"},
		{"resources", "resources everything --json", cli.ExitOK, "resources"},
		{"templates", "templates everything --json", cli.ExitOK, "resourceTemplates"},
		{"prompts", "prompts everything --json", cli.ExitOK, "prompts"},
		{"one tool", "tools everything add --json", cli.ExitOK, "tools"},
		{"the overview", "list --json", cli.ExitOK, "servers"},
		{"the tools of all servers", "tools --json", cli.ExitOK, "servers"},
		{"a call of the modern revision", "call everything add a=1 b=2 --json", cli.ExitOK, "resultType structuredContent content _meta"},
		{"a call of a legacy revision", "call everything add a=1 b=2 --json --revision 2025-06-18", cli.ExitOK, "structuredContent content"},
		{"a tool that fails", "call everything fail --json --revision 2025-06-18", cli.ExitToolFailed, "content isError"},
		{"a resource", "read everything everything://text --json", cli.ExitOK, "resultType contents ttlMs cacheScope _meta"},
		{"a prompt", "prompt everything greeting --json --revision 2025-06-18", cli.ExitOK, "messages"},
		{"a completion", "complete everything travel country=N --json --revision 2025-06-18", cli.ExitOK, "completion"},
		{"a ping", "ping everything --json", cli.ExitOK, ""},
		{"an error of the server", "call everything nope --json", cli.ExitProtocol, "error"},
		{"an error of the command line", "call everything --json --bogus", cli.ExitUsage, "error"},
		{"an error of connecting", "ping nowhere --json", cli.ExitConnection, "error"},
		{"a timeout", "call everything wait --timeout 50ms --json", cli.ExitTimeout, "error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := runs(t, "", strings.Split(test.args, " ")...)
			got.expectObject(t, test.code, test.members)
		})
	}
}

func TestInterruptedCallsAreCancelledOnTheServer(t *testing.T) {
	clitest.Alone(t)
	cancelled := make(chan struct{}, 1)
	server := mcp.NewServer("slow", "1")
	mcp.AddTool(server, "wait", func(ctx context.Context, _ struct{}) (string, error) {
		_ = mcp.Progress(ctx, 1, 2, "waiting")
		<-ctx.Done()
		cancelled <- struct{}{}
		return "", ctx.Err()
	})
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- stream.Serve(serving, l, server) }()
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		ctx, interrupt := context.WithCancelCause(t.Context())
		stderr := &watchedBuffer{word: "waiting", seen: func() { interrupt(cli.ErrInterrupted) }}
		var stdout clitest.SafeBuffer
		code := run(ctx, clitest.PlaceOf(t), []string{"call", "unix:" + socket, "wait", "-v", "--json", "--revision", revision}, strings.NewReader(""), &stdout, stderr)
		if code != cli.ExitInterrupted || stdout.String() != `{"error":{"message":"interrupted"}}`+"\n" {
			t.Errorf("exit code %d, stdout %s, stderr %s", code, stdout.String(), stderr.String())
		}
		<-cancelled
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A watchedBuffer calls seen when a word is written.
type watchedBuffer struct {
	clitest.SafeBuffer
	word string
	seen func()
}

func (w *watchedBuffer) Write(p []byte) (int, error) {
	n, err := w.SafeBuffer.Write(p)
	if strings.Contains(w.String(), w.word) {
		w.seen()
	}
	return n, err
}

func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "tools", "list", "call", "read", "prompt", "complete", "ping", "up", "serve", "proxy", "version"} {
		got := runs(t, "", append(strings.Fields(command), "--help")...)
		for line := range strings.Lines(got.stdout) {
			if terminal.Width(strings.TrimRight(line, "\n")) > 88 {
				t.Errorf("junction %s --help: %s", command, line)
			}
		}
	}
}

func TestShellCompletion(t *testing.T) {
	clitest.Alone(t)
	for _, test := range []struct{ args, want string }{
		{"ping|e", "everything\tships with junction\n"},
		{"call|everything|", "echo\tReturn the message unchanged.\n"},
		{"call|everything|pick|", "region=\tregion (eu|us|asia, required)\nitem=\t"},
		{"call|everything|pick|region=", "region=eu\nregion=us\n"},
		{"call|everything|pick|region=eu|i", "item=\t"},
		{"read|everything|", "everything://text\ttext\n"},
		{"prompt|everything|", "greeting\t"},
		{"serve|", "filesystem\n"},
		{"connect|cur", "cursor\tCursor\n"},
		{"disconnect|", "cursor\tCursor\n"},
		{"chat|ev", "everything\tships with junction\n"},
		{"chat|everything|", "filesystem\tships with junction\n:4\n"},
		{"chat|--theme|", "auto\ndark\nlight\nmono\n"},
		{"chat|--model|", "offline\nanthropic:\nresponses:\n"},
		{"chat|--trust|", "everything\tships with junction\n"},
		{"traffic|--server|", "filesystem\tships with junction\n"},
	} {
		got := runs(t, "", append([]string{"__complete"}, strings.Split(test.args, "|")...)...)
		if got.code != cli.ExitOK || !strings.Contains(got.stdout, test.want) {
			t.Errorf("%s: got %+v", test.args, got)
		}
	}
}

func TestShellCompletesConversations(t *testing.T) {
	clitest.NoState(t)
	runs(t, "", "chat", "-p", "add 2 and 40")
	stored, err := reach.OpenConversations(t.Context(), clitest.PlaceOf(t))
	if err != nil {
		t.Fatal(err)
	}
	all, err := stored.List(t.Context(), archive.Filter{})
	stored.Close()
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, args := range []string{"chat|--resume=", "chat|--fork|", "conversations|export|", "conversations|delete|", "conversations|fork|"} {
		runs(t, "", append([]string{"__complete"}, strings.Split(args, "|")...)...).expect(t, cli.ExitOK, all[0].ID+"\tadd 2 and 40\n:4\n", "")
	}
}

// The script for bash works where the package bash-completion is not installed.
func TestBashCompletesWithoutItsPackage(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	clitest.Alone(t)
	script := runs(t, "", "completion", "bash")
	for _, test := range []struct{ line, words, want string }{
		{"call ev", "call ev", "everything"},
		{"call everything pick region=", "call everything pick region =", "eu us asia"},
		{"call everything pick region=e", "call everything pick region = e", "eu"},
		{"connect curs", "connect curs", "cursor"},
	} {
		const ask = "\n" + `compopt() { :; }; COMP_LINE="$1"; COMP_POINT=${#1}; COMP_TYPE=9; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); __start_junction "$1"; printf '%s\n' "${COMPREPLY[*]}"`
		program := self(t)[0]
		args := append([]string{"--norc", "--noprofile", "-c", script.stdout + ask, "bash", program + " " + test.line, program}, strings.Fields(test.words)...)
		out, err := clitest.PlaceOf(t).Command(t.Context(), bash, args...).CombinedOutput()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != test.want {
			t.Errorf("%s: %v, %q, want %q", test.line, err, got, test.want)
		}
	}
}

// run runs one command line and returns the exit code.
func run(ctx context.Context, p place.Place, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if p.Getenv(asInFolder) != "" {
		stdout, stderr = shortened{stdout, p.Dir}, shortened{stderr, p.Dir}
	}
	defer clitest.AwaitStarts()
	return runKillable(ctx, p, nil, nil, args, stdin, stdout, stderr)
}

// A shortened writes names of files in a folder as a process prints them that is there.
type shortened struct {
	io.Writer
	dir string
}

func (s shortened) Write(p []byte) (int, error) {
	_, err := io.WriteString(s.Writer, strings.ReplaceAll(string(p), s.dir+string(filepath.Separator), ""))
	return len(p), err
}

// writeBelow makes a file and its folders.
func writeBelow(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(clitest.In(t, dir), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// guardTime bounds what a test waits for: only a test that fails reaches it, however busy the machine is.
const guardTime = 2 * time.Minute

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(guardTime); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not in time: " + what)
		}
	}
}

// listedNames are the names in the result of a list of tools.
func listedNames(t *testing.T, text string) string {
	t.Helper()
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return strings.Trim(fmt.Sprint(list.Tools), "[]{}")
}
