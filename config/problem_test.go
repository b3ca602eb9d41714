//go:build unix

package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestProblemsOfAnEntryAreReportedVerbatim(t *testing.T) {
	for _, c := range []struct{ about, entry, want string }{
		{"not an object", `"npx"`, `expected an object, got a string`},
		{"neither command nor url", `{}`, `expected "command", a program to start, or "url", an address to call`},
		{"both", `{"command":"x","url":"https://a.example"}`, `has both "command" and "url"; remove one, or choose one with "type"`},
		{"stdio without command", `{"type":"stdio","url":"https://a.example"}`, `type: stdio needs "command", a program to start`},
		{"http without url", `{"type":"http","command":"x"}`, `type: http needs "url", an address to call`},
		{"unknown type", `{"type":"websocket","url":"wss://a"}`, `type: expected stdio, http or sse (also local, remote or streamable-http), got "websocket"`},
		{"type is no string", `{"type":1,"command":"x"}`, `type: expected a string, got a number`},
		{"command is no string", `{"command":["npx","-y","foo"]}`, `command: expected a string, got an array`},
		{"command is empty", `{"command":" "}`, `command: is empty`},
		{"command line", `{"command":"npx -y foo --token s3cret"}`, `command: is a whole command line, and no shell splits it; write "command": "npx", and the other words in "args"`},
		{"args are a string", `{"command":"x","args":"-y"}`, `args: expected an array of strings, got a string`},
		{"an arg is a number", `{"command":"x","args":["--port",8080]}`, `args[1]: expected a string, got a number`},
		{"env is an array", `{"command":"x","env":["A=b"]}`, `env: expected an object of strings, got an array`},
		{"an env value is a boolean", `{"command":"x","env":{"DEBUG":true}}`, `env.DEBUG: expected a string, got a boolean`},
		{"an env value is null", `{"command":"x","env":{"DEBUG":null}}`, `env.DEBUG: expected a string, got null`},
		{"an env name has =", `{"command":"x","env":{"A=B":"c"}}`, `env."A=B": is not a name that an environment variable can have`},
		{"an env name comes twice", "{\"command\":\"x\",\"env\":{\"A\":\"b\",\n\"A\":\"c\"}}", `env: A is defined twice, on lines 1 and 2`},
		{"a header name has a space", `{"url":"https://a.example","headers":{"X Y":"z"}}`, `headers."X Y": is not a name that a header can have`},
		{"a member comes twice", "{\"command\":\"x\",\n\"command\":\"y\"}", `command: defined twice, on lines 1 and 2`},
		{"two addresses", `{"url":"https://a.example","serverUrl":"https://b.example"}`, `serverUrl: url already gives the address; remove one`},
		{"an address without a host", `{"url":"https://"}`, `url: expected an address that begins with https:// or http:// and names a host`},
		{"a socket", `{"serverUrl":"unix:///tmp/s3cret"}`, `serverUrl: expected an address that begins with https:// or http:// and names a host`},
		{"disabled is a string", `{"command":"x","disabled":"yes"}`, `disabled: expected true or false, got a string`},
		{"start is no word of ours", `{"command":"x","start":"now"}`, `start: expected "lazy", to start the server when it is first used, or "eager", to start it at once, got "now"`},
		{"start is a boolean", `{"command":"x","start":true}`, `start: expected a string, got a boolean`},
		{"revision is unknown", `{"command":"x","revision":"1.0"}`, `revision: expected one of 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, got "1.0"`},
		{"revision is no string", `{"command":"x","revision":20251125}`, `revision: expected a string, got a number`},
		{"startTimeout is negative", `{"command":"x","startTimeout":-1}`, `startTimeout: expected more than 0 and at most 24h0m0s`},
		{"timeout is negative", `{"command":"x","timeout":-1}`, `timeout: expected more than 0 and at most 24h0m0s`},
		{"timeout is huge", `{"command":"x","timeout":1e300}`, `timeout: expected more than 0 and at most 24h0m0s`},
		{"timeout has no unit", `{"command":"x","timeout":"30"}`, `timeout: expected a duration such as "30s", got "30"`},
		{"timeout is an object", `{"command":"x","timeout":{}}`, `timeout: expected a number or a duration such as "30s", got an object`},
	} {
		t.Run(c.about, func(t *testing.T) {
			f := parse(t, "servers.json", `{"mcpServers":{"good":{"command":"x"},"bad":`+c.entry+`,"better":{"command":"y"}}}`, Options{})
			same(t, "servers", names(f), []string{"good", "better"})
			same(t, "problems", texts(f.Problems), []string{`servers.json: server "bad": ` + c.want})
		})
	}
}

func TestAllFaultsOfAnEntryAreReportedAtOnce(t *testing.T) {
	f := parse(t, "servers.json", `{"mcpServers":{"bad":{
		"command": 1,
		"args": [true, "x", null],
		"env": {"A": []}
	}}}`, Options{})
	same(t, "problems", texts(f.Problems), []string{
		`servers.json: server "bad": command: expected a string, got a number`,
		`servers.json: server "bad": args[0]: expected a string, got a boolean`,
		`servers.json: server "bad": args[2]: expected a string, got null`,
		`servers.json: server "bad": env.A: expected a string, got an array`,
	})
	same(t, "line", f.Problems[1].Line, 3)
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct{ about, data, want string }{
		{"empty", ``, `servers.json: the file is empty; expected {"mcpServers": {NAME: {…}}}`},
		{"blank", " \n", `servers.json: the file is empty; expected {"mcpServers": {NAME: {…}}}`},
		{"cut off", `{"mcpServers":`, `servers.json: not JSON: line 1, column 15: parsing value: unexpected EOF`},
		{"a missing comma", "{\"a\":1\n\"b\":2}", `servers.json: not JSON: line 2, column 1: invalid character '"' after object value (expecting ',' or '}')`},
		{"a bad escape in a secret", `{"a":"s3cret\q"}`, `servers.json: not JSON: line 1, column 6: invalid string, number or word`},
		{"a word", `{"a":s3cret}`, `servers.json: not JSON: line 1, column 6: invalid string, number or word`},
		{"an array", `[]`, `servers.json: expected an object, got an array`},
		{"not UTF-8", "{\"a\":\"\xff\"}", `servers.json: the file is not UTF-8; save it in that encoding`},
		{"a root member twice", "{\"mcpServers\":{},\n\"mcpServers\":{}}", `servers.json: member "mcpServers" is defined twice, on lines 1 and 2`},
		{"deep", strings.Repeat("[", 1<<20), `servers.json: line 1: nested deeper than 100 levels`},
		{"deep in comments and strings", `{"a":"[[", /* [[ */ // [[` + "\n" + `"b":` + strings.Repeat(`{"c":`, 100), `servers.json: line 2: nested deeper than 100 levels`},
		{"many values", `{"a":[` + strings.Repeat("1,", 250_001), `servers.json: line 1: more than 250000 values`},
		{"large", strings.Repeat(" ", 4<<20+1), `servers.json: the file is larger than 4 MiB`},
	} {
		t.Run(c.about, func(t *testing.T) {
			_, err := Parse("servers.json", []byte(c.data), Options{})
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
			var p *Problem
			same(t, "is a Problem", errors.As(err, &p), true)
		})
	}
}

func TestDuplicateServersAreAnErrorThatNamesBoth(t *testing.T) {
	f := parse(t, "servers.json", `{
		"mcpServers": {
			"a": {"command": "x"},
			"b": {"command": "x"},
			"a": {"command": "y"},
			"a": {"command": "z"}
		},
		"servers": {"b": {"command": "y"}, "c": {"command": "z"}}
	}`, Options{})
	same(t, "servers", names(f), []string{"c"})
	same(t, "problems", texts(f.Problems), []string{
		`servers.json: server "a": is defined twice, on lines 3 and 5, so neither is used; rename or remove one`,
		`servers.json: server "b": is defined twice, on lines 4 and 8, so neither is used; rename or remove one`,
	})
	same(t, "is ErrDuplicate", errors.Is(f.Problems[0], ErrDuplicate), true)
	f = parse(t, "servers.json", `{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}`, Options{})
	same(t, "problems", texts(f.Problems), []string{`servers.json: server "a": is defined twice, both times on line 1, so neither is used; rename or remove one`})
}

func TestNamesAreChecked(t *testing.T) {
	long := strings.Repeat("é", 65)
	f := parse(t, "servers.json", `{"mcpServers":{"":{"command":"x"},"a\nb":{"command":"x"},"pay\u202epal":{"command":"x"},"`+long+`":{"command":"x"},"my server":{"command":"x"}}}`, Options{})
	same(t, "servers", names(f), []string{"my server"})
	same(t, "problems", texts(f.Problems), []string{
		`servers.json: server "": the name is empty`,
		`servers.json: server "a\nb": the name has invisible characters`,
		`servers.json: server "pay\u202epal": the name has invisible characters`,
		`servers.json: server "` + strings.Repeat("é", 32) + `…": the name is longer than 128 bytes`,
	})
}

func TestServersAndProblemsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 1_003 {
		fmt.Fprintf(&b, `"s%d":{"command":"x"},`, i)
	}
	f := parse(t, "servers.json", `{"mcpServers":{`+b.String()+`}}`, Options{})
	same(t, "servers", len(f.Servers), 1_000)
	same(t, "problems", texts(f.Problems), []string{`servers.json: mcpServers: more than 1000 servers; the last 3 are left out`})
	same(t, "is ErrLimit", errors.Is(f.Problems[0], ErrLimit), true)

	f = parse(t, "servers.json", `{"mcpServers":{"a":{"command":"x","args":[`+strings.Repeat("1,", 500)+`]}}}`, Options{})
	same(t, "problems", len(f.Problems), 101)
	same(t, "last", f.Problems[100].Error(), "servers.json: more of these; only the first are reported")
}

func TestWarningsNameIgnoredMembers(t *testing.T) {
	f := parse(t, "servers.json", `{"mcpServers":{"a":{"command":"x","Args":[],"autoApprove":[],"x y":1}}}`, Options{})
	same(t, "warnings", texts(f.Warnings), []string{
		`servers.json: server "a": Args: is ignored; did you mean "args"?`,
		`servers.json: server "a": autoApprove: is ignored: Junction has no such member`,
		`servers.json: server "a": "x y": is ignored: Junction has no such member`,
	})
	f = parse(t, "servers.json", `{"theme":"dark"}`, Options{})
	same(t, "no servers", texts(f.Warnings), []string{`servers.json: no servers; expected them in "mcpServers" or "servers"`})
}

func TestMembersOfAnotherKindOfServerAreWarnedOf(t *testing.T) {
	const program, address = `has no effect for a server with "command"; remove it`, `has no effect for a server with "url"; remove it`
	for entry, want := range map[string][]string{
		`"command":"x","args":["a"],"env":{"A":"b"},"cwd":"c","envFile":"d"`:                            nil,
		`"url":"https://a.example","headers":{"A":"b"},"oauth":{"clientId":"c"},"tls":{}`:               nil,
		`"url":"https://a.example","args":[],"env":{}`:                                                  nil,
		`"command":"x","headers":{}`:                                                                    nil,
		`"command":"x","headers":{"A":"b"},"oauth":{}`:                                                  {"headers: " + program, "oauth: " + program},
		`"command":"x","type":"stdio","serverUrl":"https://a.example"`:                                  {"serverUrl: " + program},
		`"url":"https://a.example","args":["a"],"env":{"A":"b"},"cwd":"c","envFile":"d"`:                {"args: " + address, "env: " + address, "cwd: " + address, "envFile: " + address},
		`"type":"http","command":"x","url":"https://a.example"`:                                         {"command: " + address},
		`"httpUrl":"https://a.example","env":{"A":"b"}`:                                                 {`env: has no effect for a server with "httpUrl"; remove it`},
		`"openapi":"a.json","url":"https://a.example","headers":{"A":"b"},"args":["x"],"env":{"A":"b"}`: nil,
		`"graphql":"https://a.example","oauth":{"clientId":"c"}`:                                        {`oauth: has no effect for a server with "graphql"; remove it`},
	} {
		f := parse(t, "servers.json", `{"mcpServers":{"a":{`+entry+`}}}`, Options{})
		for i, one := range want {
			want[i] = `servers.json: server "a": ` + one
		}
		same(t, entry+": problems", texts(f.Problems), nil)
		same(t, entry, texts(f.Warnings), want)
		for _, w := range f.Warnings {
			same(t, entry+": cause", errors.Is(w, ErrNoEffect), true)
		}
	}
}

func TestInputsAreChecked(t *testing.T) {
	f := parse(t, "/srv/.vscode/mcp.json", `{"servers":{},"inputs":[
		7,
		{"type":"promptString"},
		{"id":"a","type":"slider"},
		{"id":"b","type":"promptString","password":"yes"},
		{"id":"c","type":"pickString","options":[{"label":"Europe","value":"eu"}]},
		{"id":"c","type":"promptString"},
		{"id":"d","type":"pickString","options":[3]}
	]}`, Options{})
	same(t, "problems", texts(f.Problems), []string{
		`/srv/.vscode/mcp.json: inputs[0]: expected an object, got a number`,
		`/srv/.vscode/mcp.json: inputs[1]: id is missing`,
		`/srv/.vscode/mcp.json: inputs[2]: type: expected promptString, pickString or command, got "slider"`,
		`/srv/.vscode/mcp.json: inputs[3]: password: expected true or false, got a string`,
		`/srv/.vscode/mcp.json: inputs[5]: id "c" is defined twice; rename one`,
		`/srv/.vscode/mcp.json: inputs[6]: options: expected strings, or objects with label and value, got a number`,
	})
	same(t, "inputs", f.Inputs, []Input{{ID: "c", Type: "pickString", Options: []Option{{"Europe", "eu"}}, Source: f.Path}})
}

func TestAnUnsetVariableIsAnErrorOfItsServerOnly(t *testing.T) {
	const data = `{"mcpServers":{
		"github":{"command":"x","env":{"GITHUB_TOKEN":"${GITHUB_TOKEN}"}},
		"time":{"command":"y"}
	}}`
	f := parse(t, "servers.json", data, Options{})
	same(t, "problems before use", texts(f.Problems), nil)
	err := unresolved(t, f, "github")
	same(t, "error", err.Error(), `servers.json: server "github": env.GITHUB_TOKEN: variable GITHUB_TOKEN is not set; export it, or give a default with ${GITHUB_TOKEN:-…}`)
	same(t, "is ErrNotSet", errors.Is(err, ErrNotSet), true)
	var p *Problem
	if !errors.As(err, &p) || p.Server != "github" || p.Field != "env.GITHUB_TOKEN" || p.Line != 2 {
		t.Errorf("problem %+v", p)
	}
	same(t, "the other server", resolve(t, f, "time").Command, "y")

	f = parse(t, "/srv/.cursor/mcp.json", `{"mcpServers":{"a":{"command":"x","args":["${env:TOKEN}"]}}}`, Options{})
	same(t, "without defaults", unresolved(t, f, "a").Error(), `/srv/.cursor/mcp.json: server "a": args[0]: variable TOKEN is not set; export it`)
}

func TestResolvedValuesAreCheckedWithoutBeingShown(t *testing.T) {
	o := Options{Getenv: variables(map[string]string{
		"LINES": "s3cret\r\nX-Admin: 1", "ZERO": "s3\x00cret", "BAD": "://s3cret", "EMPTY": "", "COMMAND": "npx s3cret",
		"LONG": strings.Repeat("s3cret", 100_000),
	})}
	for entry, want := range map[string]string{
		`{"url":"https://a.example","headers":{"X":"${LINES}"}}`: `headers.X: holds a line break or another control character, which a header cannot carry`,
		`{"url":"${BAD}"}`:                          `url: expected an address that begins with https:// or http:// and names a host`,
		`{"serverUrl":"${BAD}"}`:                    `serverUrl: expected an address that begins with https:// or http:// and names a host`,
		`{"command":"x","args":["${ZERO}"]}`:        `args[0]: holds a zero byte`,
		`{"command":"x","env":{"A":"${ZERO}"}}`:     `env.A: holds a zero byte`,
		`{"command":"x","cwd":"${ZERO}"}`:           `cwd: holds a zero byte`,
		`{"command":"${EMPTY}"}`:                    `command: is empty`,
		`{"command":"x","args":["${LONG}${LONG}"]}`: `args[0]: is longer than 1 MiB with its variables replaced`,
	} {
		f := parse(t, "servers.json", `{"mcpServers":{"a":`+entry+`}}`, o)
		same(t, entry, unresolved(t, f, "a").Error(), `servers.json: server "a": `+want)
	}
	f := parse(t, "servers.json", `{"mcpServers":{"a":{"command":"${COMMAND}"}}}`, o)
	if err := unresolved(t, f, "a"); strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

func TestHostileFilesTakeLinearTime(t *testing.T) {
	const size = 1 << 20
	for _, data := range []string{
		`{"mcpServers":{"a":{"command":"` + strings.Repeat("${", size/2) + `}"}}}`,
		`{"mcpServers":{"a":{"command":"` + strings.Repeat("${A:-", size/5) + `}"}}}`,
		`{"mcpServers":{` + strings.Repeat(`"a":{},`, 80_000) + strings.Repeat("\n", size) + `}}`,
		`{"mcpServers":{"a":{"command":"x","args":[` + strings.Repeat(`"${A}${A}",`, 50_000) + `]}}}`,
		`{"mcpServers":{"a":{"command":"x","env":{` + strings.Repeat(`"A":"b",`, 50_000) + `}}}}`,
	} {
		f := parse(t, "servers.json", data, Options{Getenv: variables(map[string]string{"A": strings.Repeat("x", 100)})})
		for _, d := range f.Servers {
			_ = d.String()
			if _, err := d.Resolve(t.Context()); err != nil && len(err.Error()) > 500 {
				t.Errorf("%.600s", err)
			}
		}
	}
}

func TestAllValuesOfAServerHaveOneLimit(t *testing.T) {
	f := parse(t, "servers.json", `{"mcpServers":{"a":{"command":"x","args":["${A}","${A}","${A}","${A}","${A}"]}}}`,
		Options{Getenv: variables(map[string]string{"A": strings.Repeat("x", 1<<20)})})
	same(t, "error", unresolved(t, f, "a").Error(), `servers.json: server "a": args[3]: the values of the server are longer than 4 MiB with their variables replaced`)
}

func TestVariablesAreFoundInAnyText(t *testing.T) {
	long := strings.Repeat("N", 257)
	o := Options{Getenv: variables(map[string]string{"A": "<${A}>", long: "long"})}
	for raw, want := range map[string]string{
		"": "", "$A $ {A} ${": "$A $ {A} ${", "${A": "${A", "a${A}b${A}c": "a<${A}>b<${A}>c", "${}": "${}", "${ A }": "${ A }",
		"${${A}": "${<${A}>", "}${A}": "}<${A}>", "${x y}${A}": "${x y}<${A}>", "${X:-}": "", "${X:-a:-b}": "a:-b", "${X:-${A}}": "${A}",
		"${" + long + "}": "${" + long + "}", "${" + long[:256] + ":-d}": "d", "${1A}": "${1A}", "${env:A}": "<${A}>", "${env:}": "${env:}", "$${A}": "$<${A}>",
	} {
		f := parse(t, "servers.json", `{"mcpServers":{"a":{"command":"x","args":["`+raw+`"]}}}`, o)
		same(t, raw, resolve(t, f, "a").Args[0], want)
	}
}

func TestWhenAndHowLongAServerStarts(t *testing.T) {
	f := parse(t, "servers.json", `{"mcpServers":{
		"a":{"command":"x","start":"eager","startTimeout":"5m"},
		"b":{"command":"x","start":"lazy","startTimeout":90,"revision":"2025-11-25"},
		"c":{"command":"x"}}}`, Options{})
	for i, want := range []Entry{{Eager: true, StartTimeout: 5 * time.Minute}, {StartTimeout: 90 * time.Second, Revision: "2025-11-25"}, {}} {
		if got := f.Servers[i]; got.Eager != want.Eager || got.StartTimeout != want.StartTimeout || got.Revision != want.Revision {
			t.Errorf("%s: %v, %v, %s", got.Name, got.Eager, got.StartTimeout, got.Revision)
		}
	}
	if len(f.Warnings) > 0 {
		t.Errorf("warnings: %v", f.Warnings)
	}
}
