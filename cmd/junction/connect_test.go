package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

// ownEntry is what a host's file of JSON starts or calls for junction.
func ownEntry(t *testing.T, path string) (program string, args []string, url string) {
	t.Helper()
	var file struct {
		McpServers map[string]struct {
			Command string
			Args    []string
			URL     string
		}
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(readTap(t, path), "\ufeff")), &file); err != nil {
		t.Fatal(err)
	}
	e, ok := file.McpServers["junction"]
	if !ok || len(file.McpServers) != 1 {
		t.Fatalf("its servers are %v", file.McpServers)
	}
	return e.Command, e.Args, e.URL
}

func TestAHostStartsJunctionInPlaceOfItsServersUntilItIsDisconnected(t *testing.T) {
	path, before := tapHome(t)
	home := filepath.Dir(filepath.Dir(path))
	dry := runs(t, "", "connect", "cursor", "--dry-run")
	dry.expect(t, cli.ExitOK, "~/.cursor/mcp.json will start junction in place of calc\n", "")
	runs(t, "", "connect", "cursor").expect(t, cli.ExitConnection, "in place of calc", "not a terminal: --yes confirms")
	if readTap(t, path) != before {
		t.Fatalf("it was changed: %s", readTap(t, path))
	}
	runs(t, "", "connect", "cursor", "--yes").expect(t, cli.ExitOK, "Added to ~/junction/mcp.json: 1 server\nConnected: ~/.cursor/mcp.json\nTo apply this in Cursor, switch the server off and on in its settings, or restart it.\nTo put its own servers back: junction host disconnect cursor\n"+
		"Rules: none. Log: none.\nFor a log, and for rules in ~/junction/policy.json, add \"junction\": {\"policy\": \"policy.json\", \"audit\": {}} next to \"mcpServers\" in ~/junction/mcp.json\n", "")
	own := filepath.Join(home, "junction", "mcp.json")
	want := "\ufeff{ // mine\r\n  \"mcpServers\": {\r\n    \"junction\": {\r\n      \"command\": " + quoteJSON(self(t)[0]) + ",\r\n      \"args\": [\"up\", \"--stdio\", \"--config\", " + quoteJSON(own) + "]\r\n    },\r\n  },\r\n}\r\n"
	if now := readTap(t, path); now != want {
		t.Fatalf("it is\n%q\nwant\n%q", now, want)
	}

	// What a host does.
	client, err := mcp.Dial(t.Context(), command.New(self(t)[0], "up", "--stdio", "--config", own))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := client.CallTool(t.Context(), "calc__add", map[string]int{"a": 1, "b": 2}); err != nil || r.IsError {
		t.Errorf("got %v, %v", r, err)
	}
	client.Close()

	runs(t, "", "connect", "cursor", "--yes").expect(t, cli.ExitConnection, "", "~/.cursor/mcp.json is connected already; junction host disconnect cursor puts it back")
	runs(t, "", "tap", "cursor", "--keep").expect(t, cli.ExitConnection, "", "its servers go through junction, so junction traffic shows their messages already; junction host disconnect cursor restores them")
	runs(t, "", "tap", "--list").expect(t, cli.ExitOK, "connected: it has junction until junction host disconnect cursor", "")
	runs(t, "", "tap", "--undo").expect(t, cli.ExitOK, "", "Nothing is tapped.")
	if readTap(t, path) != want {
		t.Fatal("junction host tap took the connection back")
	}
	runs(t, "", "import", "cursor", "--yes").expect(t, cli.ExitOK, "junction: not copied: it is junction itself\n", "")
	if got := runs(t, "", "list"); got.code != cli.ExitOK || !strings.HasPrefix(got.stdout, "━━ calc  (defined in ~/junction/mcp.json, ") || strings.Contains(got.stdout, "\n━━ junction  (defined") { // it would start itself
		t.Errorf("it lists %s", got.stdout)
	}

	runs(t, "", "disconnect", "cursor").expect(t, cli.ExitOK, "~/.cursor/mcp.json is as it was.\n", "")
	if now := readTap(t, path); now != before {
		t.Errorf("it is %q", now)
	}
	runs(t, "", "disconnect", "cursor").expect(t, cli.ExitConnection, "", "cursor is not connected")
	runs(t, "", "disconnect", "--all").expect(t, cli.ExitOK, "", "Nothing is connected.")

	runs(t, "", "tap", "cursor", "--keep").expect(t, cli.ExitOK, "", "Tapped")
	runs(t, "", "connect", "cursor", "--yes").expect(t, cli.ExitConnection, "", "~/.cursor/mcp.json is tapped; junction host tap --undo cursor puts it back")
	runs(t, "", "disconnect", "--all").expect(t, cli.ExitOK, "", "Nothing is connected.")
	runs(t, "", "tap", "--undo", "cursor").expect(t, cli.ExitOK, "", "is as it was")
	if now := readTap(t, path); now != before {
		t.Errorf("it is %q", now)
	}
}

func TestDisconnectRemovesOnlyTheEntryFromAChangedFile(t *testing.T) {
	path, _ := tapHome(t)
	runs(t, "", "connect", "cursor", "--yes").expect(t, cli.ExitOK, "Connected", "")
	writeTap(t, path, strings.Replace(readTap(t, path), "// mine", "// ours", 1))
	runs(t, "", "disconnect", "cursor").expect(t, cli.ExitOK, "~/.cursor/mcp.json was edited meanwhile: junction is removed, its servers are restored, and the other edits are kept.\n", "")
	if now := readTap(t, path); !strings.HasPrefix(now, "\ufeff{ // ours\r\n  \"mcpServers\": {\r\n    \"calc\": {\"command\": ") || strings.Contains(now, "junction\":") {
		t.Errorf("it is %s", now)
	}
}

func TestAHostWithoutAFileGetsOneThatGoesAgain(t *testing.T) {
	clitest.Alone(t)
	home, _ := clitest.PlaceOf(t).Getwd()
	path := filepath.Join(home, ".lmstudio", "mcp.json")
	first := runs(t, "", "connect", "lmstudio", "--yes", "--profile", "work")
	first.expect(t, cli.ExitOK, "~/junction/mcp.json has no servers yet: junction host import takes those of other hosts\nConnected: ~/.lmstudio/mcp.json\n", "")
	first.expect(t, cli.ExitOK, "Until you run junction server add, LM Studio gets a server to try: everything\n", "")
	program, args, _ := ownEntry(t, path)
	if program != self(t)[0] || strings.Join(args, " ") != "up --stdio --config "+filepath.Join(home, "junction", "mcp.json")+" --profile work" {
		t.Errorf("it starts %s %q", program, args)
	}
	if now := readTap(t, args[3]); now != "{\"mcpServers\": {}}\n" {
		t.Errorf("junction's file is %s", now)
	}
	runs(t, "", "list", "--config", args[3]).expect(t, cli.ExitOK, "everything  (ships with junction", "")
	if got := runs(t, "", "list", "--config", args[3]); strings.Contains(got.stdout, "filesystem") { // a host starts it in a folder of its own
		t.Errorf("it lists %s", got.stdout)
	}
	runs(t, "", "disconnect", "lmstudio").expect(t, cli.ExitOK, "~/.lmstudio/mcp.json is removed: there was none before.\n", "")
	if _, err := os.Stat(clitest.In(t, path)); err == nil {
		t.Error("it is still there")
	}

	runs(t, "", "connect", "lmstudio", "--yes", "--url", "--profile", "work").expect(t, cli.ExitOK, "Connected", "no junction up serves an address now; to run one: junction service install -- --http 127.0.0.1:7717")
	if _, _, url := ownEntry(t, path); url != "http://127.0.0.1:7717/mcp/work" {
		t.Errorf("it calls %s", url)
	}
	runs(t, "", "disconnect", "--file", path).expect(t, cli.ExitOK, "is removed", "")
	runs(t, "", "connect", "lmstudio", "--yes", "--url=http://127.0.0.1:9/mcp").expect(t, cli.ExitOK, "Connected", "")
	if _, _, url := ownEntry(t, path); url != "http://127.0.0.1:9/mcp" {
		t.Errorf("it calls %s", url)
	}
	runs(t, "", "connect", "claude-desktop", "--yes", "--url").expect(t, cli.ExitConnection, "", "Claude Desktop only starts programs; connect it without --url")
	runs(t, "", "connect", "cherry-studio", "--yes").expect(t, cli.ExitConnection, "", "its own database")
	for _, test := range []struct{ args, want string }{
		{"", "HOST is missing"}, {"vim", `no host is called "vim"`}, {"cursor --stdio --url", "give only one"}, {"cursor --url=here", `expected a URL`},
	} {
		runs(t, "", append([]string{"connect", "--yes"}, strings.Fields(test.args)...)...).expect(t, cli.ExitUsage, "", test.want)
	}
	runs(t, "", "disconnect").expect(t, cli.ExitUsage, "", "HOST is missing")
	runs(t, "", "disconnect", "vim").expect(t, cli.ExitUsage, "", `no host is called "vim"`)
}

func TestImportLeavesUnreadableEntriesInTheHost(t *testing.T) {
	clitest.Alone(t)
	home, _ := clitest.PlaceOf(t).Getwd()
	path := filepath.Join(home, ".claude.json")
	before := `{"mcpServers": {"a": {"command": "x"}, "h": {"type": "http", "url": "https://x.example", "headersHelper": "y"}}, "projects": {` + quoteJSON(home) + `: {"mcpServers": {"local": {"command": "z"}}}}}`
	writeTap(t, path, before)
	writeTap(t, filepath.Join(home, ".mcp.json"), `{"mcpServers": {"team": {"command": "t"}}}`)
	got := runs(t, "", "connect", "claude", "--yes")
	got.expect(t, cli.ExitOK, "  These stay in it, and do not go through junction: h, local (it is only for "+home+")\n", "")
	if now := readTap(t, path); strings.Contains(now, `"a"`) || !strings.Contains(now, `"h": {"type"`) || !strings.Contains(now, `"local": {"command": "z"}`) || !strings.Contains(now, `"junction": {"type": "stdio"`) {
		t.Errorf("it is %s", now)
	}
	if now := readTap(t, filepath.Join(home, ".mcp.json")); now != `{"mcpServers": {"team": {"command": "t"}}}` {
		t.Errorf("the project's file is changed: %s", now)
	}
	runs(t, "", "disconnect", "claude-code").expect(t, cli.ExitOK, "is as it was", "")
	if now := readTap(t, path); now != before {
		t.Errorf("it is %s", now)
	}
}

// Hosts give what they start less than their own environment.
func TestVariablesThatTheServersNeedGoThroughTheHost(t *testing.T) {
	home := hostFiles(t)
	runs(t, "", "connect", "cursor", "--yes").expect(t, cli.ExitOK, "in place of github, web, gateway\n", "")
	if now := readTap(t, filepath.Join(home, ".cursor", "mcp.json")); !strings.Contains(now, "\"env\": {\r\n        \"LOG\": \"${env:LOG}\"\r\n      }\r\n") {
		t.Errorf("it is %s", now)
	}
}

func TestOneOfSeveralFilesThatAHostReadsTogetherHasJunction(t *testing.T) {
	clitest.Alone(t)
	home, _ := clitest.PlaceOf(t).Getwd()
	first, second := filepath.Join(home, ".continue", "config.yaml"), filepath.Join(home, ".continue", "mcpServers", "more.yaml")
	writeTap(t, first, "name: x # mine\nmcpServers:\n  - name: a\n    command: y\n")
	const more = "name: more\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: b\n    command: z\n"
	writeTap(t, second, more)
	runs(t, "", "connect", "continue", "--yes").expect(t, cli.ExitOK, "~/.continue/mcpServers/more.yaml loses b\n", "")
	if now := readTap(t, second); now != "name: more\nversion: 1.0.0\nschema: v1\nmcpServers:\n    []\n" {
		t.Errorf("it is %s", now)
	}
	if now := readTap(t, first); !strings.Contains(now, "name: x # mine\nmcpServers:\n  - name: \"junction\"\n") || strings.Contains(now, "name: a") {
		t.Errorf("it is %s", now)
	}
	runs(t, "", "disconnect", "continue").expect(t, cli.ExitOK, "is as it was", "")
	if now := readTap(t, second); now != more {
		t.Errorf("it is %s", now)
	}
}

func TestDoctorLooksAtHostsThatAreConnected(t *testing.T) {
	path, _ := tapHome(t)
	home := filepath.Dir(filepath.Dir(path))
	runs(t, "", "connect", "cursor", "--yes").expect(t, cli.ExitOK, "Connected", "")
	connected := readTap(t, path)
	const broken = cli.ExitToolFailed
	got := runs(t, "", "doctor")
	got.expect(t, cli.ExitOK, "host cursor\n  ok      file: ~/.cursor/mcp.json\n  ok      entry: as junction host connect wrote it\n  ok      program: ", "")
	if !strings.Contains(got.stdout, "  ok      configuration: ~/junction/mcp.json\n  ok      rules: none; to have those that you write into ~/junction/policy.json, add \"junction\": {\"policy\": \"policy.json\"} next to \"mcpServers\" in ~/junction/mcp.json\n  ok      log: none; to keep one, add \"junction\": {\"audit\": {}} next to \"mcpServers\" in ~/junction/mcp.json\n1 server, 1 host, 0 broken.\n") {
		t.Errorf("it says %s", got.stdout)
	}

	writeTap(t, path, strings.Replace(connected, `"junction": {`, `"past": {"command": "x"}, "junction": { "disabled": true,`, 1))
	writeTap(t, filepath.Join(home, "p", ".git", "HEAD"), "")
	writeTap(t, filepath.Join(home, "p", ".cursor", "mcp.json"), `{"mcpServers": {"team": {"command": "t"}}}`)
	clitest.Chdir(t, filepath.Join(home, "p"))
	runs(t, "", "doctor").expect(t, broken, "  CAREFUL entry: it changed since junction wrote it\n", "")
	runs(t, "", "doctor").expect(t, broken, "  CAREFUL servers: the host uses these servers without junction: past, team (in ~/p/.cursor/mcp.json)\n", "")
	clitest.Chdir(t, home)

	writeTap(t, path, strings.Replace(connected, quoteJSON(self(t)[0]), `"/nowhere/junction"`, 1))
	runs(t, "", "doctor").expect(t, broken, "fix: install junction there again, or junction host disconnect cursor, then junction host connect cursor\n", "")
	writeTap(t, path, strings.Replace(connected, `"junction": {`, `"other": {`, 1))
	runs(t, "", "doctor").expect(t, broken, "  BROKEN  entry: the host's file no longer has the entry of junction\n", "")
	writeTap(t, path, "{")
	runs(t, "", "doctor").expect(t, broken, "fix: correct the file, or junction host disconnect cursor\n", "")
	writeTap(t, path, connected)
	if err := os.Remove(filepath.Join(home, "junction", "mcp.json")); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "doctor").expect(t, broken, "  BROKEN  configuration: ~/junction/mcp.json does not exist\n", "")
}

// What connect took over is in two places then: who disconnects learns of the second one.
func TestDisconnectReportsRemainingServers(t *testing.T) {
	for _, file := range []string{"", "own.json"} {
		clitest.Alone(t)
		home, _ := clitest.PlaceOf(t).Getwd()
		writeTap(t, filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers": {"hub": {"command": "hub-server", "env": {"HUB_TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}}, "notes": {"command": "notes-server"}}}`)
		own, flags := "~/junction/mcp.json", []string(nil)
		remove := "junction server remove hub notes"
		if file != "" {
			own, flags = "~/"+file, []string{"--config", file}
			remove += " --config " + filepath.Join(home, file)
		}
		runs(t, "", append([]string{"connect", "cursor", "--yes"}, flags...)...).expect(t, cli.ExitOK, "Connected", "")
		got := runs(t, "", "disconnect", "cursor", "--yes")
		want := "~/.cursor/mcp.json is as it was.\nStill in " + own + ", for junction: hub, notes. To remove them: " + remove + "\nThe secret hub-HUB_TOKEN is still kept: junction secret remove hub-HUB_TOKEN\n"
		got.expect(t, cli.ExitOK, want, "")
		runs(t, "", append([]string{"remove", "hub", "notes"}, flags...)...).expect(t, cli.ExitOK, "Removed", "")
	}
}

// A server that two hosts had is in use while one of them is connected: nothing says then that it is to be removed, and who removes it is warned.
func TestDisconnectKeepsServersOfAnotherHost(t *testing.T) {
	for _, file := range []string{"", "own.json"} {
		clitest.Alone(t)
		home, _ := clitest.PlaceOf(t).Getwd()
		const shared = `"notes": {"command": "notes-server", "env": {"TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}}`
		writeTap(t, filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers": {"hub": {"command": "hub-server"}, `+shared+`}}`)
		writeTap(t, filepath.Join(home, ".codeium", "windsurf", "mcp_config.json"), `{"mcpServers": {`+shared+`}}`)
		flags := []string(nil)
		if file != "" {
			flags = []string{"--config", file}
		}
		for _, host := range []string{"cursor", "windsurf"} {
			runs(t, "", append([]string{"connect", host, "--yes"}, flags...)...).expect(t, cli.ExitOK, "Connected", "")
		}
		got := runs(t, "", "disconnect", "cursor")
		got.expect(t, cli.ExitOK, "for junction: hub, notes. Still connected, and using notes: Windsurf. To remove the others: junction server remove hub", "")
		if strings.Contains(got.stdout, "remove hub notes") || strings.Contains(got.stdout, "secret") {
			t.Errorf("%s", got.stdout)
		}
		runs(t, "", append([]string{"remove", "notes"}, flags...)...).expect(t, cli.ExitOK, `Removed "notes"`, `junction: warning: Windsurf used "notes" through junction and no longer has it; junction host disconnect windsurf restores the host's own servers`+"\n")
		runs(t, "", "disconnect", "windsurf").expect(t, cli.ExitOK, "as it was", "")
		if got := runs(t, "", append([]string{"remove", "hub", "-y"}, flags...)...); got.stderr != "" {
			t.Errorf("nothing is connected: %s", got.stderr)
		}
	}
}

// Rules of junction chat do not apply to a connected host, and its user learns of that.
func TestRulesAndLogOfAConnectedHostAreShown(t *testing.T) {
	for _, test := range []struct {
		name     string
		settings string
		rules    string // content of policy.json; none if empty
		connect  string
		doctor   []string
		exit     int // of doctor
	}{
		{"rules of junction chat only", ``, `{}`,
			"Rules: none. Log: none.\nFor a log, and for rules in ~/junction/policy.json, add ",
			[]string{"  CAREFUL rules: none: those in ~/junction/policy.json are only of junction chat; to have them here, add \"junction\": {\"policy\": \"policy.json\"} next to \"mcpServers\" in ~/junction/mcp.json\n"}, cli.ExitOK},
		{"both", `{"policy": "policy.json", "audit": {}}`, `{}`,
			"Rules: ~/junction/policy.json. Log: ~/junction/audit.\n", []string{"  ok      rules: ~/junction/policy.json\n  ok      log: ~/junction/audit\n"}, cli.ExitOK},
		{"rules that are only tried", `{"policy": "policy.json", "shadow": true}`, `{}`,
			"Rules: ~/junction/policy.json (shadow: nothing is refused). Log: none.\nFor a log, add \"audit\": {} to \"junction\" in ~/junction/mcp.json\n", []string{"  CAREFUL rules: ~/junction/policy.json (shadow: nothing is refused)\n"}, cli.ExitOK},
		{"a log only", `{"audit": {"folder": "calls"}}`, ``,
			"Rules: none. Log: ~/junction/calls.\nFor rules in ~/junction/policy.json, add \"policy\": \"policy.json\" to \"junction\" in ~/junction/mcp.json\n", []string{"  ok      rules: none; to have those that you write into ", "  ok      log: ~/junction/calls\n"}, cli.ExitOK},
		{"rules that are missing", `{"policy": "policy.json"}`, ``,
			"Rules: ~/junction/policy.json. ", []string{"  BROKEN  rules: ", "fix: correct the file; until then the host has no servers\n"}, cli.ExitToolFailed},
		{"rules with a mistake", `{"policy": "policy.json"}`, `{"rules": [{"effect": "deny", "when": "1 +"}]}`,
			"Rules: ~/junction/policy.json. ", []string{"  BROKEN  rules: "}, cli.ExitToolFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, _ := tapHome(t)
			home := filepath.Dir(filepath.Dir(path))
			own := `{"mcpServers": {}`
			if test.settings != "" {
				own += `, "junction": ` + test.settings
			}
			writeTap(t, filepath.Join(home, "junction", "mcp.json"), own+"}")
			if test.rules != "" {
				writeTap(t, filepath.Join(home, "junction", "policy.json"), test.rules)
			}
			runs(t, "", "connect", "cursor", "--yes").expect(t, cli.ExitOK, test.connect, "")
			got := runs(t, "", "doctor")
			for _, want := range test.doctor {
				got.expect(t, test.exit, want, "")
			}
		})
	}
}

// What remove and disconnect leave on the disk is named.
func TestDisconnectAndRemoveNameRemainingFiles(t *testing.T) {
	path, _ := tapHome(t)
	home := filepath.Dir(filepath.Dir(path))
	runs(t, "", "connect", "cursor", "--yes").expect(t, cli.ExitOK, "Connected", "")
	own := filepath.Join(home, "junction", "mcp.json")
	writeTap(t, own, strings.Replace(readTap(t, own), `{`, `{"junction": {"servers": {"calc": {"tags": ["math"]}}},`, 1))
	writeTap(t, filepath.Join(home, "junction", "policy.json"), `{}`)
	runs(t, "", "disconnect", "cursor").expect(t, cli.ExitOK, "\nStill in ~/junction: ", "")
	got := runs(t, "", "remove", "calc")
	got.expect(t, cli.ExitOK, "Its settings stay in ~/junction/mcp.json: servers.calc of \"junction\"\nStill in ~/junction: ", "")
	if !strings.Contains(got.stdout, "mcp.json, policy.json, ") {
		t.Errorf("it says %s", got.stdout)
	}
}

// Broken settings do not undo a connection, but its user learns that the host cannot start junction.
func TestConnectWarnsOfBrokenSettings(t *testing.T) {
	path, _ := tapHome(t)
	writeTap(t, filepath.Join(filepath.Dir(filepath.Dir(path)), "junction", "mcp.json"), `{"mcpServers": {}, "junction": {"audit": true}}`)
	runs(t, "", "connect", "cursor", "--yes").expect(t, cli.ExitOK, "Connected", `junction: warning: Cursor cannot start junction: `)
	runs(t, "", "doctor").expect(t, cli.ExitToolFailed, "BROKEN  settings: ", "")
	runs(t, "", "disconnect", "cursor").expect(t, cli.ExitOK, "as it was", "")
	writeTap(t, filepath.Join(filepath.Dir(filepath.Dir(path)), "junction", "mcp.json"), `{"mcpServers": {}}`)
	runs(t, "", "connect", "cursor", "--yes", "--profile", "work").expect(t, cli.ExitOK, "Connected", `junction: warning: Cursor cannot start junction: --profile: there is no profile "work"`)
}

// The file of a connected host has no rules of its own: policy list names the one that has them.
func TestRulesOfAConnectedFileAreThoseOfJunctionsFile(t *testing.T) {
	path, _ := tapHome(t)
	runs(t, "", "connect", "cursor", "--yes").expect(t, cli.ExitOK, "Connected", "")
	own := filepath.Join(filepath.Dir(filepath.Dir(path)), "junction", "mcp.json")
	runs(t, "", "policy", "list", "--config", path).expect(t, cli.ExitOK, "ask ", "junction: these are the rules of junction chat, from ~/junction/policy.json. Those of Cursor: junction policy list --config "+own+"\n")
}
