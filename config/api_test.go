package config

import (
	"slices"
	"strings"
	"testing"
)

func TestAnAPIIsServedByThisProgram(t *testing.T) {
	file, err := Parse("/home/ada/mcp.json", []byte(`{"mcpServers":{
		"pets": {"openapi": "pets.yaml", "url": "https://pets.example/v1", "headers": {"X-Key": "${KEY}"}, "args": ["--tag", "dogs"]},
		"far": {"openapi": "https://far.example/api.json"},
		"graph": {"graphql": "https://graph.example/graphql", "headers": {"Authorization": "Bearer ${KEY}"}},
		"weather": {"http": {"name": "forecast", /* of days */ "url": "/v1/{city}?days={days}", }, "url": "https://weather.example", "headers": {"X-Key": "${KEY}"}},
		"several": {"http": [{"name": "a", "url": "https://a.example/a"}, {"name": "b", "url": "https://a.example/b"}]},
		"none": {"http": []}, "text": {"http": "https://a.example"}, "nowhere": {"http": {"name": "x"}},
		"both": {"openapi": "a.yaml", "command": "x"},
		"typed": {"openapi": "a.yaml", "type": "http"},
		"twice": {"graphql": "https://a.example", "url": "https://b.example"},
		"two": {"graphql": "https://a.example", "openapi": "b.yaml"},
		"empty": {"openapi": ""}}}`), Options{WorkDir: "/work", HomeDir: "/home/ada", Program: "/opt/junction",
		Getenv: func(name string) (string, bool) { return "secret", name == "KEY" }})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ args, env string }{
		"pets":    {"serve openapi --from /home/ada/pets.yaml --base https://pets.example/v1 --auth-env header:X-Key=JUNCTION_HEADER_1 --tag dogs", "secret"},
		"far":     {"serve openapi --from https://far.example/api.json", ""},
		"graph":   {"serve graphql --url https://graph.example/graphql --auth-env header:Authorization=JUNCTION_HEADER_1", "Bearer secret"},
		"weather": {`serve http --tool {"name":"forecast","url":"/v1/{city}?days={days}"} --base https://weather.example --auth-env header:X-Key=JUNCTION_HEADER_1`, "secret"},
		"several": {`serve http --tool [{"name":"a","url":"https://a.example/a"},{"name":"b","url":"https://a.example/b"}]`, ""},
	} {
		d, ok := file.Server(name)
		if !ok {
			t.Errorf("%s is not there: %v", name, file.Problems)
			continue
		}
		s, err := d.Resolve(t.Context())
		if err != nil || s.Kind != Stdio || s.Command != "/opt/junction" || strings.Join(s.Args, " ") != want.args || s.Env["JUNCTION_HEADER_1"] != want.env {
			t.Errorf("%s: %+v, %v", name, s.Args, err)
		}
		if text := d.String(); strings.Contains(text, "secret") || !strings.Contains(text, "junction serve") {
			t.Errorf("%s is shown as %s", name, text)
		}
	}
	var faults []string
	for _, p := range file.Problems {
		faults = append(faults, p.Server)
	}
	if slices.Sort(faults); strings.Join(faults, " ") != "both empty none nowhere text twice two typed" {
		t.Errorf("faults are of %q: %v", faults, file.Problems)
	}
}
