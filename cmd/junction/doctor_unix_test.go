//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
)

func TestDoctorQuotesInvalidLines(t *testing.T) {
	clitest.Alone(t)
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"only":   map[string]any{"command": "sh", "args": []string{"-c", "echo 'Listening on port 3000'; exec sleep 600"}},
		"banner": map[string]any{"command": "sh", "args": []string{"-c", "echo '=== everything ==='; exec " + strings.Join(self(t, "serve", "everything"), " ")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(clitest.In(t, "d.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	got := runs(t, "", "doctor", "only", "--config", "d.json")
	got.expect(t, cli.ExitToolFailed, `BROKEN  start: standard output has a line that is not JSON-RPC, and no message followed within 10s: "Listening on port 3000"`, "")
	got.expect(t, cli.ExitToolFailed, "fix: the server must log to standard error", "")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	runs(t, "", "doctor", "banner", "--config", "d.json").expect(t, cli.ExitOK, `CAREFUL output: standard output has a line that is not JSON-RPC, which other clients reject: "=== everything ==="; the server must log to standard error`, "")
}

// What junction up refuses to start, as it would start itself, is not ok for doctor either.
// Where it is waited for less long than for the message that has to follow, the line is quoted all the same.
func TestDoctorQuotesALineOfAServerThatDoesNotAnswerInTime(t *testing.T) {
	clitest.Alone(t)
	configure(t, "d.json", `"hello":{"command":"/bin/sh","args":["-c","echo Hello; cat >/dev/null"],"startTimeout":"500ms"}`, "")
	got := runs(t, "", "doctor", "--config", "d.json")
	got.expect(t, cli.ExitToolFailed, `CAREFUL output: standard output has a line that is not JSON-RPC, which other clients reject: "Hello"; the server must log to standard error`, "")
	got.expect(t, cli.ExitToolFailed, "BROKEN  start: no response in time", "")
}

func TestDoctorSeesAnEntryThatStartsTheSameGatewayAgain(t *testing.T) {
	clitest.Alone(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "d.json")
	entry := fmt.Sprintf(`"again":{"command":"/bin/sh","args":["-c","'%s' up --stdio --config '%s'"]}`, self(t)[0], config)
	configure(t, config, entry, "")
	got := runs(t, "", "doctor", "--config", config)
	if got.code == cli.ExitOK || !strings.Contains(got.stdout, "this gateway would start itself") {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
}

func TestDoctorSaysWhyAProgramCannotBeStarted(t *testing.T) {
	clitest.Alone(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "a program")
	if err := os.WriteFile(clitest.In(t, file), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{file: "make it executable: chmod +x " + plaintext.ShellWord(file), dir: "it is a folder: ", "no-such-program-anywhere": "install no-such-program-anywhere, or "} {
		runs(t, "", "doctor", "--config", configuration(t, map[string]any{"a": map[string]any{"command": command}})).expect(t, cli.ExitToolFailed, "fix: "+want, "")
	}
}

func TestDoctorSaysThatAnAddressSpeaksHTTP(t *testing.T) {
	clitest.Alone(t)
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	url := strings.Replace(web.URL, "http:", "https:", 1)
	runs(t, "", "doctor", "--config", configuration(t, map[string]any{"a": map[string]any{"url": url}})).expect(t, cli.ExitToolFailed, "fix: "+reach.RemedyPlainHTTP, "")
}

// What junction status and the console say of a server: what mends a failed one, and what other clients would fail with.
func TestStatusNamesRemedies(t *testing.T) {
	clitest.Alone(t)
	file := filepath.Join(t.TempDir(), "mcp.json")
	noisy := fmt.Sprintf("echo starting; exec '%s' serve everything", self(t)[0])
	configure(t, file, fmt.Sprintf(`"none":{"command":"no-such-program-anywhere"},"noisy":{"command":"/bin/sh","args":["-c",%q],"start":"eager"}`, noisy), "")
	ask := consoleServed(t)
	serving(t, "up", "--config", file)
	want := map[string]cli.ServerStatus{"none": {State: "failed", Remedy: reach.InstallRemedy("it")},
		"noisy": {State: "connected", Remedy: reach.RemedyStrayOutput, Careful: `standard output has a line that is not JSON-RPC, which other clients reject: "starting"`}}
	waitFor(t, fmt.Sprintf("what is wrong with both: %+v", want), func() bool {
		_, text := ask("GET", "instances", "")
		var got struct{ Instances []cli.Instance }
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		all := map[string]cli.ServerStatus{}
		for _, s := range got.Instances[0].Servers {
			all[s.Name] = cli.ServerStatus{State: s.State, Remedy: s.Remedy, Careful: s.Careful}
		}
		return reflect.DeepEqual(all, want)
	})
}

func TestDoctorWaitsNoLongerThanItsTimeout(t *testing.T) {
	clitest.Alone(t)
	config := configuration(t, map[string]any{"mute": map[string]any{"command": "sleep", "args": []string{"600"}}})
	began := time.Now()
	runs(t, "", "doctor", "--timeout", "500ms", "--config", config).expect(t, cli.ExitToolFailed, "mute\n", "")
	if took := time.Since(began); took > launch.BriefStart {
		t.Errorf("it took %v", took)
	}
}
