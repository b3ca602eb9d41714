package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMetricsTellOfTheConfiguration breaks and mends the configuration of a running gateway with a session.
func TestMetricsTellOfTheConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := `{"junction":{"stateKeys":["0123456789abcdef0123456789abcdef"],"peers":["http://127.0.0.1:1"]},"mcpServers":{"everything":{"command":"junction","args":["serve","everything"]}}}`
	w.write("mcp.json", good)
	up := w.start("up", "--config", filepath.Join(w.dir, "mcp.json"), "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	at := strings.Fields(up.find(`Metrics are at http\S+`))[3]
	at = strings.TrimSuffix(at, ";")
	shows := func(want string) {
		t.Helper()
		if !up.waitFor(func() bool { return strings.Contains(w.get(at), want) }) {
			t.Errorf("%q is not in %s", want, w.get(at))
		}
	}
	for _, want := range []string{"junction_build_info{", "\njunction_config_reload_success 1\n", "\njunction_config_reload_timestamp_seconds ", "\njunction_peers 1\n", "\njunction_sessions 0\n", "\njunction_streams 0\n", "\njunction_parked_calls 0\n", "\njunction_tasks 0\n"} {
		shows(want)
	}
	before := timestampOf(w.get(at))
	w.write("mcp.json", "{")
	shows("\njunction_config_reload_success 0\n")
	if after := timestampOf(w.get(at)); after != before {
		t.Errorf("the time changed from %s to %s", before, after)
	}
	w.write("mcp.json", good)
	shows("\njunction_config_reload_success 1\n")
	if after := timestampOf(w.get(at)); after == before {
		t.Errorf("the time is still %s", after)
	}
}

func timestampOf(metrics string) string {
	_, rest, _ := strings.Cut(metrics, "\njunction_config_reload_timestamp_seconds ")
	at, _, _ := strings.Cut(rest, "\n")
	return at
}
