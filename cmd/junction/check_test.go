package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
)

// checked returns the output of up --check --json, and its exit code.
func (w *world) checked(args ...string) (c up.Checked, code int) {
	w.Helper()
	out, err := w.command(append([]string{"up", "--check", "--json"}, args...)...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		w.Fatal(err)
	}
	if err := json.Unmarshal(out, &c); err != nil {
		w.Fatalf("%s: %v", out, err)
	}
	return c, code
}

func TestACheckFindsFaultsAndStartsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	marker := filepath.Join(w.dir, "started")
	const key = "0123456789abcdef0123456789abcdef"
	config := func(entry, junction string) {
		if !strings.Contains(junction, `"listen"`) { // the usual port may be in use
			junction = strings.TrimSuffix(`"listen": {"http": "127.0.0.1:0"}, `+junction, ", ")
		}
		w.write("mcp.json", `{
  "mcpServers": {"a": {"command": "touch", "args": ["`+filepath.ToSlash(marker)+`"]}`+entry+`},
  "junction": {
    `+junction+`
  }
}`)
	}
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	w.write("asks.json", `{"rules": [{"effect": "ask", "of": "role:sr", "tool": "*"}], "default": "allow"}`)
	for _, test := range []struct{ entry, junction, fault string }{
		{"", `"tools": "all"`, ""},
		{`, "b": {"command": "no-such-program-anywhere"}`, "", `server "b": "no-such-program-anywhere" is not found in PATH`},
		{`, "b": {"url": "https://b.example/mcp", "headers": {"X": "${secret:none}"}}`, "", `secret "none"`},
		{`, "b": {"command": 1}`, "", `command`},
		{`, "b": {"url": "https://b.example/mcp", "userHeader": "X-User"}`, "", `server "b": userHeader needs users`},
		{`, "b": {"url": "https://b.example/mcp", "userHeader": "X-User"}`, `"auth": ["keys"], "servers": {"b": {"isolation": "client"}}`, `junction.servers.b.isolation is "client"`},
		{`, "b": {"url": "https://b.example/mcp", "userHeader": "X-User"}`, `"auth": ["keys"], "servers": {"b": {"isolation": "user"}}`, ""},
		{`, "b": {"url": "https://b.example/mcp", "userHeader": "X-User", "disabled": true}`, "", ""},
		{"", `"listen": {"tls": {"cert": "none.pem", "key": "none.key"}}`, "listen.tls.cert: stat"},
		{"", `"listen": {"http": "` + used.Addr().String() + `"}`, "listen.http: listen tcp4 " + used.Addr().String()},
		{"", `"listen": {"http": "127.0.0.1:0", "admin": "` + used.Addr().String() + `"}`, "listen.admin: listen tcp4 " + used.Addr().String()},
		{"", `"listen": {"http": "127.0.0.1:0", "tls": {"acme": {"hosts": ["a.example"], "http": "` + used.Addr().String() + `"}}}`, "listen.tls.acme.http: listen tcp4 " + used.Addr().String()},
		{"", `"audit": {"folder": "no/folder/yet"}`, ""},
		{"", `"audit": {"folder": "mcp.json"}`, "mcp.json is not a folder"},
		{"", `"audit": {"folder": "mcp.json/log"}`, "audit.folder: "},
		{"", `"listen": {"tls": {"cert": "none.pem"}}`, "listen.tls.cert and listen.tls.key go together"},
		{"", `"listen": {"tls": {"cert": "a.pem", "key": "a.key", "acme": {"hosts": ["a.example"]}}}`, "listen.tls.cert and listen.tls.acme: give only one"},
		{"", `"listen": {"tls": {"acme": {"hosts": []}}}`, "listen.tls.acme.hosts: expected the names"},
		{"", `"listen": {"tls": {"acme": {"hosts": ["localhost"]}}}`, "listen.tls.acme.hosts[0]: expected a name such as"},
		{"", `"listen": {"tls": {"acme": {"hosts": ["a.example"], "directory": "http://a.example"}}}`, "listen.tls.acme.directory: expected an https URL"},
		{"", `"listen": {"http": "unix:s", "tls": {"acme": {"hosts": ["a.example"]}}}`, "goes with an address, not with a socket"},
		{"", `"listen": {"http": "127.0.0.1:0", "tls": {"acme": {"hosts": ["a.example"]}}}`, ""},
		{"", `"listen": {"http": "no.such.host.invalid:1"}`, "listen.http: lookup"},
		{"", `"listen": {"http": "127.0.0.1:7717", "admin": "127.0.0.1:7717"}`, "listen.admin: 127.0.0.1:7717 is the address of listen.http"},
		{"", `"telemetry": {"otlp": "localhost:4318"}`, "telemetry.otlp: traces cannot be sent to"},
		{"", `"policy": "asks.json", "auth": ["keys"], "roles": {"sre": {"who": ["key:ann"]}}`, `there is no role "sr" here`},
		{"", `"listen": {"admin": "0.0.0.0:9464"}`, "is not a loopback address"},
		{"", `"listen": {"http": "nonsense"}`, "listen.http: expected HOST:PORT"},
		{"", `"auth": ["local"], "listen": {"http": "0.0.0.0:0"}`, "needs --public-url"},
		{"", `"auth": ["local"], "listen": {"publicURL": "http://tools.example"}`, "it needs https"},
		{"", `"auth": ["local"], "authorization": {"provider": {"issuer": "https://a.example", "clientId": "x", "secretEnv": "NOT_SET", "domains": ["a.example"]}}`, "the variable NOT_SET is not set"},
		{"", `"policy": "none.json"`, "none.json"},
		{"", `"profiles": {"p": {"servers": ["c"]}}`, `there is no server "c"`},
		{"", `"auth": ["keys"], "roles": {"r": {"who": ["*"], "profiles": ["q"]}}`, `there is no profile "q"`},
		{"", `"roles": {"r": {"who": ["*"]}}`, "roles"},
		{"", `"stateKeys": ["${file:none}"]`, "stateKeys[0]"},
		{"", `"limits": {"taskTime": "1ms"}`, "limits.taskTime: expected 1s to"},
		{"", `"limits": {"message": "1GB"}`, "limits.message: expected up to 32MB"},
		{"", `"authorization": {"url": "https://a.example"}, "listen": {"publicURL": "https://b.example"}`, "it is an older name of listen.publicURL"},
	} {
		config(test.entry, test.junction)
		c, code := w.checked("--config", "mcp.json")
		found := slices.ContainsFunc(c.Faults, func(fault string) bool { return strings.Contains(fault, test.fault) })
		if (code == cli.ExitOK) != (test.fault == "") || code != cli.ExitOK && (code != cli.ExitConnection || !found) {
			t.Errorf("%s %s: exit code %d, %q, want %q", test.entry, test.junction, code, c.Faults, test.fault)
		}
	}
	config("", `"listen": {"http": "127.0.0.1:0", "tls": {"acme": {"hosts": ["a.example"]}, "clientRevoked": "revoked"}}`)
	if c, _ := w.checked("--config", "mcp.json"); len(c.Faults) != 1 || !strings.Contains(c.Faults[0], "listen.tls.clientRevoked goes with listen.tls.clientCA") {
		t.Errorf("one fault is reported as %q", c.Faults)
	}
	config("", `"limits": {"rate": "1/m"}, "stateKeys": ["`+key+`"]`)
	c, code := w.checked("--config", "mcp.json", "--tools", "all")
	got := map[string]string{}
	for _, s := range c.Settings {
		got[s.Setting] = fmt.Sprint(string(s.Value), " ", s.From)
	}
	for name, want := range map[string]string{"tools": `"all" --tools`, "limits.rate": `"1/m" mcp.json:4`, "limits.sessions": "100000 default", "stateKeys": `["***"] mcp.json:4`} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	if _, err := os.Stat(marker); err == nil || code != cli.ExitOK {
		t.Errorf("exit code %d; a server was started: %v", code, err == nil)
	}
	if c, code := w.checked("--config", "mcp.json", "--tls-cert", "none.pem", "--tls-key", "none.key", "--http", used.Addr().String()); code != cli.ExitConnection || len(c.Faults) != 2 || !strings.Contains(c.Faults[0], "--tls-cert: stat") || !strings.Contains(c.Faults[1], "--http: listen") {
		t.Errorf("faults of flags: %q", c.Faults)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "no")); err == nil {
		t.Error("it made the folder of the log")
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "junction", "*.db")); len(left) > 0 {
		t.Errorf("it made %q", left)
	}
}

func TestACheckComparesWithARunningGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	argv := `{"command": "env", "args": ["` + strings.Join(self(t, "serve", "time"), `","`) + `"]}`
	config := func(file, entries, junction string) {
		w.write(file, `{"mcpServers": {`+entries+`}, "junction": {"listen": {"http": "127.0.0.1:0"}`+junction+`}}`)
	}
	config("mcp.json", `"a": `+argv, "")
	started := w.start("up", "--config", "mcp.json")
	started.find("junction serves at")
	if c, _ := w.checked("--config", "mcp.json"); len(c.Running) != 1 || len(c.Running[0].Changes) != 0 {
		t.Errorf("without a change it is %+v", c.Running)
	}
	config("next.json", `"a": {"command": "env", "args": ["true"]}, "b": `+argv, `, "limits": {"rate": "5/m", "sessions": 9}, "servers": {"a": {"isolation": "user"}}, "review": "all"`)
	c, code := w.checked("--config", "next.json")
	want := map[string]string{
		"limits.rate": "at once", "limits.sessions": "when junction up starts again", "review": "at once: the server starts anew",
		"servers.a.isolation": "at once: the server starts anew", "server a": "at once: the server starts anew", "server b (added)": "at once",
	}
	if code != cli.ExitOK || len(c.Running) != 1 {
		t.Fatalf("exit code %d: %+v", code, c)
	}
	got := map[string]string{}
	for _, change := range c.Running[0].Changes {
		got[change.Changed] = change.Holds
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the changes are\n%v, want\n%v", got, want)
	}
	config("mcp.json", `"a": `+argv, `, "limits": {"sessions": 9}`) // the running gateway reads it
	started.find("these changes apply when junction up starts again: limits.sessions")
	if c, _ := w.checked("--config", "mcp.json"); len(c.Running) != 1 || len(c.Running[0].Changes) != 1 || c.Running[0].Changes[0].Changed != "limits.sessions" {
		t.Errorf("of a change that waits it says %+v", c.Running)
	}
}

// TestACheckTakesTheAddressOfTheRunningGateway sees that the running gateway may have the address, and another program not.
func TestACheckTakesTheAddressOfTheRunningGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, err := net.Listen("tcp", freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	w.write("mcp.json", `{"mcpServers": {}, "junction": {"listen": {"http": "`+at+`"}}}`)
	if c, code := w.checked("--config", "mcp.json"); code != cli.ExitConnection || len(c.Faults) != 1 {
		t.Errorf("of the address of another program: exit code %d, %q", code, c.Faults)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	w.start("up", "--config", "mcp.json").find("junction serves at")
	if c, code := w.checked("--config", "mcp.json"); code != cli.ExitOK || len(c.Running) != 1 {
		t.Errorf("exit code %d: %+v", code, c)
	}
}
