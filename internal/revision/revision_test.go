package revision_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

func TestNegotiateNeverLeadsToTheModernEra(t *testing.T) {
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2024-10-07": "2025-11-25", "2031-01-01": "2025-11-25", "": "2025-11-25", "1.0": "2025-11-25",
	} {
		if got := revision.Negotiate(asked).Name; got != want {
			t.Errorf("asked for %q: got %s, want %s", asked, got, want)
		}
	}
}

func TestCommonModernIgnoresLegacyRevisions(t *testing.T) {
	if r := revision.CommonModern([]string{"2031-01-01", "2026-07-28", "2025-11-25"}); r == nil || r.Name != "2026-07-28" {
		t.Errorf("got %v", r)
	}
	if r := revision.CommonModern([]string{"2025-11-25", "2031-01-01"}); r != nil {
		t.Errorf("got %v, want none", r)
	}
}

func TestErrorsAreSpeltByRevision(t *testing.T) {
	missing := &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "m", Data: json.RawMessage(`{"uri":"x:"}`)}
	for name, c := range map[string]struct {
		revision, method string
		e                *jsonrpc.Error
		want             int
	}{
		"a missing resource, legacy":             {"2025-11-25", "resources/read", missing, -32002},
		"a missing resource, modern":             {"2026-07-28", "resources/read", missing, -32602},
		"an old code, modern":                    {"2026-07-28", "resources/read", &jsonrpc.Error{Code: -32002}, -32602},
		"other bad parameters of a read, legacy": {"2025-11-25", "resources/read", &jsonrpc.Error{Code: -32602}, -32602},
		"data with a uri, of another method":     {"2025-11-25", "tools/call", missing, -32602},
		"a missing capability, legacy":           {"2025-06-18", "tools/call", &jsonrpc.Error{Code: -32021}, -32603},
		"a missing capability, modern":           {"2026-07-28", "tools/call", &jsonrpc.Error{Code: -32021}, -32021},
		"a private code":                         {"2024-11-05", "tools/call", &jsonrpc.Error{Code: 7}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			if got := revision.Lookup(c.revision).Error(c.method, c.e); got.Code != c.want || got.Message != c.e.Message {
				t.Errorf("got %+v, want code %d", got, c.want)
			}
		})
	}
}

func TestAMissingResourceOfALegacyServerGetsItsURI(t *testing.T) {
	r := revision.Lookup("2025-06-18")
	got := r.ErrorFrom("resources/read", "x:\"", &jsonrpc.Error{Code: -32002, Message: "m"})
	if got.Code != jsonrpc.InvalidParams || string(got.Data) != `{"uri":"x:\""}` {
		t.Errorf("got %+v %s", got, got.Data)
	}
	got = r.ErrorFrom("resources/read", "x:", &jsonrpc.Error{Code: -32002, Data: json.RawMessage(`{"uri":"y:"}`)})
	if string(got.Data) != `{"uri":"y:"}` {
		t.Errorf("data %s", got.Data)
	}
	if got := r.ErrorFrom("tools/call", "x", &jsonrpc.Error{Code: -32002}); got.Code != -32002 {
		t.Errorf("another method: %+v", got)
	}
}

func TestRecognizedModernErrors(t *testing.T) {
	for code, want := range map[int]bool{-32020: true, -32021: true, -32022: true, -32601: false, -32602: false, -32023: false, -32002: false} {
		if got := revision.IsModern(&jsonrpc.Error{Code: code}); got != want {
			t.Errorf("%d: %v, want %v", code, got, want)
		}
	}
}

func TestOfferedReadsNamesOnly(t *testing.T) {
	for data, want := range map[string]string{
		`{"supported":["a","b"]}`: "a b", `{"supported":[1,"b",null]}`: "b", `{"supported":"a"}`: "", `[]`: "", ``: "",
	} {
		if got := strings.Join(revision.Offered(&jsonrpc.Error{Data: json.RawMessage(data)}), " "); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}

func TestHandshakeAndDiscoveryAreEachOthersReverse(t *testing.T) {
	discovered := json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"i"}`)
	meta := json.RawMessage(`{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}`)
	initialized := revision.Handshake(revision.Lookup("2025-06-18"), discovered, meta)
	if want := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"},"instructions":"i"}`; string(initialized) != want {
		t.Errorf("got %s", initialized)
	}
	back, backMeta := revision.Discovery(initialized)
	if string(back) != string(discovered) || string(backMeta) != string(meta) {
		t.Errorf("got %s %s", back, backMeta)
	}
}

func TestHandshakeFillsMissingMembers(t *testing.T) {
	got := revision.Handshake(revision.Lookup("2024-11-05"), json.RawMessage(`{"capabilities":null}`), nil)
	if want := `{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"unknown","version":"0"}}`; string(got) != want {
		t.Errorf("got %s", got)
	}
	got, meta := revision.Discovery(json.RawMessage(`{"capabilities":7,"serverInfo":"x"}`))
	if want := `{"supportedVersions":["2026-07-28"],"capabilities":{}}`; string(got) != want || meta != nil {
		t.Errorf("got %s %s", got, meta)
	}
}

func TestServerRequestsFitTheRevision(t *testing.T) {
	form, url := json.RawMessage(`{"mode":"form","message":"m"}`), json.RawMessage(`{"mode":"url","url":"u"}`)
	if got := revision.Lookup("2025-06-18").ServerRequestParams("elicitation/create", form); string(got) != `{"message":"m"}` {
		t.Errorf("no modes yet: %s", got)
	}
	got := revision.Lookup("2025-11-25").ServerRequestParams("elicitation/create", url)
	var with struct{ ElicitationID string }
	if err := json.Unmarshal(got, &with); err != nil || with.ElicitationID == "" {
		t.Errorf("an id for a page: %s, %v", got, err)
	}
	if got := revision.Lookup("2026-07-28").ServerRequestParams("elicitation/create", url); string(got) != string(url) {
		t.Errorf("modern: %s", got)
	}
	if got := revision.Lookup("2025-06-18").ServerRequestParams("roots/list", form); string(got) != string(form) {
		t.Errorf("another request: %s", got)
	}
}

func split(t *testing.T, name, method, result string) (string, revision.Envelope, error) {
	t.Helper()
	members, fault := jsonrpc.Index([]byte(result), jsonrpc.Limits{})
	if fault != nil {
		t.Fatal(fault)
	}
	body, a, err := revision.Lookup(name).Split(method, json.RawMessage(result), &members)
	return string(body), a, err
}

func TestSplitReadsEnvelopes(t *testing.T) {
	for name, c := range map[string]struct {
		revision, method, result, body string
		kind                           revision.ResultType
		scope                          revision.CacheScope
		ttl                            int64
	}{
		"modern":                     {"2026-07-28", "tools/list", `{"resultType":"complete","a":1,"ttlMs":5,"cacheScope":"public","_meta":{}}`, `{"a":1}`, "complete", "public", 5},
		"no type":                    {"2026-07-28", "tools/list", `{"a":1}`, `{"a":1}`, "", "", 0},
		"input":                      {"2026-07-28", "tools/call", `{"resultType":"input_required","requestState":"x"}`, `{"requestState":"x"}`, "input_required", "", 0},
		"a task":                     {"2026-07-28", "tools/call", `{"resultType":"task","taskId":"x","ttlMs":5,"_meta":{}}`, `{"taskId":"x","ttlMs":5}`, "task", "", 0},
		"what a task is doing":       {"2026-07-28", "tasks/get", `{"resultType":"complete","taskId":"x","ttlMs":null}`, `{"taskId":"x","ttlMs":null}`, "complete", "", 0},
		"an unknown scope":           {"2026-07-28", "tools/list", `{"cacheScope":"team","ttlMs":5}`, `{}`, "", "", 5},
		"a scope that is no string":  {"2026-07-28", "tools/list", `{"cacheScope":["public"]}`, `{}`, "", "", 0},
		"a negative time":            {"2026-07-28", "tools/list", `{"ttlMs":-5}`, `{}`, "", "", 0},
		"a time that is odd":         {"2026-07-28", "tools/list", `{"ttlMs":"5"}`, `{}`, "", "", 0},
		"an endless time":            {"2026-07-28", "tools/list", `{"ttlMs":1e300}`, `{}`, "", "", 1 << 50},
		"modern members of a legacy": {"2025-11-25", "tools/call", `{"ttlMs":5,"resultType":"x","a":1,"\u0063acheScope":"public","_meta":{}}`, `{"a":1}`, "", "", 0},
		"only modern members":        {"2025-11-25", "tools/call", `{"resultType":"input_required"}`, `{}`, "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			body, a, err := split(t, c.revision, c.method, c.result)
			if err != nil || body != c.body || a.Type != c.kind || a.Scope != c.scope || a.TTL != c.ttl {
				t.Errorf("got %s %+v, %v", body, a, err)
			}
		})
	}
}

func TestInvalidMetaIsDropped(t *testing.T) {
	for _, name := range []string{"2026-07-28", "2025-06-18"} {
		for _, meta := range []string{`5`, `null`, `[{}]`, `"x"`} {
			if body, a, err := split(t, name, "tools/call", `{"_meta":`+meta+`,"a":1}`); err != nil || body != `{"a":1}` || a.Meta != nil {
				t.Errorf("%s, %s: got %s %s, %v", name, meta, body, a.Meta, err)
			}
		}
	}
}

func TestSplitRefusesATypeThatTheMethodCannotHave(t *testing.T) {
	for _, c := range []struct{ method, result string }{
		{"tools/list", `{"resultType":"task","taskId":"x"}`},
		{"tasks/get", `{"resultType":"task","taskId":"x"}`},
		{"prompts/get", `{"resultType":"task","taskId":"x"}`},
		{"tools/call", `{"resultType":"tasks"}`},
		{"tools/call", `{"resultType":"x\"},\"id\":42,\"result\":{\"y\":\"z"}`},
		{"tools/call", `{"resultType":""}`},
		{"tools/call", `{"resultType":["complete"]}`},
		{"tools/call", `{"resultType":null}`},
		{"subscriptions/listen", `{"resultType":"input_required","requestState":"x"}`},
		{"tools/list", `{"resultType":"input_required","requestState":"x"}`},
	} {
		if body, a, err := split(t, "2026-07-28", c.method, c.result); err == nil {
			t.Errorf("%s: %s: got %s %+v", c.method, c.result, body, a)
		}
	}
}

// Otherwise a server asked through a bridge could end the response to its own request in the middle
// and begin another one's.
func TestNothingAroundAResultEscapesFromItsMember(t *testing.T) {
	forged := `x"},"id":42,"result":{"content":[],"y":"z`
	for _, a := range []revision.Envelope{
		{Scope: revision.CacheScope(forged)},
		{Type: revision.ResultType(forged)},
	} {
		out, err := revision.Latest().AppendResult(nil, "resources/read", a, revision.Body{JSON: []byte(`{"contents":[]}`)})
		if err != nil {
			t.Fatal(err)
		}
		members, fault := jsonrpc.Index(out, jsonrpc.Limits{})
		if fault != nil || members.Get("id") != nil || members.Get("contents") == nil {
			t.Errorf("got %s, %v", out, fault)
		}
	}
}

func TestAResultHasOneMemberOfEachName(t *testing.T) {
	for name, want := range map[string]string{
		"2026-07-28": `{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"private","_meta":{"a":1}}`,
		"2025-06-18": `{"tools":[],"_meta":{"a":1}}`,
	} {
		a := revision.Envelope{TTL: 5, Meta: json.RawMessage(`{"a":1}`)}
		for how, body := range map[string]revision.Body{
			"encoded": {JSON: []byte(`{"tools":[]}`)},
			"a value": {Append: func(dst []byte) ([]byte, error) { return append(dst, `{"tools":[]}`...), nil }},
		} {
			out, err := revision.Lookup(name).AppendResult([]byte("before "), "tools/list", a, body)
			if err != nil || string(out) != "before "+want {
				t.Errorf("%s, %s: got %s, %v", name, how, out, err)
			}
		}
	}
	out, err := revision.Latest().AppendResult(nil, "tools/call", revision.Envelope{}, revision.Body{JSON: []byte(`{}`)})
	if err != nil || string(out) != `{"resultType":"complete"}` {
		t.Errorf("an empty result: %s, %v", out, err)
	}
	if _, err := revision.Latest().AppendResult(nil, "tools/call", revision.Envelope{}, revision.Body{JSON: []byte(`null`)}); err == nil {
		t.Error("a result that is no object was written")
	}
}

func TestMembersUnknownToALegacyRevisionAreFound(t *testing.T) {
	for _, c := range []struct{ revision, method, body, want string }{
		{"2025-06-18", "tools/call", `{"content":[],"structuredContent" : [1]}`, `{"content":[]}`},
		{"2025-06-18", "tools/call", `{"content":[],"structured\u0043ontent":[1]}`, `{"content":[]}`},
		{"2025-06-18", "tools/call", `{"content":[],"structuredContent":{"structuredContent":1}}`, `{"content":[],"structuredContent":{"structuredContent":1}}`},
		{"2025-03-26", "tools/call", `{"content":[{"type":"resource\u005flink","uri":"a:\"b"}]}`, `{"content":[{"type":"text","text":"[resource a:\"b]"}]}`},
		{"2025-03-26", "prompts/get", `{"messages":[{"role":"user","content":{"type":"resource_link","uri":"a:"}}]}`, `{"messages":[{"role":"user","content":{"type":"text","text":"[resource a:]"}}]}`},
		{"2025-06-18", "tools/list", `{"tools":[{"name":"a","outputSchema":{"type":"array"}},{"name":"b","output\u0053chema":true},{"name":"c"}]}`, `{"tools":[{"name":"a"},{"name":"b"},{"name":"c"}]}`},
		{"2025-06-18", "tools/list", `{"tools":[{"name":"a","outputSchema":{"type":"object"}}], "a":1}`, `{"tools":[{"name":"a","outputSchema":{"type":"object"}}], "a":1}`},
	} {
		out, err := revision.Lookup(c.revision).AppendResult(nil, c.method, revision.Envelope{}, revision.Body{JSON: []byte(c.body)})
		if err != nil || string(out) != c.want {
			t.Errorf("%s %s: got %s, %v, want %s", c.revision, c.body, out, err, c.want)
		}
	}
}

func TestInstructionsThatAreNoTextAreDropped(t *testing.T) {
	discovered, _ := revision.Discovery(json.RawMessage(`{"capabilities":{},"instructions":{"a":1}}`))
	if want := `{"supportedVersions":["2026-07-28"],"capabilities":{}}`; string(discovered) != want {
		t.Errorf("got %s", discovered)
	}
	initialized := revision.Handshake(revision.LatestLegacy(), json.RawMessage(`{"instructions":[1]}`), nil)
	if jsonrpc.Get(initialized, "instructions") != nil {
		t.Errorf("got %s", initialized)
	}
}

func TestInputRequests(t *testing.T) {
	got, state, err := revision.ParseInputRequired(json.RawMessage(`{"inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m"}},"r":{"method":"roots/list"}},"requestState":"s"}`))
	if err != nil || len(got) != 2 || got["k"].Method != "elicitation/create" || string(got["k"].Params) != `{"message":"m"}` || got["r"].Params != nil || state == nil || *state != "s" {
		t.Errorf("got %+v, %v, %v", got, state, err)
	}
	for _, body := range []string{
		`{}`,
		`{"inputRequests":{}}`,
		`{"inputRequests":[]}`,
		`{"inputRequests":{"k":{"method":"elicitation/create","params":[1]}}}`,
		`{"inputRequests":{"k":{"method":"elicitation/create","params":"x"}}}`,
		`{"inputRequests":{"k":{"method":"elicitation/create","params":null}}}`,
		`{"inputRequests":{"k":{"method":"tools/call","params":{}}}}`,
		`{"inputRequests":{"k":{"method":7,"params":{}}}}`,
		`{"inputRequests":{"k":{"params":{}}}}`,
		`{"inputRequests":{"k":"elicitation/create"}}`,
		`{"requestState":7}`,
	} {
		if got, state, err := revision.ParseInputRequired(json.RawMessage(body)); err == nil {
			t.Errorf("%s: got %+v, %v", body, got, state)
		}
	}
}
