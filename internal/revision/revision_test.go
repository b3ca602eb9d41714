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

func TestHandshakeFillsWhatIsMissing(t *testing.T) {
	got := revision.Handshake(revision.Lookup("2024-11-05"), json.RawMessage(`{"capabilities":null}`), nil)
	if want := `{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"unknown","version":"0"}}`; string(got) != want {
		t.Errorf("got %s", got)
	}
	got, meta := revision.Discovery(json.RawMessage(`{"capabilities":7,"serverInfo":"x"}`))
	if want := `{"supportedVersions":["2026-07-28"],"capabilities":{}}`; string(got) != want || meta != nil {
		t.Errorf("got %s %s", got, meta)
	}
}

func TestQuestionsAreWhatTheRevisionKnows(t *testing.T) {
	form, url := json.RawMessage(`{"mode":"form","message":"m"}`), json.RawMessage(`{"mode":"url","url":"u"}`)
	if got := revision.Lookup("2025-06-18").Question("elicitation/create", form); string(got) != `{"message":"m"}` {
		t.Errorf("no modes yet: %s", got)
	}
	got := revision.Lookup("2025-11-25").Question("elicitation/create", url)
	var with struct{ ElicitationID string }
	if err := json.Unmarshal(got, &with); err != nil || with.ElicitationID == "" {
		t.Errorf("an id for a page: %s, %v", got, err)
	}
	if got := revision.Lookup("2026-07-28").Question("elicitation/create", url); string(got) != string(url) {
		t.Errorf("modern: %s", got)
	}
	if got := revision.Lookup("2025-06-18").Question("roots/list", form); string(got) != string(form) {
		t.Errorf("another question: %s", got)
	}
}

func TestSplitReadsWhatStandsAroundAResult(t *testing.T) {
	for name, c := range map[string]struct {
		revision, result, body, kind, scope string
		ttl                                 int64
	}{
		"modern":             {"2026-07-28", `{"resultType":"complete","a":1,"ttlMs":5,"cacheScope":"public","_meta":{}}`, `{"a":1}`, "complete", "public", 5},
		"no type":            {"2026-07-28", `{"a":1}`, `{"a":1}`, "", "", 0},
		"a negative time":    {"2026-07-28", `{"ttlMs":-5}`, `{}`, "", "", 0},
		"a time that is odd": {"2026-07-28", `{"ttlMs":"5"}`, `{}`, "", "", 0},
		"an endless time":    {"2026-07-28", `{"ttlMs":1e300}`, `{}`, "", "", 1 << 50},
		"legacy":             {"2025-11-25", `{"ttlMs":5,"resultType":"x","_meta":{}}`, `{"ttlMs":5,"resultType":"x"}`, "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			members, fault := jsonrpc.Index([]byte(c.result), jsonrpc.Limits{})
			if fault != nil {
				t.Fatal(fault)
			}
			body, a := revision.Lookup(c.revision).Split(json.RawMessage(c.result), &members)
			if string(body) != c.body || a.Type != c.kind || a.Scope != c.scope || a.TTL != c.ttl {
				t.Errorf("got %s %+v", body, a)
			}
		})
	}
}
