//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/launch"
)

// The audit log has what administrators and logins did, in the gateway and by other commands.
func TestTheAuditLogHasEvents(t *testing.T) {
	clitest.Alone(t)
	addUser(t, "ann")
	clitest.Setenv(t, launch.AdminTokenEnv, "the token")
	file := settingsFile(t, everythingEntry(t), `{"audit":{"folder":"log"},"review":"all"}`)
	log := filepath.Join(filepath.Dir(clitest.In(t, file)), "log")
	first := serving(t, "up", "--config", file) // makes the key of the log
	first.stop()
	runs(t, "password of ben", "user", "add", "ben").expect(t, cli.ExitOK, "Added: ben.", "") // while no gateway runs
	r := serving(t, "up", "--auth", "keys,local", "--config", file, "--admin", "127.0.0.1:0")
	admin := ""
	waitFor(t, "the address for administrators", func() bool {
		admin = strings.TrimSuffix(regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`).FindString(r.stderr.String()), "/metrics")
		return admin != ""
	})

	withBrowser(t, "ann")
	runs(t, "", "login", r.url).expect(t, cli.ExitOK, "Logged in", "")
	key := strings.TrimSpace(runs(t, "", "key", "create", "robot").stdout)
	id := strings.Split(key, "_")[1]
	next := strings.TrimSpace(runs(t, "", "key", "rotate", id, "--overlap", "0s").stdout)
	waitFor(t, "the new key works", func() bool {
		status, _ := post(t, r.url, next, addCall)
		return status == http.StatusOK
	})
	runs(t, "", "logout", r.url).expect(t, cli.ExitOK, "Logged out", "")
	runs(t, "", "user", "logout", "ann").expect(t, cli.ExitOK, "Logged out: ann (1).", "")
	runs(t, "another password", "user", "passwd", "ben").expect(t, cli.ExitOK, "Changed: ben.", "")
	runs(t, "", "user", "remove", "ben").expect(t, cli.ExitOK, "Removed: ben.", "")
	runs(t, "", "key", "remove", "robot").expect(t, cli.ExitOK, "Removed: 2 keys.", "")
	time.Sleep(1100 * time.Millisecond) // a removed key is refused after a second
	for range 5 {
		if status, _ := post(t, r.url, key, addCall); status != http.StatusUnauthorized {
			t.Errorf("the removed key: %d", status)
		}
	}
	control := func(path string) int {
		req, _ := http.NewRequest(http.MethodPost, admin+path, nil)
		req.Header.Set("Authorization", "Bearer the token")
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		return response.StatusCode
	}
	if got := control("/api/servers/everything/restart"); got != http.StatusAccepted {
		t.Errorf("restart: %d", got)
	}
	if got := control("/api/reload"); got != http.StatusAccepted {
		t.Errorf("reload: %d", got)
	}
	text, err := os.ReadFile(clitest.In(t, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(clitest.In(t, file), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := control("/api/reload"); got != http.StatusUnprocessableEntity {
		t.Errorf("reload of a broken file: %d", got)
	}
	if err := os.WriteFile(clitest.In(t, file), text, 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	if code := r.stop(); code != cli.ExitOK {
		t.Fatalf("exit code %d", code)
	}

	var got []string
	refused := 0
	lines := map[string]audit.Record{}
	for line, err := range audit.Read(log, audit.Filter{Kind: audit.KindAdmin}) {
		if err != nil {
			t.Fatal(err)
		}
		var l audit.Record
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSpace(l.Event + " " + l.Outcome + " " + l.Principal)
		got = append(got, name)
		lines[name] = l
		if name == "login error" {
			refused += max(1, l.Refused) // the first line of a caller has no number
			if !strings.HasSuffix(l.Reason, "the key is not known") {
				t.Errorf("the reason of a refused key: %q", l.Reason)
			}
		}
	}
	for _, want := range []string{"start ok", "stop ok", "user.add ok ben", "login ok ann", "consent ok ann", "client ok", "key.create ok robot", "key.rotate ok robot", "revoke ok ann", "logout ok ann", "user.password ok ben", "user.remove ok ben", "key.remove ok robot", "login error", "restart ok", "reload ok", "reload error"} {
		if !slices.Contains(got, want) {
			t.Errorf("no line %q in %q", want, got)
		}
	}
	operator := audit.Operator()
	for name, is := range map[string]bool{
		"the key's ID":               lines["key.create ok robot"].Name == id,
		"who created the key":        lines["key.create ok robot"].Operator == operator,
		"where ann logged in":        lines["login ok ann"].Address == "127.0.0.1",
		"who restarted":              lines["restart ok"].Operator == "through --admin" && lines["restart ok"].Address == "127.0.0.1",
		"the hash of the file":       regexp.MustCompile(`"[^"]*` + regexp.QuoteMeta(filepath.Base(file)) + `":"[0-9a-f]{64}"`).Match(lines["reload ok"].Files),
		"why it was refused":         lines["reload error"].Reason != "",
		"the number of refused keys": refused >= 5,
	} {
		if !is {
			t.Errorf("%s is wrong: %+v", name, lines)
		}
	}
	runs(t, "", "audit", "verify", log).expect(t, cli.ExitOK, "it is unchanged", "")
	runs(t, "", "audit", "query", log, "--event", "key.create").expect(t, cli.ExitOK, "admin key.create ok  "+id+"  principal robot  by "+operator, "")
	for _, line := range got {
		if strings.Contains(line, key) {
			t.Errorf("the key is in the log: %s", line)
		}
	}
}

// A command whose event cannot be queued changes nothing.
func TestACommandThatCannotBeLoggedFails(t *testing.T) {
	clitest.Alone(t)
	state := t.TempDir()
	clitest.Setenv(t, "JUNCTION_STATE", state)
	runs(t, "", "key", "create", "before").expect(t, cli.ExitOK, "jk_", "") // there is no audit log
	if _, err := os.Stat(filepath.Join(state, "audit.queue")); err == nil {
		t.Error("there is a queue without a log")
	}
	runs(t, "", "audit", "key").expect(t, cli.ExitOK, "=", "")
	if err := os.Mkdir(filepath.Join(state, "audit.queue"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"key", "create", "ann"}, {"key", "remove", "before"}} {
		if got := runs(t, "", args...); got.code == cli.ExitOK || !strings.Contains(got.stderr, "the queue of events") || strings.Contains(got.stdout, "jk_") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := runs(t, "", "key", "list").stdout; !strings.Contains(got, "before") || strings.Contains(got, "ann") {
		t.Errorf("keys are %s", got)
	}
}

func TestUpSaysHowLongTheAuditLogKeepsLines(t *testing.T) {
	clitest.Alone(t)
	state := t.TempDir()
	clitest.Setenv(t, "JUNCTION_STATE", state)
	key, err := audit.ReadKey(filepath.Join(state, "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := audit.Open(clitest.In(t, "log"), audit.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if err := l.Note(&audit.Record{Kind: audit.KindCall, Time: time.Now().Add(-49 * time.Hour), Reason: strings.Repeat("x", 400)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r := serving(t, "up", "--audit=log", "--audit-keep", "1MB", "everything")
	if !regexp.MustCompile(`Calls are logged in \S*log\. At the rate of the last 2 days, lines are kept for about [5-9] days\.`).MatchString(r.stderr.String()) {
		t.Errorf("it prints %s", r.stderr)
	}
}
