package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// The commands that explain rules go by those that junction up has with the same configuration.
func TestPolicyCommandsGoByTheRulesOfUp(t *testing.T) {
	t.Parallel()
	denies := func(name string) string {
		return `{"rules": [{"name": "` + name + `", "effect": "deny", "server": "s"}]}`
	}
	withSettings := `{"mcpServers": {"s": {"command": "s"}}, "junction": {"policy": "rules/up.json", "profiles": {"team": {"policy": "team.json"}, "rest": {}}}}`
	for _, test := range []struct {
		name           string
		args           string
		code           int
		stdout, stderr string
	}{
		{"explain has the policy of the settings", "explain s t --offline --config on/mcp.json", cli.ExitOK, `DENY: t of s` + "\n" + `  decided by "up"`, "junction: these are the rules of junction up, set in on/mcp.json: on/rules/up.json\n"},
		{"settings may stand next to the configuration", "explain s t --offline --config near/mcp.json", cli.ExitOK, `decided by "near"`, "set in near/junction.json: near/up.json\n"},
		{"a profile has its own, and that of all", "explain s t --offline --config on/mcp.json --profile team --json", cli.ExitOK, `"files":["on/team.json","on/rules/up.json"]`, "in the profile team, set in on/mcp.json: on/team.json and on/rules/up.json\n"},
		{"one without a policy has that of all", "explain s t --offline --config on/mcp.json --profile rest", cli.ExitOK, `decided by "up"`, ""},
		{"a profile that there is not is an error", "explain s t --offline --config on/mcp.json --profile taem", cli.ExitUsage, "", `--profile: there is no profile "taem"; the configuration has rest, team`},
		{"--policy takes its place", "explain s t --offline --config on/mcp.json --policy none.json", cli.ExitOK, "ASK", ""},
		{"but not that of a profile's", "explain s t --offline --config on/mcp.json --policy none.json --profile team --json", cli.ExitOK, `"files":["on/team.json","none.json"]`, "on/team.json and none.json"},
		{"settings that name none leave one's own, which up does not have", "explain s t --offline --config plain.json", cli.ExitOK, `decided by "own"`, "/policy.json. With this configuration junction up has no rules; for these ones, add \"junction\": {\"policy\": \"PATH\"} next to \"mcpServers\" in plain.json\n"},
		{"nor does it without --config", "explain s t --offline", cli.ExitOK, `decided by "own"`, "Connected hosts and junction up have no rules; for these ones, add \"junction\": {\"policy\": \"policy.json\"} next to \"mcpServers\" in "},
		{"list says so, too", "list", cli.ExitOK, "deny", "junction: these are the rules of junction chat, from "},
		{"and where there are settings", "list --config bare.json", cli.ExitOK, "deny", "for these ones, add \"policy\": \"PATH\" to \"junction\" in bare.json\n"},
		{"list has them", "list --config on/mcp.json", cli.ExitOK, "on/rules/up.json:1", "these are the rules of junction up"},
		{"and those of a profile", "list --config on/mcp.json --profile team", cli.ExitOK, "on/team.json:1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFolder(t)
			config, err := clitest.PlaceOf(t).UserConfigDir()
			if err != nil {
				t.Fatal(err)
			}
			clitest.Write(t, map[string]string{
				filepath.Join(config, "junction", "policy.json"): denies("own"),
				"on/mcp.json": withSettings, "on/rules/up.json": denies("up"), "on/team.json": strings.ReplaceAll(denies("team"), `"s"`, `"t"`),
				"near/mcp.json": `{"mcpServers": {"s": {"command": "s"}}}`, "near/junction.json": `{"junction": {"policy": "up.json"}}`, "near/up.json": denies("near"),
				"plain.json": `{"mcpServers": {"s": {"command": "s"}}}`, "bare.json": `{"mcpServers": {}, "junction": {"audit": {}}}`, "none.json": `{}`,
			})
			own := strings.Trim(quoteJSON(filepath.Join(config, "junction", "policy.json")), `"`)
			runs(t, "", append([]string{"policy"}, strings.Split(test.args, " ")...)...).expect(t, test.code, test.stdout, strings.ReplaceAll(test.stderr, "PATH", own))
		})
	}
}

// Calls of an audit log are decided by the rules of the profile that they came to.
func TestCallsOfALogAreDecidedByTheRulesOfTheirProfile(t *testing.T) {
	inFolder(t)
	clitest.Write(t, map[string]string{
		"mcp.json":  `{"mcpServers": {"s": {"command": "s"}}, "junction": {"policy": "all.json", "profiles": {"team": {"policy": "team.json"}}}}`,
		"all.json":  `{"default": "allow"}`,
		"team.json": `{"rules": [{"effect": "deny", "server": "s"}]}`,
	})
	var records []*audit.Record
	for _, profile := range []string{"", "team", "gone"} {
		records = append(records, &audit.Record{Kind: audit.KindCall, Method: "tools/call", Name: "s__t", Server: "s", Tool: "t", Hash: "abc", Profile: profile, Arguments: audit.Redacted([]byte(`{}`))})
	}
	writeLog(t, records...)
	runs(t, "", "policy", "test", "log", "--config", "mcp.json").expect(t, cli.ExitOK, "2 allowed, 0 asked about, 1 denied", "set in mcp.json: all.json")
}
