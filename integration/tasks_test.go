package integration

import (
	"slices"
	"strings"
	"testing"
)

// The server everything of npm runs a tool as a task of 2025-11-25, which asks its client while tasks/result is open.
// junction finishes it, in front of the server and through up, speaking both eras to that.
func TestATaskOfARealServerIsFinished(t *testing.T) {
	t.Parallel()
	binary, server := junction(t), everythingServer(t)
	env := isolated(t)
	address := freeAddress(t)
	serving(t, env, address, binary, "up", "--config", configOf(t, server), "--http", address)
	known(t, env, "real")
	up := "http://" + address + "/mcp"
	call := []string{"simulate-research-query", `{"topic":"python","ambiguous":true}`}
	through := []string{"real__simulate-research-query", call[1]}
	for name, argv := range map[string][]string{
		"directly":                         slices.Concat(call, []string{"--"}, server),
		"through up":                       slices.Concat([]string{up}, through),
		"through up, as a legacy client":   slices.Concat([]string{"--revision", legacyNewest, up}, through),
		"through up, as one without tasks": slices.Concat([]string{"--revision", legacyOlder, up}, through),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, err := tryRun(t, env, slices.Concat([]string{binary, "call", "--elicit", `{"interpretation":"snake"}`}, argv)...)
			if err != nil || !strings.Contains(stdout, "**Clarification**: snake") || !strings.Contains(stdout, "processed through 4 stages") {
				t.Errorf("%v: %s\n%s", err, stdout, stderr)
			}
			if asked := strings.Count(stderr, "could have multiple interpretations"); asked != 1 {
				t.Errorf("asked %d times: %s", asked, stderr)
			}
		})
	}
}
