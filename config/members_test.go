//go:build unix

package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestMembersOfAnObjectOfAnEntryAreReportedByName(t *testing.T) {
	for entry, want := range map[string]string{
		`"oauth":{"ClientID":"c"}`:       `mcp.json: server "a": oauth.ClientID: is ignored; did you mean "clientId"?`,
		`"oauth":{"client_name":"c"}`:    `mcp.json: server "a": oauth.client_name: is ignored: Junction has no such member`,
		`"tls":{"CERT":"c"}`:             `mcp.json: server "a": tls.CERT: is ignored; did you mean "cert"?`,
		`"oauth":{"scopes":["a",1]}`:     `mcp.json: server "a": oauth.scopes[1]: expected a string, got a number`,
		`"oauth":{"grant":"password"}`:   `mcp.json: server "a": oauth: grant: expected client_credentials, jwt-bearer, enterprise or token-exchange, or none for a user who logs in, got "password"`,
		`"oauth":{"callbackPort":1e300}`: `mcp.json: server "a": oauth: callbackPort: expected a port, 1 to 65535`,
		`"oauth":{"callbackPort":80.5}`:  `mcp.json: server "a": oauth: callbackPort: expected a port, 1 to 65535`,
		`"oauth":{"clientId":"c","grant":"enterprise","identityProvider":"https://idp.example","identityClientId":"i","identityClientSecret":"s3cret"}`: `mcp.json: server "a": oauth: identityClientSecret: write ${NAME}, and keep the secret itself in the environment, because files are shared`,
		`"command":"x","command":{"path":"y"}`:          `mcp.json: server "a": command: defined twice, on lines 1 and 1`,
		`"command":{},"command":"y"`:                    `mcp.json: server "a": command: defined twice, on lines 1 and 1`,
		`"command":{"path":"y","path":"z"}`:             `mcp.json: server "a": command: defined twice, on lines 1 and 1`,
		`"args":["a"],"command":{"path":"y","args":[]}`: `mcp.json: server "a": args: defined twice, on lines 1 and 1`,
		`"openapi":"a.json","graphql":"https://b.eu"`:   `mcp.json: server "a": graphql: openapi already names an API; remove one`,
	} {
		f, err := Parse("mcp.json", []byte(`{"mcpServers":{"a":{"url":"https://a.example",`+entry+`}}}`), Options{WorkDir: "/srv", HomeDir: "/home/ada"})
		if err != nil {
			t.Fatal(err)
		}
		said := append(f.Problems, f.Warnings...)
		if len(said) != 1 || said[0].Error() != want {
			t.Errorf("%s: %v, want %s", entry, said, want)
		}
	}
}

// TestAFileOutsideOfAProjectIsNamedAsItIsWritten checks that the error has the path of the file,
// not the values of its variables.
func TestAFileOutsideOfAProjectIsNamedAsItIsWritten(t *testing.T) {
	f, err := Parse("/srv/app/.mcp.json", []byte(`{"mcpServers":{"a":{"url":"https://a.example","oauth":{"clientId":"c","grant":"jwt-bearer","assertion":"${TOKEN}"}}}}`),
		Options{WorkDir: "/srv/app", HomeDir: "/home/ada", Getenv: func(string) (string, bool) { return "/s3cret", true }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Servers[0].Resolve(t.Context())
	if err == nil || !strings.Contains(err.Error(), `oauth.assertion: file "${TOKEN}" is outside of the project's folder`) {
		t.Error(err)
	}
}

func TestADefinitionAsJSONHasNoSecret(t *testing.T) {
	f, err := Parse("/srv/mcp.json", []byte(`{"mcpServers":{"a":{"command":"x","args":["--token","s3cret"],"env":{"A":"s3cret"}}}}`), Options{WorkDir: "/srv", HomeDir: "/home/ada"})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{f.Servers[0], *f.Servers[0]} {
		if text, err := json.Marshal(v); err != nil || string(text) != `"a (stdio): x --token *** A=***"` {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// TestTheMembersOfAnEntryHaveNamesOfTheirOwn checks that names are unique, because only the first
// of two members would be read. It also checks that members that decide what is started have a
// place in the hash.
func TestTheMembersOfAnEntryHaveNamesOfTheirOwn(t *testing.T) {
	for object, fields := range tables() {
		names := map[string]bool{}
		for _, f := range fields {
			for _, name := range f.names {
				if names[name] {
					t.Errorf("%v has %q twice", object, name)
				}
				names[name] = true
			}
			if f.Type.Kind() == reflect.String && f.Tag.Get("enum") != "" && f.Tag.Get("expected") == "" {
				t.Errorf("%v: %s has an enum, and an error needs its words in the tag expected", object, f.name)
			}
			if (f.expand || f.shown >= 0) && f.place < 0 && f.name != "command" && f.name != "args" && f.name != "url" {
				t.Errorf("%v: %s is shown or expanded, and is not part of the hash", object, f.name)
			}
		}
	}
}

func TestAnAddressHasTheNamesThatHostsHaveForIt(t *testing.T) {
	for _, name := range []string{"url", "serverUrl", "httpUrl", "baseUrl"} {
		f, err := Parse("mcp.json", []byte(`{"mcp_servers":{"a":{"`+name+`":"https://a.example"}}}`), Options{WorkDir: "/srv", HomeDir: "/home/ada"})
		if err != nil || len(f.Servers) != 1 || len(f.Warnings) > 0 {
			t.Errorf("%s: %v, %v", name, err, f)
			continue
		}
		want := map[bool]Kind{true: HTTP, false: Auto}[name == "httpUrl"]
		if d := f.Servers[0]; d.URL != "https://a.example" || d.Kind != want {
			t.Errorf("%s: %s", name, d)
		}
	}
}
