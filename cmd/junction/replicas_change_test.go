package main

import (
	"fmt"
	"strings"
	"testing"
)

// reconfigured writes a configuration, and waits until all replicas read it.
func (w *replicas) reconfigured(text string) {
	w.Helper()
	printed := make([]int, len(w.all))
	for i, one := range w.all {
		printed[i] = len(one.printed.String())
	}
	w.write("mcp.json", text)
	for i, one := range w.all {
		if !one.waitFor(func() bool { return strings.Contains(one.printed.String()[printed[i]:], "onfiguration reloaded") }) {
			w.Fatalf("%s is not read", text)
		}
	}
}

// TestReplicasServeModernClientsAfterAServerChanged changes the entry of a server at all replicas.
// The next round of a call may reach any of them, as before.
func TestReplicasServeModernClientsAfterAServerChanged(t *testing.T) {
	t.Parallel()
	w := startReplicas(t, `["${file:old}"]`)
	w.callOften(t, "2026-07-28", "ask", 3)
	w.reconfigured(fmt.Sprintf(`{"junction":{"names":"none","stateKeys":["${file:old}"]},"mcpServers":{"s":{"url":%q,"headers":{"X-Changed":"1"}}}}`, w.server))
	w.callOften(t, "2026-07-28", "ask", 3)
}
