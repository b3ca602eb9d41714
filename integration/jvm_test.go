package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// jvm is the command line of a class of a module of integration/jvm, as setup.sh built it.
func jvm(module, class string) func(t testing.TB) []string {
	return func(t testing.TB) []string {
		t.Helper()
		if _, err := os.Stat(cache(t, "jvm", ".installed")); err != nil {
			missing(t, "the programs of integration/jvm are not built")
		}
		target := cache(t, "jvm", module, "target")
		return append(java(t), "-cp", filepath.Join(target, "classes")+string(os.PathListSeparator)+filepath.Join(target, "lib", "*"), class)
	}
}

// java starts as fast as it can: what runs for seconds is not worth compiling well.
func java(t testing.TB) []string {
	t.Helper()
	return []string{program(t, "java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"}
}

// A jvmClient is a probing client of the JVM.
type jvmClient struct {
	probeClient
	over  []string // transports of the server; the tests of a change use only the first
	skips []string // steps of shapeSteps that its library has no way for
	fails []string // steps that fail directly, in addition to those of refused
}

var jvmClients = []jvmClient{
	{probeClient{name: "java", argv: jvm("sdk", "sdk.Client")}, []string{"http", "sse", "stdio"}, nil, nil},
	{probeClient{name: "spring", argv: jvm("spring", "spring.client.Client")}, []string{"http", "sse", "stdio"}, nil,
		[]string{"call fails"}}, // an exception
	{probeClient{name: "langchain4j", argv: jvm("langchain4j", "langchain4j.Client")}, []string{"http", "sse", "stdio"},
		[]string{"setLevel", "wait tools/list_changed", "complete",
			"call sample"}, // it declares no sampling, and leaves a request for it without a response
		[]string{"call fails", "call image", "call audio", "call link", "call embedded", "call ask"}}, // exceptions
	{probeClient{name: "kotlin", argv: jvm("kotlin", "kotlinsdk.Main")}, []string{"stdio", "http", "sse"}, nil, nil},
}

// refused are the steps that a server refuses.
var refused = []string{"call refuses", "read test://nothing"}

// verifyDirect fails the test where steps fail that should not, or others do not.
func verifyDirect(t *testing.T, direct sight, fails []string) {
	t.Helper()
	for name, line := range direct {
		line, ok := line.(map[string]any)
		if !ok || name == "call nothing" { // an unknown tool is an error or a result that says so
			continue
		}
		name, _, _ := strings.Cut(name, " 2")
		if want := !slices.Contains(refused, name) && !slices.Contains(fails, name); line["ok"] != want {
			t.Errorf("directly, %s ended with ok %v, want %v: %v", name, line["ok"], want, line["error"])
		}
	}
}

// shapeSteps are what a client does with a server that has the tools of servers/ts-v1/shapes.mjs.
func shapeSteps(tools ...string) []step {
	whole := func(s step) step { s["whole"] = true; return s }
	call := func(name string, arguments map[string]any) step { return whole(calling(name, arguments)) }
	steps := []step{whole(step{"op": "list"})}
	for _, name := range tools {
		switch name {
		case "echo":
			steps = append(steps, call(name, map[string]any{"text": "hé ✓ \"\\"}))
		case "schemas":
			steps = append(steps, call(name, map[string]any{"place": object{"name": "Oslo"}, "count": nil, "levels": []int{1, 3}, "rest": object{"x": 0.1}}))
		case "progress":
			steps = append(steps, whole(step{"op": "call", "name": name, "progress": true}), wait("progress", 3))
		case "logs":
			steps = append(steps, step{"op": "setLevel", "level": "info"}, call(name, nil), wait("message", 1))
		case "change_tools":
			steps = append(steps, call(name, nil), wait("tools/list_changed", 1), whole(step{"op": "list", "until": "extra", "timeoutMs": 5000}), call(name, nil))
		default:
			steps = append(steps, call(name, nil))
		}
	}
	return append(steps,
		whole(step{"op": "read", "uri": "test://text"}),
		whole(step{"op": "read", "uri": "test://blob"}),
		whole(step{"op": "read", "uri": "test://item/7"}),
		whole(step{"op": "read", "uri": "test://nothing"}),
		whole(step{"op": "prompt", "name": "greet", "arguments": map[string]any{"name": "Ada"}}),
		step{"op": "complete", "ref": step{"type": "ref/prompt", "name": "greet"}, "argument": step{"name": "name", "value": "al"}},
		step{"op": "ping"},
	)
}

// stepName is how differences and skips name a step.
func stepName(s step) string {
	switch s["op"] {
	case "waitNotification":
		return "wait " + strings.TrimPrefix(s["method"].(string), "notifications/")
	case "call", "prompt":
		return fmt.Sprint(s["op"], " ", s["name"])
	case "read":
		return fmt.Sprint("read ", s["uri"])
	}
	return fmt.Sprint(s["op"])
}

// A sight is what a client saw: of each step, by its name, and all that the server sent by itself.
type sight map[string]any

// sightOf runs a script in a client, whose tools have a prefix, and returns what it saw without the prefix.
func sightOf(t *testing.T, client probeClient, target []string, revision, prefix string, steps []step) sight {
	t.Helper()
	script := make([]step, len(steps))
	for i, s := range steps {
		s = maps.Clone(s)
		switch s["op"] {
		case "call", "prompt":
			s["name"] = prefix + s["name"].(string)
		case "complete":
			s["ref"] = step{"type": "ref/prompt", "name": prefix + s["ref"].(step)["name"].(string)}
		}
		script[i] = s
	}
	stdout, stderr, err := tryRun(t, nil, client.commandLine(t, target, revision, script, obliging)...)
	if prefix != "" {
		stdout = strings.ReplaceAll(stdout, prefix, "")
	}
	saw, sent := sight{}, []string{}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != len(steps)+1 {
		t.Fatalf("%s printed %d lines for %d steps, and ended with %v: %.2000s\n%.2000s", client.name, len(lines), len(steps), err, stdout, stderr)
	}
	for i, text := range lines {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s printed %q: %v", client.name, text, err)
		}
		for _, e := range line["events"].([]any) {
			// How often a list changed depends on when it is asked for.
			if method := e.(map[string]any)["method"].(string); !strings.HasSuffix(method, "/list_changed") {
				sent = append(sent, encode(t, e))
			}
		}
		for _, member := range []string{"step", "op", "ms", "events"} {
			delete(line, member)
		}
		if i == 0 {
			if line["ok"] != true {
				t.Fatalf("%s did not connect: %s\n%.3000s", client.name, text, stderr)
			}
			continue
		}
		name := stepName(steps[i-1])
		if strings.HasPrefix(name, "wait ") {
			delete(line, "params") // they are among what the server sent
		}
		for again := 2; saw[name] != nil; again++ {
			name = fmt.Sprint(stepName(steps[i-1]), " ", again)
		}
		saw[name] = line
	}
	slices.Sort(sent) // some clients hand notifications to several threads
	var events []any
	for _, text := range sent {
		var e any
		_ = json.Unmarshal([]byte(text), &e) // it was encoded above
		events = append(events, e)
	}
	saw["events"] = events
	return saw
}

// onlyIn are the values of a list that another one lacks.
func onlyIn(list, other any) (only []any) {
	rest, _ := other.([]any)
	rest = slices.Clone(rest)
	all, _ := list.([]any)
	for _, v := range all {
		if i := slices.IndexFunc(rest, func(r any) bool { return reflect.DeepEqual(r, v) }); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else {
			only = append(only, v)
		}
	}
	return only
}

// differences compares two values of JSON, and names what differs by its path.
func differences(path string, direct, through any) []string {
	if a, ok := direct.(map[string]any); ok {
		if b, ok := through.(map[string]any); ok {
			var all []string
			keys := slices.Collect(maps.Keys(a))
			for key := range b {
				if _, both := a[key]; !both {
					keys = append(keys, key)
				}
			}
			slices.Sort(keys)
			for _, key := range keys {
				all = append(all, differences(path+"."+key, a[key], b[key])...)
			}
			return all
		}
	}
	if a, ok := direct.([]any); ok {
		if b, ok := through.([]any); ok && len(a) == len(b) {
			var all []string
			for i := range a {
				all = append(all, differences(fmt.Sprintf("%s.%d", path, i), a[i], b[i])...)
			}
			return all
		}
	}
	if reflect.DeepEqual(direct, through) {
		return nil
	}
	a, _ := json.Marshal(direct) // it was decoded from JSON
	b, _ := json.Marshal(through)
	return []string{fmt.Sprintf("%s: %s became %s", path, a, b)}
}

// An expectedDifference is a difference that has a reason.
type expectedDifference struct {
	peer   string // the client or the server, or "" for all
	way    string // of those below, or "" for all
	text   *regexp.Regexp
	reason string
}

// compareSeen fails the test for each difference without a reason.
func compareSeen(t *testing.T, peer, way string, direct, through sight, expected []expectedDifference) {
	t.Helper()
	directly, behind := maps.Clone(direct), maps.Clone(through)
	directly["events"], behind["events"] = onlyIn(direct["events"], through["events"]), onlyIn(through["events"], direct["events"])
	for _, found := range differences("", map[string]any(directly), map[string]any(behind)) {
		found = strings.TrimPrefix(found, ".")
		at := slices.IndexFunc(expected, func(e expectedDifference) bool {
			return (e.peer == "" || e.peer == peer) && (e.way == "" || strings.Contains(way, e.way)) && e.text.MatchString(found)
		})
		if at < 0 {
			t.Errorf("directly and through %s differ: %.1500s", way, found)
		} else {
			t.Logf("differs (%s): %.300s", expected[at].reason, found)
		}
	}
}

// behindJunction leads a client over a transport to a server through up or proxy, and returns what tools have in front.
func behindJunction(t *testing.T, command, over string, server []string) (target []string, prefix string) {
	t.Helper()
	if over != "stdio" {
		address, prefix := shared(t, command, server)
		return []string{"--" + over, "http://" + address + map[string]string{"http": "/mcp", "sse": "/sse"}[over]}, prefix
	}
	env := isolated(t)
	argv := append([]string{program(t, "env")}, env[len(os.Environ()):]...)
	if command == "proxy" {
		return slices.Concat([]string{"--stdio"}, argv, []string{junction(t), "proxy", "--stdio", "--"}, server), ""
	}
	config := configOf(t, server)
	run(t, env, junction(t), "tools", "real", "--config", config) // remembered, so nothing changes when it starts
	return slices.Concat([]string{"--stdio"}, argv, []string{junction(t), "up", "--stdio", "--config", config}), "real__"
}

// shapesServer is a server with every shape of a result; over stdio it is its command line.
func shapesServer(t *testing.T) []string {
	return append(serverNamed(t, "ts-v1").argv(t), "--shapes")
}

// Each client of the JVM sees through Junction what it sees of the same server directly.
func TestJVMClients(t *testing.T) {
	t.Parallel()
	junction(t)
	tools := []string{"echo", "schemas", "structured", "structured_only", "image", "audio", "link", "embedded", "fails", "refuses", "nothing",
		"progress", "logs", "ask", "sample", "change_tools"}
	for _, client := range jvmClients {
		steps := slices.DeleteFunc(shapeSteps(tools...), func(s step) bool { return slices.Contains(client.skips, stepName(s)) })
		for i, over := range client.over {
			t.Run(client.name+" over "+over, func(t *testing.T) {
				t.Parallel()
				if i > 0 && client.name != "java" {
					skipOnChange(t)
				}
				target := append([]string{"--stdio"}, shapesServer(t)...)
				if over != "stdio" {
					target = []string{"--" + over, listening(t, append(shapesServer(t), "--"+over, "127.0.0.1:0")...)}
				}
				direct := sightOf(t, client.probeClient, target, "", "", steps)
				verifyDirect(t, direct, client.fails)
				for _, command := range []string{"up", "proxy"} {
					if command == "proxy" && client.name != "java" && !matrix() {
						continue
					}
					t.Run(command, func(t *testing.T) {
						target, prefix := behindJunction(t, command, over, shapesServer(t))
						through := sightOf(t, client.probeClient, target, "", prefix, steps)
						compareSeen(t, client.name, command+" over "+over, direct, through, jvmClientDifferences)
					})
				}
			})
		}
	}
}

var jvmClientDifferences = []expectedDifference{
	{text: regexp.MustCompile(`^list( 2)?\.whole\.tools\.1\.inputSchema\.properties\.whatever: true became \{\}$`),
		reason: "schemas that are true or false are objects for clients before 2026-07-28"},
	{way: "over sse", text: regexp.MustCompile(`^call (audio|link)\.`), reason: "the client offers 2024-11-05 over HTTP+SSE, which has neither audio nor links"},
	{peer: "langchain4j", text: regexp.MustCompile(`^call ask\.error\.message: `), reason: "the client declares no elicitation: the server refuses directly, Junction where clients share the server"},
	{way: "up over stdio", text: regexp.MustCompile(`^events: .*"message":"starting real"`), reason: "junction up says what a call waits for"},
	knownResources,
}

var knownResources = expectedDifference{way: "up", text: regexp.MustCompile(`^read test://nothing\.error\.`), reason: "a gateway knows which resources there are"}

// A jvmServer is a server of the JVM with tools like those of shapesServer.
type jvmServer struct {
	name  string
	over  []string // transports of the server; the tests of a change use only the first
	skips []string // steps that its library has no way for
	// start returns the entry of a configuration for the server, and the flags that lead a client to it.
	start  func(t *testing.T, over string) (entry object, target []string)
	newest string // the newest revision that it speaks over HTTP+SSE; default 2025-11-25
}

var jvmServers = []jvmServer{
	{"java", []string{"http", "sse", "stdio"}, nil, printing(jvm("sdk", "sdk.Server")), "2024-11-05"},
	{"spring", []string{"http", "sse", "stdio", "stateless"}, nil, printing(jvm("spring", "spring.server.Server")), "2024-11-05"},
	{"quarkus", []string{"http", "sse"}, nil, quarkus, ""},
	{"kotlin", []string{"http", "sse", "stdio"}, []string{"complete"}, printing(jvm("kotlin", "kotlinsdk.ServerMain")), ""},
}

// noAskingWithout are the steps that a server without sessions has no tools for.
var noAskingWithout = []string{"call progress", "wait progress", "call logs", "setLevel", "wait message", "call ask", "call sample", "call change_tools", "wait tools/list_changed", "list until"}

// at is the entry for a URL, and the flags that lead a client there.
func at(over, url string) (entry object, target []string) {
	if over == "sse" {
		return object{"url": url, "type": "sse"}, []string{"--sse", url}
	}
	return object{"url": url}, []string{"--http", url}
}

// printing starts a server that prints where it listens.
func printing(argv func(t testing.TB) []string) func(t *testing.T, over string) (object, []string) {
	return func(t *testing.T, over string) (object, []string) {
		t.Helper()
		if over == "stdio" {
			line := argv(t)
			return object{"command": line[0], "args": line[1:]}, append([]string{"--stdio"}, line...)
		}
		return at(over, listening(t, append(argv(t), "--"+over, "127.0.0.1:0")...))
	}
}

// quarkus starts the server on Quarkus.
func quarkus(t *testing.T, over string) (object, []string) {
	t.Helper()
	jvm("quarkus", "")(t) // that it is built
	address := freeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	serving(t, os.Environ(), address, append(java(t), "-Dquarkus.http.port="+port, "-jar", cache(t, "jvm", "quarkus", "target", "quarkus-app", "quarkus-run.jar"))...)
	return at(over, "http://"+address+map[string]string{"http": "/mcp", "sse": "/mcp/sse"}[over])
}

// What clients see of each server of the JVM directly, legacy and modern ones see through junction up: the TypeScript
// client, and that of Junction's own commands.
func TestJVMServers(t *testing.T) {
	t.Parallel()
	junction(t)
	tools := []string{"echo", "structured", "structured_only", "image", "fails", "nothing", "progress", "logs", "ask", "sample", "change_tools"}
	for _, server := range jvmServers {
		for i, over := range server.over {
			t.Run(server.name+" over "+over, func(t *testing.T) {
				t.Parallel()
				if i > 0 {
					skipOnChange(t)
				}
				skips := server.skips
				switch {
				case over == "stateless":
					skips = append(slices.Clone(skips), noAskingWithout...)
				case server.name == "spring" && over == "stdio": // it stops responding when it is listed while the tool that changed the list still runs
					skips = append(slices.Clone(skips), "call change_tools", "wait tools/list_changed", "list until")
				}
				steps := slices.DeleteFunc(shapeSteps(tools...), func(s step) bool {
					return slices.Contains(skips, stepName(s)) || s["until"] != nil && slices.Contains(skips, "list until")
				})
				entry, target := server.start(t, over)
				client := clientNamed(t, "ts-v2")
				revision := legacyNewest
				if over == "sse" && server.newest != "" {
					revision = server.newest
				}
				direct := sightOf(t, client, target, revision, "", steps)
				verifyDirect(t, direct, nil)
				commands := junctionSees(t, entry, target, "")

				env, address := isolated(t), freeAddress(t)
				config := filepath.Join(t.TempDir(), "mcp.json")
				if err := os.WriteFile(config, []byte(encode(t, object{"mcpServers": object{"real": entry}})), 0o600); err != nil {
					t.Fatal(err)
				}
				serving(t, env, address, junction(t), "up", "--tools", "all", "--config", config, "--http", address)
				known(t, env, "real")
				for _, revision := range []string{legacyNewest, modern} {
					t.Run(revision, func(t *testing.T) {
						way := "up at " + revision
						through := sightOf(t, client, []string{"--http", "http://" + address + "/mcp"}, revision, "real__", steps)
						compareSeen(t, server.name, way, direct, through, jvmServerDifferences)
						compareSeen(t, server.name, way, commands, junctionSees(t, object{"url": "http://" + address + "/mcp"}, nil, "real__", "--revision", revision), jvmServerDifferences)
					})
				}
			})
		}
	}
}

// junctionSees is what Junction's own commands see of a server.
func junctionSees(t *testing.T, entry object, target []string, prefix string, flags ...string) sight {
	t.Helper()
	saw := sight{}
	for _, line := range [][]string{
		{"tools"}, {"call", "echo", "--args", `{"text":"hé"}`}, {"call", "structured"}, {"call", "structured_only"}, {"call", "image"}, {"call", "fails"},
		{"resources"}, {"read", "test://text"}, {"read", "test://blob"}, {"prompts"}, {"prompt", "greet", "name=Ada"},
	} {
		name := "junction " + strings.Join(line[:min(2, len(line))], " ")
		if line = slices.Clone(line); line[0] == "call" || line[0] == "prompt" {
			line[1] = prefix + line[1]
		}
		argv := []string{junction(t), line[0]}
		if entry["url"] != nil {
			argv = append(argv, entry["url"].(string))
		}
		argv = slices.Concat(argv, line[1:], []string{"--json"}, flags)
		if entry["url"] == nil {
			argv = slices.Concat(argv, []string{"--"}, target[1:])
		}
		stdout, stderr, _ := tryRun(t, isolated(t), argv...) // a tool that fails has an exit code of its own
		var result any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(stdout, prefix, "")), &result); err != nil {
			t.Errorf("%s printed %.500q: %.1000s", name, stdout, stderr)
		}
		saw[name] = result
	}
	return saw
}

var jvmServerDifferences = []expectedDifference{
	knownResources,
	{way: modern, text: regexp.MustCompile(`\.(cacheScope: null became "private"|ttlMs: null became 0|resultType: null became "complete")$`), reason: "results of 2026-07-28 have it"},
	{peer: "kotlin", way: modern, text: regexp.MustCompile(`^(wait message\.|events: .*"notifications/message")`), reason: "the server sends log messages on the stream of a GET; 2026-07-28 has no place for one that comes after the result"},
	{peer: "quarkus", text: regexp.MustCompile(`^events: .*"Subsidiary SSE opened`), reason: "the server logs that a client listens, with a number"},
}
