package integration

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A server that refuses a call until its user has visited a page says so by an error,
// -32042. Through Junction it becomes an elicitation, and the call is sent again when
// the user has accepted.
func TestPagesThatACallRequires(t *testing.T) {
	t.Parallel()
	server := everythingServer(t)
	able := answers{Elicit: elicit{Action: "accept"}, Declare: []string{"elicitation", "url"}}
	visit := func(prefix, page string) step {
		return calling(prefix+"trigger-url-elicitation", map[string]any{"url": page, "message": "See " + page, "errorPath": true})
	}
	t.Run("directly it is an error", func(t *testing.T) {
		lines := clientNamed(t, "ts-v1").run(t, append([]string{"--stdio"}, server...), legacyNewest, []step{visit("", "https://example.com/direct")}, able)
		if l := lines[1]; l.OK || l.Error.Code != -32042 {
			t.Errorf("got %+v", l)
		}
	})
	type to struct {
		target []string
		prefix string
	}
	targets := map[string]to{}
	for way, w := range ways(t, server) {
		targets[way] = to{w.target, w.prefix}
	}
	for _, command := range []string{"up", "proxy"} {
		address, prefix := shared(t, command, server)
		targets[command+" --http"] = to{[]string{"--http", "http://" + address + "/mcp"}, prefix}
	}
	for _, way := range slices.Sorted(maps.Keys(targets)) {
		for _, c := range []loneClient{{clientNamed(t, "ts-v1"), legacyNewest}, {clientNamed(t, "python"), legacyNewest}, {clientNamed(t, "python"), modern}, {clientNamed(t, "ts-v2"), modern}} {
			t.Run(way+", "+c.name(), func(t *testing.T) {
				t.Parallel()
				to := targets[way]
				page := "https://example.com/" + strings.NewReplacer(" ", "-", "-", "").Replace(c.name())
				env := isolated(t)
				listed := step{"op": "list", "until": to.prefix + "trigger-url-elicitation"}
				for _, action := range []string{"accept", "decline"} {
					say := able
					say.Elicit.Action = action
					lines := c.use(t, env, to.target, []step{listed, visit(to.prefix, page+action)}, say)
					verifyVisit(t, lines[1], page+action, action)
				}
			})
		}
	}
}

// verifyVisit verifies that the user was asked for the page that the error named, and
// then, by the call that was sent again, for the other.
func verifyVisit(t *testing.T, l line, page, action string) {
	t.Helper()
	asked := 0
	for _, e := range l.Events {
		var params struct{ Mode string }
		if err := json.Unmarshal(e.Params, &params); e.Method == "elicitation/create" && err == nil && params.Mode == "url" {
			asked++
		}
	}
	switch action {
	case "accept":
		if !l.OK || l.IsError || !strings.Contains(l.Text, "completed the URL elicitation") || !strings.Contains(l.Text, page) || asked != 2 {
			t.Errorf("accepted: said %q (%s), asked %d times, want 2", l.Text, outcomeOf(l), asked)
		}
	default:
		if l.OK && !l.IsError || asked != 1 {
			t.Errorf("declined: said %q (%s), asked %d times, want 1", l.Text, outcomeOf(l), asked)
		}
	}
}
