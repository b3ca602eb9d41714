package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/seal"
)

func TestSettingsAreRead(t *testing.T) {
	s, err := Parse([]byte(`{"names":"none","conflicts":"error","tools":"search","pin":["files__*"],"policy":"p.json","audit":{},
		"limits":{"rate":"60/m","concurrent":4},
		"servers":{"files":{"prefix":"","isolation":"client","instances":3,"idle":"90s","only":["read_*"],"hide":["*secret*"],"maxResult":20000,
			"tools":{"read_file":{"name":"read","fixed":{"root":"/srv"},"defaults":{"n":9007199254740993}}}}},
		"profiles":{"work":{"servers":["files"],"only":["read*"],"tools":"all"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	files := s.Servers["files"]
	if *files.Prefix != "" || files.Idle != 90*time.Second || string(files.Tools["read_file"].Defaults["n"]) != "9007199254740993" || s.Profiles["work"].Tools != "all" || s.Audit == nil {
		t.Errorf("they are %+v", s)
	}
	if calls, in := s.Limits.Per(); calls != 60 || in != time.Minute {
		t.Errorf("the rate is %d in %v", calls, in)
	}
	if calls, in := files.Limits.Per(); calls != 0 || in != 0 {
		t.Errorf("no rate is %d in %v", calls, in)
	}
	if s, err := Parse([]byte(`{}`)); err != nil || s.Names != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestServersOverrideCommonSettings(t *testing.T) {
	s, err := Parse([]byte(`{"maxResult":5000,"servers":{"a":{"maxResult":100000},"b":{"tags":["x"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]int{"a": 100_000, "b": 5_000, "c": 5_000} {
		if got := s.Of(server).MaxResult; got != want {
			t.Errorf("%s: %d bytes, want %d", server, got, want)
		}
	}
}

func TestErrorsNameThePath(t *testing.T) {
	for text, want := range map[string]string{
		`{"nmes":"none"}`:                  "nmes",
		`{"names":"both"}`:                 "names",
		`{"pin":["[a"]}`:                   "pin[0]",
		`{"limits":{"rate":"fast"}}`:       `limits.rate: expected string that matches ^[1-9][0-9]{0,6}/(s|m|h)$, such as "60/m", got "fast"`,
		`{"limits":{"concurrent":0}}`:      "limits.concurrent",
		`{"servers":{"a":{"idle":"1m"}}}`:  "servers.a: instances and idle",
		`{"servers":{"a":{"only":["["]}}}`: "servers.a.only[0]",
		`{"servers":{"a":{"redact":{"results":["entities.*.observations"]}}}}`:              `servers.a.redact.results: "entities.*.observations" is not a path: one begins with "/", such as /user/email`,
		`{"servers":{"a":{"tools":{"x":{"redact":{"arguments":["/a", "b"]}}}}}}`:            `servers.a.tools.x.redact.arguments: "b" is not a path: one begins with "/"`,
		`{"audit":{"redact":["$.user"]}}`:                                                   `audit.redact: "$.user" is not a path: one begins with "/"`,
		`{"servers":{"a":{"tools":{"x":{"name":"n"},"y":{"name":"n"}}}}}`:                   `"x" and "y" have the same name "n"`,
		`{"servers":{"a":{"tools":{"x":{"name":"a b"}}}}}`:                                  "servers.a.tools.x.name",
		`{"profiles":{"a/b":{}}}`:                                                           "profiles.a/b",
		`{"audit":{"maxAge":"1s"}}`:                                                         "audit.maxAge: expected at least 1m0s, got 1s",
		`{"audit":{"keepFor":"-5h"}}`:                                                       "audit.keepFor: expected at least",
		`{"audit":{"keep":"much"}}`:                                                         "audit.keep",
		`{"stateKeys":["too short"]}`:                                                       "stateKeys[0]: expected at least 32 bytes, got 9",
		`{"stateKeys":["${file:a}","${file:a}"]}`:                                           "stateKeys[1]: it equals stateKeys[0]",
		`{"peers":["http://a"]}`:                                                            "peers: they go with stateKeys",
		`{"stateKeys":["${K}"],"peers":["http://a/mcp"]}`:                                   "peers[0]: expected an origin",
		`{"stateKeys":["${K}"],"peers":["dns+http://a"]}`:                                   "peers[0]: expected a name with a port",
		`{"stateKeys":["${K}"],"peers":["dns+http://10.0.0.2:7717"]}`:                       "peers[0]: expected a name with a port",
		`{"stateKeys":["${K}"],"peers":["dns+ftp://a:7717"]}`:                               "peers[0]: expected a name with a port",
		`{"state":{"url":"sqlite:a"}}`:                                                      "state.url: it needs stateKeys",
		`{"state":{"url":""},"stateKeys":["${K}"]}`:                                         "state.url: expected the URL of a store",
		`{"servers":{"a":{"owner":"one"}}}`:                                                 `servers.a.owner: "one" needs state.url`,
		`{"stateKeys":["${K}"],"state":{"url":"sqlite:a"},"servers":{"a":{"owner":"one"}}}`: "and peers, to which they pass requests on",
		`{"servers":{"a":{"owner":"two"}}}`:                                                 "servers.a.owner",
		`{"stateKeys":[""]}`:                                                                "stateKeys[0]: expected at least 32 bytes, got 0",
		`[]`:                                                                                "object",
		`{"audit":true}`:                                                                    `audit: expected an object, such as "audit": {} for the defaults, got true`,
		`{"servers":{"a":{"sandbox":"strict"}}}`:                                            `servers.a.sandbox: expected an object, such as "sandbox": {} for the defaults, got "strict"`,
		`{"state":true}`:                                                                    "state: expected object or null, got true",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", text, err, want)
		}
	}
}

func TestSizesAreRead(t *testing.T) {
	for text, want := range map[string]int64{"64MB": 64e6, "1GB": 1e9, "999999KB": 999_999e3, "": 0, "MB": 0, "0MB": 0, "-1MB": 0, "5": 0, "5TB": 0, "1000000GB": 0, "1.5GB": 0} {
		got, ok := Size(text)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("%q: got %d, %v", text, got, ok)
		}
	}
}

// TestStateKeysAreChecked has keys as texts and by reference, whose errors must not show them.
func TestStateKeysAreChecked(t *testing.T) {
	long := strings.Repeat("k", seal.KeySize)
	s, err := Parse([]byte(`{"stateKeys":["${secret:a}","${KEY}","` + long + `"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if names := s.SecretVariables(); len(names) != 1 || names[0] != "KEY" {
		t.Errorf("the variables with secrets are %q", names)
	}
	_, err = Parse([]byte(`{"stateKeys":["` + long + `","` + long + `"]}`))
	if err == nil || strings.Contains(err.Error(), long) {
		t.Errorf("two equal keys: %v", err)
	}
	var none Settings
	for _, tt := range []struct {
		now, next *Settings
		want      bool
	}{{&none, s, true}, {s, &none, true}, {s, &Settings{StateKeys: []string{"${secret:b}"}}, false}, {&none, &none, false}} {
		if got := len(tt.now.Waiting(tt.next, RestartGateway)) > 0; got != tt.want {
			t.Errorf("from %d to %d keys: waits for a restart: %v", len(tt.now.StateKeys), len(tt.next.StateKeys), got)
		}
	}
}

// Instances of users and clients run at one replica if replicas can agree on it, unless the settings
// want otherwise.
func TestInstancesHaveOneOwner(t *testing.T) {
	const both = `"stateKeys":["${K}"],"peers":["dns+https://a:7717"],"state":{"url":"sqlite:a"},`
	for text, want := range map[string]bool{
		`{` + both + `"servers":{"a":{}}}`:                                                       false,
		`{` + both + `"servers":{"b":{"isolation":"user"}}}`:                                     false,
		`{` + both + `"servers":{"a":{"isolation":"shared"}}}`:                                   false,
		`{` + both + `"servers":{"a":{"isolation":"user"}}}`:                                     true,
		`{` + both + `"servers":{"a":{"isolation":"client"}}}`:                                   true,
		`{` + both + `"servers":{"a":{"isolation":"user","owner":"each"}}}`:                      false,
		`{` + both + `"servers":{"a":{"owner":"one"}}}`:                                          true,
		`{"stateKeys":["${K}"],"state":{"url":"sqlite:a"},"servers":{"a":{"isolation":"user"}}}`: false,
		`{"servers":{"a":{"isolation":"user"}}}`:                                                 false,
	} {
		s, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.OwnedByOne("a"); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
