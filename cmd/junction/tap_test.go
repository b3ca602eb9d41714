package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

// asHost makes the test binary be a host: it reads the file that is named, starts each server in it, and calls its tool add.
const asHost = "JUNCTION_TEST_HOST"

// hostReads starts what a host's file says, as the host does.
func hostReads(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var file struct {
		McpServers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		fmt.Println(err)
		return 1
	}
	for name, s := range file.McpServers {
		c := command.New(s.Command, s.Args...)
		c.Environ = append(os.Environ(), asProgram+"=1", asHost+"=")
		for k, v := range s.Env {
			c.Env = append(c.Env, k+"="+v)
		}
		client, err := mcp.Dial(context.Background(), c)
		if err != nil {
			fmt.Println(name, err)
			return 1
		}
		r, err := client.CallTool(context.Background(), "add", map[string]int{"a": 1, "b": 2})
		fmt.Println(name, r != nil && !r.IsError, err)
		client.Close()
	}
	return 7
}

// tapHome is a home with a configuration of Cursor's, whose servers are a program, and one at an address that wants a header.
func tapHome(t *testing.T) (path, content string) {
	t.Helper()
	clitest.Alone(t)
	home, _ := clitest.PlaceOf(t).Getwd()
	path = filepath.Join(home, ".cursor", "mcp.json")
	content = "\ufeff{ // mine\r\n  \"mcpServers\": {\r\n    \"calc\": {\"command\": " + quoteJSON(self(t)[0]) + ", \"args\": [\"serve\", \"everything\"], \"env\": {\"" + asProgram + "\": \"1\"},},\r\n  },\r\n}\r\n"
	writeTap(t, path, content)
	return path, content
}

func quoteJSON(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

func writeTap(t *testing.T, path, content string) {
	t.Helper()
	path = clitest.In(t, path)
	if err := os.MkdirAll(clitest.In(t, filepath.Dir(path)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(clitest.In(t, path), []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

func readTap(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(clitest.In(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tapping runs junction host tap until stop, which returns its exit code.
func tapping(t *testing.T, args ...string) (stdout, stderr *clitest.SafeBuffer, stop func() int) {
	t.Helper()
	ctx, interrupt := context.WithCancelCause(context.WithoutCancel(t.Context()))
	stdout, stderr = new(clitest.SafeBuffer), new(clitest.SafeBuffer)
	began, code := make(chan struct{}, 1), make(chan int, 1)
	watched := &watchedBuffer{word: "they appear when the host starts them", seen: func() {
		select {
		case began <- struct{}{}:
		default:
		}
	}}
	go func() {
		code <- run(ctx, clitest.PlaceOf(t), append([]string{"tap"}, args...), strings.NewReader(""), stdout, io.MultiWriter(stderr, watched))
	}()
	ended := -1
	stop = func() int {
		if ended < 0 {
			interrupt(cli.ErrInterrupted)
			ended = <-code
		}
		return ended
	}
	t.Cleanup(func() { stop() })
	select {
	case <-began:
	case ended = <-code:
		t.Fatalf("it exited with code %d: %s", ended, stderr.String())
	}
	return stdout, stderr, stop
}

func TestTapShowsMessagesAndRestoresTheFile(t *testing.T) {
	path, content := tapHome(t)
	stdout, stderr, stop := tapping(t, "cursor")
	tapped := readTap(t, path)
	if !strings.Contains(tapped, `"proxy", "--name", "calc", "--", `) || !strings.HasPrefix(tapped, "\ufeff{ // mine\r\n") {
		t.Errorf("the file is now %s", tapped)
	}
	if info, err := os.Stat(clitest.In(t, path)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is now %v, %v", info.Mode(), err)
	}
	runs(t, "", "tap", "cursor").expect(t, cli.ExitConnection, "", fmt.Sprintf("mcp.json was changed by junction already; Ctrl-C in process %d restores it; junction traffic shows the messages", os.Getpid()))
	runs(t, "", "tap", "--list").expect(t, cli.ExitOK, fmt.Sprintf("(1 server; tapped by process %d: calc)", os.Getpid()), "Not found here: claude-desktop, claude-code, vscode")
	runs(t, "", "tap", "--undo").expect(t, cli.ExitConnection, "", "end that process with Ctrl-C")
	host := filepath.Join(t.TempDir(), "host.json") // what a host makes of it
	writeTap(t, host, strings.NewReplacer("\ufeff", "", " // mine", "", ",}", "}", ",\r\n  }", "}", ",\r\n}", "}").Replace(tapped))
	if out, err := hostCommand(t, host).CombinedOutput(); !strings.Contains(string(out), "calc true <nil>") {
		t.Errorf("the host says %s, %v", out, err)
	}
	waitForText(t, stdout, "junction <- calc  tools/call add answered")
	if code := stop(); code != cli.ExitOK {
		t.Errorf("it ends with %d: %s", code, stderr.String())
	}
	if got := readTap(t, path); got != content {
		t.Errorf("the file is now %q", got)
	}
	for _, want := range []string{"Tapped in ~", "Watching 0 of 1 tapped server; they appear when the host starts them. Ctrl-C ends.\n", "To apply this in Cursor, switch the server off and on", "mcp.json is as it was.\n"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("it says %s, want %q", stderr.String(), want)
		}
	}
	runs(t, "", "tap", "--undo").expect(t, cli.ExitOK, "", "Nothing is tapped.")
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("left in the folder: %v", left)
	}
}

// hostCommand is a host that reads a file.
func hostCommand(t *testing.T, path string) *exec.Cmd {
	cmd := child(t, self(t)[0])
	cmd.Env = append(clitest.PlaceOf(t).Environ(), asHost+"="+path)
	return cmd
}

func waitForText(t *testing.T, b *clitest.SafeBuffer, word string) {
	t.Helper()
	for !strings.Contains(b.String(), word) {
		if t.Context().Err() != nil {
			t.Fatal("not in time")
		}
		runtime.Gosched()
	}
}

func TestTapKeepsItsChangeUntilUndo(t *testing.T) {
	path, content := tapHome(t)
	runs(t, "", "tap", "cursor", "nosuch").expect(t, cli.ExitConnection, "", `no server is called "nosuch" in `)
	runs(t, "", "tap", "cursr").expect(t, cli.ExitUsage, "", `no host is called "cursr"; did you mean "cursor"?`)
	runs(t, "", "tap").expect(t, cli.ExitUsage, "", `HOST is missing`)
	runs(t, "", "tap", "zed").expect(t, cli.ExitConnection, "", `Zed has no configuration file here`)
	runs(t, "", "tap", "cherry-studio").expect(t, cli.ExitConnection, "", `in its own database`)
	runs(t, "", "tap", "--", "nobody-knows").expect(t, cli.ExitUsage, "", `junction host tap claude-code -- nobody-knows`)
	runs(t, "", "tap", "cursor", "--keep", "--", "x").expect(t, cli.ExitUsage, "", `give only one`)
	runs(t, "", "tap", "cursor", "--keep", "--record", "said").expect(t, cli.ExitOK, "", "To undo it: junction host tap --undo cursor")
	folder, _ := clitest.PlaceOf(t).Abs("said")
	if tapped := readTap(t, path); !strings.Contains(tapped, `"--record", `+quoteJSON(folder+string(filepath.Separator))) {
		t.Errorf("the file is %s", tapped)
	}
	runs(t, "", "tap", "--list").expect(t, cli.ExitOK, "tapped until --undo: calc", "")
	runs(t, "", "tap", "--undo", "codex").expect(t, cli.ExitOK, "", "Nothing is tapped.")
	changed := strings.Replace(readTap(t, path), "// mine", "// ours", 1)
	writeTap(t, path, changed)
	runs(t, "", "tap", "--undo", "cursor").expect(t, cli.ExitOK, "", "was edited meanwhile: its servers are restored")
	if got := readTap(t, path); got != strings.Replace(content, "// mine", "// ours", 1) {
		t.Errorf("the file is %q", got)
	}
}

func TestTapRunsAHostAndEndsAsItDoes(t *testing.T) {
	path, content := tapHome(t)
	clitest.Setenv(t, asHost, path)
	plain := strings.NewReplacer("\ufeff", "", " // mine", "", ",}", "}", ",\r\n  }", "}", ",\r\n}", "}").Replace(content)
	writeTap(t, path, plain)
	got := runs(t, "", "tap", "cursor", "--record", "said", "--", self(t)[0])
	got.expect(t, 7, "calc true <nil>\n", "mcp.json is as it was.")
	if strings.Contains(got.stdout, "tools/call") || strings.Contains(got.stderr, "tools/call") {
		t.Errorf("the traffic is in the host's terminal: %+v", got)
	}
	if now := readTap(t, path); now != plain {
		t.Errorf("the file is %q", now)
	}
	recordings, _ := filepath.Glob(clitest.In(t, filepath.Join("said", "calc-*.jsonl")))
	if len(recordings) != 1 || !strings.Contains(readTap(t, recordings[0]), `"server":"calc"`) || !strings.Contains(readTap(t, recordings[0]), `"name":"add"`) {
		t.Errorf("recorded is %v", recordings)
	}
	bin := t.TempDir()
	if err := os.Symlink(self(t)[0], filepath.Join(bin, "cursor-agent")); err != nil {
		t.Skip(err)
	}
	clitest.Setenv(t, "PATH", bin)
	runs(t, "", "tap", "cursor-agent").expect(t, 7, "calc true <nil>\n", "To see its messages, run junction traffic in another terminal.")
	runs(t, "", "tap", "cursor", "--", "/nosuch/program").expect(t, cli.ExitConnection, "", "/nosuch/program cannot be run")
	if now := readTap(t, path); now != plain {
		t.Errorf("the file is %q", now)
	}
}

// The header of an entry must not be seen by other users of the machine.
func TestAServerAtAnAddressIsTappedThroughTheEnvironment(t *testing.T) {
	r := serving(t, "serve", "everything") // before the home is another
	clitest.Alone(t)
	home, _ := clitest.PlaceOf(t).Getwd()
	path := filepath.Join(home, ".cursor", "mcp.json")
	writeTap(t, path, `{"mcpServers": {"far": {"url": "`+r.url+`?key=s3cret", "headers": {"Authorization": "Bearer s3cret"}}}}`)
	runs(t, "", "tap", "cursor", "--keep").expect(t, cli.ExitOK, "", "Tapped in")
	runs(t, "", "tap", "cursor").expect(t, cli.ExitConnection, "", "already; junction host tap --undo cursor restores it; junction traffic shows the messages")
	var file struct {
		McpServers map[string]struct {
			Args []string
			Env  map[string]string
		}
	}
	if err := json.Unmarshal([]byte(readTap(t, path)), &file); err != nil {
		t.Fatal(err)
	}
	far := file.McpServers["far"]
	if !slices.Equal(far.Args, []string{"proxy", "--name", "far", "--url-from-env"}) || far.Env["JUNCTION_HEADER_1"] != "Authorization: Bearer s3cret" {
		t.Errorf("the entry is %+v", far)
	}
	if out, err := hostCommand(t, path).CombinedOutput(); !strings.Contains(string(out), "far true <nil>") {
		t.Errorf("the host says %s, %v", out, err)
	}
	runs(t, "", "tap", "--undo").expect(t, cli.ExitOK, "", "is as it was")
}

func TestTapRestoresTheFileWhenTheTerminalCloses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no signals")
	}
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("nohup has SIGHUP ignored, and programs that the test starts inherit that")
	}
	path, content := tapHome(t)
	cmd := child(t, self(t)[0], "tap", "cursor")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "Tapped in ") {
		t.Errorf("it says %q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, lines)
	_ = cmd.Wait()
	if now := readTap(t, path); now != content {
		t.Errorf("the file is %q", now)
	}
}

// A process that is killed leaves the old file or the new one, and the next one puts the old one back.
func TestATapThatIsKilledIsTakenBackByTheNext(t *testing.T) {
	path, old := tapHome(t)
	began := time.Now()
	runProcess := func(args ...string) *exec.Cmd {
		cmd := child(t, self(t)[0], append([]string{"tap"}, args...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	if err := runProcess("cursor", "--keep").Wait(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(began)
	changed := readTap(t, path)
	if changed == old {
		t.Fatal("nothing is tapped")
	}
	seen := map[bool]int{}
	const rounds = 80
	for i := range rounds {
		args := []string{"cursor", "--keep"}
		if readTap(t, path) == changed {
			args = []string{"--undo"}
		} else {
			runs(t, "", "tap", "--undo") // the one before may have been killed just before its end
		}
		began := time.Now()
		cmd := runProcess(args...)
		for time.Since(began) < whole*time.Duration(i)*5/4/rounds { // a moment of it
			runtime.Gosched()
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		now := readTap(t, path)
		if now != old && now != changed {
			t.Fatalf("after the kill of tap %v the file is %q", args, now)
		}
		seen[now == old]++
	}
	runs(t, "", "tap", "--undo").expect(t, cli.ExitOK, "", "")
	if now := readTap(t, path); now != old {
		t.Errorf("the file is %q", now)
	}
	runs(t, "", "tap", "--undo").expect(t, cli.ExitOK, "", "Nothing is tapped.")
	for _, pattern := range []string{"*", ".*"} {
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), pattern)); len(left) > 1 || len(left) == 1 && left[0] != path {
			t.Errorf("left in the folder: %v", left)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(path)), "junction", "taps", "*")); len(left) != 1 {
		t.Errorf("left in the journal: %v", left)
	}
	t.Logf("old after %d kills, new after %d", seen[true], seen[false])
}

// Who was killed while it showed what goes through is taken back by any junction host tap.
func TestChangesOfAKilledTapAreUndone(t *testing.T) {
	path, old := tapHome(t)
	cmd := child(t, self(t)[0], "tap", "cursor")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = bufio.NewReader(stderr).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	runs(t, "", "tap", "--list").expect(t, cli.ExitOK, "left by a killed process, and the next junction host tap restores it: calc", "")
	runs(t, "", "tap", "zed").expect(t, cli.ExitConnection, "", "A killed junction host tap did not undo its change.")
	if now := readTap(t, path); now != old {
		t.Errorf("the file is %q", now)
	}
}

// What a server writes to its standard error is in the host's log, as without a tap.
func TestProxyPassesStandardErrorOn(t *testing.T) {
	clitest.Alone(t)
	said := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"
	runs(t, said, "proxy", "--name", "s", "--", "sh", "-c", "echo 'key is missing' >&2; exit 7").expect(t, cli.ExitConnection, `"error"`, "key is missing\n")
}

func TestAnEntryThatCannotBeTappedDoesNotHinderOthers(t *testing.T) {
	clitest.Alone(t)
	home, _ := clitest.PlaceOf(t).Getwd()
	path := filepath.Join(home, ".codex", "config.toml")
	content := "[mcp_servers.a]\nurl = 'https://x.example'\nhttp_headers.A = 'b'\n[mcp_servers.b]\ncommand = 'x'\n"
	writeTap(t, path, content)
	got := runs(t, "", "tap", "codex", "--keep")
	got.expect(t, cli.ExitOK, "", `a in ~/.codex/config.toml: not tapped: junction cannot change "http_headers" as it is written`)
	got.expect(t, cli.ExitOK, "", "Tapped in ~/.codex/config.toml: b\n")
	runs(t, "", "tap", "--undo").expect(t, cli.ExitOK, "", "is as it was")
	runs(t, "", "tap", "codex", "a").expect(t, cli.ExitConnection, "", "")
	if now := readTap(t, path); now != content {
		t.Errorf("the file is %q", now)
	}
}
