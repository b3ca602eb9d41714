package config

import (
	"errors"
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
			t.Errorf("%s does not exist: %v", name, file.Problems)
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

// TestAnUnsetVariableOfAnAPIIsNamedWhereTheEntryHasIt checks that errors name members of the entry,
// not of the command line made from it.
func TestAnUnsetVariableOfAnAPIIsNamedWhereTheEntryHasIt(t *testing.T) {
	for entry, want := range map[string]string{
		`{"openapi": "pets.yaml", "headers": {"X-Key": "${PETS_KEY}"}}`:                             "headers.X-Key",
		`{"openapi": "${PETS_KEY}"}`:                                                                "openapi",
		`{"openapi": "pets.yaml", "url": "${PETS_KEY}"}`:                                            "url",
		`{"openapi": "pets.yaml", "url": "https://pets.example", "args": ["--tag", "${PETS_KEY}"]}`: "args[1]",
		`{"openapi": "pets.yaml", "headers": {"A": "b"}, "args": ["${PETS_KEY}"]}`:                  "args[0]",
		`{"openapi": "pets.yaml", "env": {"A": "${PETS_KEY}"}}`:                                     "env.A",
	} {
		file, err := Parse("/home/ada/mcp.json", []byte(`{"mcpServers":{"pets": `+entry+`}}`), Options{WorkDir: "/work", HomeDir: "/home/ada", Program: "/opt/junction",
			Getenv: func(string) (string, bool) { return "", false }})
		if err != nil {
			t.Fatal(err)
		}
		d, ok := file.Server("pets")
		if !ok {
			t.Fatal(file.Problems)
		}
		_, err = d.Resolve(t.Context())
		var p *Problem
		if !errors.As(err, &p) || p.Field != want || !errors.Is(err, ErrNotSet) {
			t.Errorf("%s: %v, want %s", entry, err, want)
		}
	}
}
