package registry

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAServerOfMid2025IsReadAsOneOfToday(t *testing.T) {
	const old = `{"id":"1","name":"io.github.x/y","description":"d","status":"active","repository":{"url":"https://github.com/x/y","source":"github","id":"7"},
		"version_detail":{"version":"0.2.1","release_date":"2025-05-01"},
		"packages":[{"registry_name":"NPM","name":"@x/y","version":"0.2.1","runtime_hint":"npx",
			"runtime_arguments":[{"type":"named","name":"--port","default":8080,"is_required":true,"format":"number"}],
			"package_arguments":[{"type":"positional","value_hint":"dir","is_repeated":true,"choices":[1,true,"a"]}],
			"environment_variables":[{"name":"KEY","is_secret":true,"variables":{"is_secret":{"description":"v","is_required":true}}}]}],
		"remotes":[{"transport_type":"streamable","url":"https://x.example/mcp","headers":[{"name":"X","value":false}]},{"transport_type":"sse","url":"https://x.example/sse"}]}`
	got, err := Parse([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	want := &Server{Name: "io.github.x/y", Description: "d", Version: "0.2.1", Raw: []byte(old),
		Repository: &Repository{URL: "https://github.com/x/y", Source: "github", ID: "7"},
		Packages: []Package{{RegistryType: "npm", Identifier: "@x/y", Version: "0.2.1", RuntimeHint: "npx", Transport: Remote{Type: "stdio"},
			RuntimeArguments: []Argument{{Type: "named", Name: "--port", Input: Input{Default: "8080", IsRequired: true, Format: "number"}}},
			PackageArguments: []Argument{{Type: "positional", ValueHint: "dir", IsRepeated: true, Input: Input{Choices: []string{"1", "true", "a"}}}},
			EnvironmentVariables: []Variable{{Name: "KEY", Input: Input{IsSecret: true, Variables: map[string]Input{
				"is_secret": {Description: "v", IsRequired: true}}}}}}},
		Remotes: []Remote{{Type: "streamable-http", URL: "https://x.example/mcp", Headers: []Variable{{Name: "X", Input: Input{Value: "false"}}}}, {Type: "sse", URL: "https://x.example/sse"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v\nwant\n%+v", got, want)
	}
}

func TestUselessQueriesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                        "server.json has no name",
		`[]`:                                        "server.json: ",
		`{"name":"a/b"}`:                            `server a/b: version "": expected up to 255 visible characters of ASCII`,
		`{"name":"a/b","version":1}`:                "server.json: ",
		`{"name":"a/b","version":"1 2"}`:            `server a/b: version "1 2"`,
		`{"name":"../../etc","version":"1"}`:        `server.json: name "../../etc": expected up to 200`,
		`{"name":"a/b/c","version":"1"}`:            `server.json: name "a/b/c"`,
		`{"name":"a/b\u001b[2J","version":"1"}`:     `server.json: name "a/b\\x1b[2J"`,
		`{"name":"а/b","version":"1"}`:              `server.json: name "а/b"`, // a Cyrillic letter
		`{"name":"a/b","name":"c/d","version":"1"}`: "server.json: ",
		`{"name":"a/b","version":"1","packages":[` + strings.TrimSuffix(strings.Repeat(`{"registryType":"npm","identifier":"x"},`, 101), ",") + `]}`: "server a/b 1 has 101 packages",
		`{"name":"a/b","version":"1","description":"` + strings.Repeat("x", maxServer) + `"}`:                                                        "server.json has 262189 bytes, expected at most 262144",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
}

func TestRegistryMetadataIsKept(t *testing.T) {
	published := time.Date(2025, 9, 1, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]Entry{
		`{"server":{"name":"a/b","version":"1"},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deprecated","statusMessage":"use c","publishedAt":"2025-09-01T10:00:00Z","updatedAt":"2025-09-02T10:00:00Z","isLatest":true},"com.example/rating":{"stars":5}}}`: {
			Status: Deprecated, StatusMessage: "use c", Published: published, Updated: published.AddDate(0, 0, 1), IsLatest: true,
			Meta: []byte(`{"io.modelcontextprotocol.registry/official":{"status":"deprecated","statusMessage":"use c","publishedAt":"2025-09-01T10:00:00Z","updatedAt":"2025-09-02T10:00:00Z","isLatest":true},"com.example/rating":{"stars":5}}`)},
		`{"server":{"name":"a/b","version":"1"}}`: {Status: Active},
		`{"name":"a/b","version":"1"}`:            {Status: Active},
		`{"server":{"name":"a/b","version":"1"},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"sleeping"}}}`:                            {Status: Active, Meta: []byte(`{"io.modelcontextprotocol.registry/official":{"status":"sleeping"}}`)},
		`{"server":{"name":"a/b","version":"1"},"x-io.modelcontextprotocol.registry":{"published_at":"2025-09-01T10:00:00Z","is_latest":true}}`:          {Status: Active, Published: published, Updated: published, IsLatest: true},
		`{"server":{"name":"a/b","version":"1","_meta":{"io.modelcontextprotocol.registry/official":{"id":"x","published_at":"2025-09-01T10:00:00Z"}}}}`: {Status: Active, Published: published, Updated: published},
	} {
		got, err := parseEntry([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got.Server.Name != "a/b" {
			t.Errorf("%s: of %s", text, got.Server.Name)
		}
		if got.Server = nil; !reflect.DeepEqual(*got, want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", text, *got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"name":"a/b","version_detail":{"version":"1"},"packages":[{"registry_name":"npm","name":"x"}]}`))
	f.Add([]byte(`{"name":"a/b","version":"1","remotes":[{"type":"sse","url":"https://x"}],"_meta":{"a":[1]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if e, err := parseEntry(text); err == nil {
			if e.Server.Name == "" || e.Server.Version == "" {
				t.Errorf("%q has no name or version", text)
			}
			if _, err := Parse(e.Server.Raw); err != nil {
				t.Errorf("%q is read once only: %v", text, err)
			}
		}
	})
}
