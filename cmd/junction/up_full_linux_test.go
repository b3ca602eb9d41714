package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"golang.org/x/sys/unix"
)

// Where the disk has no room for the audit log, a real junction up refuses calls with the reason, or goes on with
// --audit-optional; when there is room again, both go on, and the log has every call that was answered. The room is that
// of a file, which a limit of the process bounds.
func TestUpOnAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("all is done by another process, with one call after the other")
	}
	t.Parallel()
	for name, optional := range map[string]bool{"calls are refused": false, "calls go on where the log is optional": true} {
		t.Run(name, func(t *testing.T) {
			clitest.Alone(t)
			args := []string{"up", "--http", "127.0.0.1:0", "--tools", "all", "--audit=log", "everything"}
			if optional {
				args = append(args, "--audit-optional")
			}
			cmd := child(t, "sh", append([]string{"-c", `ulimit -S -f 256; exec "$0" "$@"`}, self(t, args...)...)...)
			said, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := false
			defer func() {
				if !ended {
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
				}
			}()
			var stderr clitest.SafeBuffer
			urls, read := make(chan string, 1), make(chan struct{})
			go func() {
				defer close(read)
				for lines := bufio.NewScanner(said); lines.Scan(); {
					fmt.Fprintln(&stderr, lines.Text())
					if url := address.FindString(lines.Text()); url != "" {
						select {
						case urls <- url:
						default:
						}
					}
				}
			}()
			var url string
			select {
			case url = <-urls:
			case <-time.After(2 * time.Minute):
				t.Fatalf("it does not serve: %s", stderr.String())
			}
			client, err := mcp.Dial(t.Context(), streamable.Client(url))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			answered := map[string]bool{}
			call := func(n int) error {
				message := fmt.Sprint(n, strings.Repeat(".", 150))
				_, err := client.CallTool(t.Context(), "everything__echo", map[string]string{"message": message})
				if err == nil {
					answered[message] = true
				}
				return err
			}
			n := 0
			for refused := error(nil); n < 1200 && refused == nil; n++ {
				refused = call(n)
				if refused != nil && (optional || !strings.Contains(refused.Error(), audit.ErrUnavailable.Error()) || !strings.Contains(refused.Error(), "the log of junction says why")) {
					t.Fatalf("call %d: %v", n, refused)
				}
			}
			if info, err := os.Stat(clitest.In(t, "log/0000000000000001.jsonl")); err != nil || info.Size() > 256<<10 {
				t.Fatalf("the log: %v, %v", info, err)
			}
			if !optional {
				if err := call(n); n == 1200 || err == nil || !strings.Contains(err.Error(), "was not handled: "+audit.ErrUnavailable.Error()) {
					t.Errorf("after %d calls, on the full disk: %v", n, err)
				}
			}
			if err := client.Ping(t.Context()); err != nil {
				t.Errorf("what is not written down does not go on: %v", err)
			}
			for end := time.Now().Add(guardTime); !strings.Contains(stderr.String(), "file too large"); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("its own log does not say why: %s", stderr.String())
				}
			}
			var limit unix.Rlimit
			if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
				t.Fatal(err)
			}
			limit.Cur = limit.Max
			if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
				t.Fatal(err)
			}
			if err := call(n + 1); err != nil {
				t.Errorf("there is room again: %v", err)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			<-read
			_ = cmd.Wait()
			ended = true
			for line, err := range audit.Read(clitest.In(t, "log"), audit.Filter{Kind: audit.KindCall}) {
				if err != nil {
					t.Fatal(err)
				}
				var l struct{ Arguments struct{ Message string } }
				if err := json.Unmarshal(line, &l); err != nil {
					t.Fatal(err)
				}
				delete(answered, l.Arguments.Message)
			}
			if len(answered) > 0 {
				t.Errorf("%d calls were answered and are not in the log", len(answered))
			}
			runs(t, "", "audit", "verify", "log").expect(t, cli.ExitOK, "it is unchanged", "")
		})
	}
}
