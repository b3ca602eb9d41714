package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/console/live"
	"github.com/junction-mcp/junction/traffic"
)

// Each text of page/payloads.json stands wherever a client, a server or rules can write into the stream of messages.
func TestNothingThatWasWrittenRunsInTheTraffic(t *testing.T) {
	t.Parallel()
	argv := nodeScript(t, "page", "page/traffic_hostile.mjs", "page/console.mjs", "page/payloads.json")
	browser := program(t, "chromium")
	data, err := os.ReadFile(filepath.Join("page", "payloads.json"))
	if err != nil {
		t.Fatal(err)
	}
	var payloads []string
	if err := json.Unmarshal(data, &payloads); err != nil || len(payloads) < 60 {
		t.Fatalf("%d payloads, %v", len(payloads), err)
	}
	ring, link := consoleWithRing(t)
	for n, payload := range payloads {
		attack(t, ring, uint64(n+1), payload)
	}
	stdout, stderr, err := tryRun(t, nodeEnv(t), append(argv, browser, link)...)
	if err != nil || !strings.HasSuffix(stdout, "end\n") || strings.Contains(stdout, "FAULT ") {
		t.Errorf("%v\n%.8000s%.4000s", err, stdout, stderr)
	}
	t.Logf("%s", stdout)
}

// attack adds the nine messages of a call in which every text is a payload.
func attack(t *testing.T, ring *live.Ring, call uint64, payload string) {
	t.Helper()
	quoted := json.RawMessage(encode(t, payload))
	message := func(name string, value any) json.RawMessage {
		return json.RawMessage(encode(t, object{"jsonrpc": "2.0", "id": payload, "method": payload, payload: payload, name: value}))
	}
	began := time.Unix(1_700_000_000, 0).Add(time.Duration(call) * time.Second)
	inner := object{payload: payload, "name": payload, "list": []any{payload, object{payload: object{payload: payload}}}}
	for n, e := range []traffic.Event{
		{Kind: traffic.Request, Hop: traffic.Client, ToServer: true, Message: message("params", inner)},
		{Kind: traffic.Note, Hop: traffic.Client, Note: "http", Message: json.RawMessage(encode(t, object{"method": payload, "url": payload, "requestHeaders": object{payload: []string{payload}}, "status": 200, "responseHeaders": object{payload: []string{payload}}}))},
		{Kind: traffic.Note, Hop: traffic.Client, Note: "policy", Message: json.RawMessage(encode(t, object{"server": payload, "effect": "deny", "said": payload, "rule": payload, "reason": payload, payload: payload}))},
		{Kind: traffic.Note, Hop: traffic.Client, Note: payload, Message: json.RawMessage(encode(t, inner))},
		{Kind: traffic.Note, Hop: traffic.Client, Note: "labels", Message: json.RawMessage(encode(t, object{"of": "result", "labels": payload, "sources": []any{payload, inner}, "more": payload}))},
		{Kind: traffic.Request, Hop: traffic.Server, Server: payload, ToServer: true, Message: message("params", object{"name": payload + "\n"})},
		{Kind: traffic.Failure, Hop: traffic.Server, Server: payload, Took: 4 * time.Millisecond, Fault: payload},
		{Kind: traffic.Error, Hop: traffic.Client, Took: 6 * time.Millisecond, Message: message("error", object{"code": 1, "message": payload, "data": inner})},
		{Kind: traffic.Notification, Hop: traffic.Client, Message: message("params", object{"level": payload, "logger": payload, "data": payload})},
	} {
		e.Time, e.ID, e.Call, e.Size = began.Add(time.Duration(n)*time.Millisecond), quoted, call, len(e.Message)
		e.Client, e.Method, e.Name, e.Revision, e.Transport = payload, payload, payload, payload, payload
		ring.Add(int(call), &e)
	}
}
