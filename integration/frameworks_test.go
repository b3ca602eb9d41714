package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A framework offers the tools of MCP servers to a model. Its driver, clients/frameworks/observe, prints what the model would get.
type framework struct {
	name    string
	driver  func(t testing.TB) []string
	nightly bool     // it is large, and so installed and run with JUNCTION_INTEGRATION_MATRIX only
	byURL   bool     // through `up --stdio` it would start Junction for each call, so only the endpoint is compared
	joins   string   // what it makes of the __ between the names of a server and a tool
	loses   []string // keys of tools that it does not list, also directly; of a list that fails, all
}

// awkwardTool is a tool of servers/awkward.
type awkwardTool struct {
	Key, Set  string
	Tool      struct{ Name string }
	Arguments json.RawMessage
}

// awkwardServer is the command line of the server with the tools of a set.
func awkwardServer(t testing.TB, set string) []string {
	argv := []string{python(t, "python"), absolute(t, filepath.Join("servers", "awkward", "server.py")), set}
	if set == "pages" {
		argv = append(argv, "1") // for each page
	}
	return argv
}

func awkwardTools(t testing.TB) (tools []awkwardTool, sets []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("servers", "awkward", "tools.json"))
	if err == nil {
		err = json.Unmarshal(raw, &tools)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if !slices.Contains(sets, tool.Set) {
			sets = append(sets, tool.Set)
		}
	}
	return tools, sets
}

// TestFrameworks compares what frameworks make of awkward tools of a server with what they make of them through `junction up`:
// names, descriptions, schemas, arguments as the server gets them, and results. Every difference is in frameworkDifferences.
func TestFrameworks(t *testing.T) {
	t.Parallel()
	binary := junction(t)
	tools, sets := awkwardTools(t)
	servers, profiles := object{}, object{}
	for _, set := range sets {
		argv := awkwardServer(t, set)
		servers[set], profiles[set] = object{"command": argv[0], "args": argv[1:]}, object{"servers": []string{set}}
	}
	config := filepath.Join(t.TempDir(), "mcp.json")
	writeFile(t, config, encode(t, object{"mcpServers": servers, "junction": object{"tools": "all", "profiles": profiles}}))
	address, env := freeAddress(t), isolated(t)
	serving(t, env, address, binary, "up", "--config", config, "--http", address)
	known(t, env, sets...)
	var plan []object
	for _, set := range sets {
		arguments := object{}
		for _, tool := range tools {
			if tool.Set == set {
				arguments[tool.Key] = tool.Arguments
			}
		}
		through := append(append([]string{program(t, "env")}, env[len(os.Environ()):]...), binary, "up", "--config", config, "--stdio", "--profile", set)
		plan = append(plan,
			object{"way": "direct", "set": set, "arguments": arguments, "stdio": awkwardServer(t, set)},
			object{"way": "http", "set": set, "arguments": arguments, "http": "http://" + address + "/mcp/" + set},
			object{"way": "stdio", "set": set, "arguments": arguments, "stdio": through})
	}
	for _, f := range frameworks {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			if f.nightly {
				skipOnChange(t)
			}
			mine := slices.DeleteFunc(slices.Clone(plan), func(server object) bool { return f.byURL && server["way"] == "stdio" })
			f.compare(t, tools, f.observe(t, mine))
		})
	}
}

// observation is what a framework made of the tools of a set, one way.
type observation struct {
	Way, Set string
	Failed   json.RawMessage
	Tools    map[string]struct {
		Name, Description string
		Schema, Result    json.RawMessage
	}
}

// observe runs the driver, and returns what it printed.
func (f framework) observe(t *testing.T, plan []object) (seen []observation) {
	t.Helper()
	home := t.TempDir() // frameworks write there
	file := filepath.Join(home, "servers.json")
	writeFile(t, file, encode(t, plan))
	env := append(nodeEnv(t), "HOME="+home, "ANONYMIZED_TELEMETRY=false", "CREWAI_DISABLE_TELEMETRY=true", "HAYSTACK_TELEMETRY_ENABLED=False",
		"OTEL_SDK_DISABLED=true", "AGNO_TELEMETRY=false", "MASTRA_TELEMETRY_DISABLED=1", "DSPY_CACHEDIR="+home, "HF_HUB_OFFLINE=1")
	stdout, stderr, err := tryRun(t, env, append(f.driver(t), file)...)
	decoder := json.NewDecoder(strings.NewReader(stdout))
	for decoder.More() {
		var one observation
		if err := decoder.Decode(&one); err != nil {
			t.Fatalf("%s printed %.2000q: %v", f.name, stdout, err)
		}
		seen = append(seen, one)
	}
	if len(seen) != len(plan) {
		t.Fatalf("%s ended with %v after %d of %d servers: %.5000s", f.name, err, len(seen), len(plan), stderr)
	}
	return seen
}

// flat is what was seen of each tool one way, by its key and a part of it. Names that it has in other parts are NAME there.
func (f framework) flat(tools []awkwardTool, seen []observation, way string) map[string]string {
	parts := map[string]string{}
	for _, tool := range tools {
		of := slices.IndexFunc(seen, func(o observation) bool { return o.Way == way && o.Set == tool.Set })
		got, listed := seen[of].Tools[tool.Key]
		if !listed {
			parts[tool.Key+" list"] = fmt.Sprintf("lost %.80s", canonical(seen[of].Failed))
			continue
		}
		plain := func(text string) string {
			if way != "direct" {
				text = strings.ReplaceAll(text, tool.Set+f.separator(), "")
			}
			return text
		}
		name := func(raw json.RawMessage) string {
			return plain(strings.ReplaceAll(canonical(raw), `"`+got.Name+`"`, `"NAME"`))
		}
		parts[tool.Key+" list"] = "listed"
		parts[tool.Key+" name"] = plain(got.Name)
		parts[tool.Key+" description"] = strings.Replace(plain(got.Description), ": "+plain(got.Name)+"\n", ": NAME\n", 1)
		parts[tool.Key+" schema"] = name(got.Schema)
		parts[tool.Key+" result"] = name(got.Result)
	}
	return parts
}

// separator is what stands between the names of a server and a tool.
func (f framework) separator() string {
	if f.joins != "" {
		return f.joins
	}
	return "__"
}

// canonical is JSON with its members in order.
func canonical(raw json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return string(raw)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		return string(raw)
	}
	return string(sorted)
}

// compare finds the differences between directly and through Junction.
func (f framework) compare(t *testing.T, tools []awkwardTool, seen []observation) {
	t.Helper()
	direct := f.flat(tools, seen, "direct")
	if !strings.Contains(direct["nested result"], "sku") {
		t.Fatalf("directly, a call gives %.1000s", direct["nested result"])
	}
	for _, one := range seen {
		for key := range one.Tools {
			if !slices.ContainsFunc(tools, func(tool awkwardTool) bool { return tool.Key == key && tool.Set == one.Set }) {
				t.Errorf("%s: %s of %s is no tool of the server's", one.Way, key, one.Set)
			}
		}
	}
	var lost []string
	for _, tool := range tools {
		if direct[tool.Key+" list"] != "listed" {
			lost = append(lost, tool.Key)
		}
	}
	if !slices.Equal(lost, f.loses) {
		t.Errorf("directly, %q are not listed, want %q", lost, f.loses)
	}
	for _, way := range []string{"http", "stdio"} {
		if way == "stdio" && f.byURL {
			continue
		}
		through, expected := f.flat(tools, seen, way), map[string]toolDifference{}
		for _, d := range frameworkDifferences {
			if slices.Contains(d.of, f.name) {
				expected[d.at] = d
			}
		}
		for _, tool := range tools {
			for _, part := range []string{"list", "name", "description", "schema", "result"} {
				at := tool.Key + " " + part
				d := expected[at]
				delete(expected, at)
				if !strings.Contains(direct[at], d.direct) || strings.Replace(direct[at], d.direct, d.through, 1) != through[at] {
					t.Errorf("%s: %s is `%s`, and directly `%s`", way, at, through[at], direct[at])
				}
				if part == "list" && direct[at] != through[at] {
					break
				}
			}
		}
		for at, d := range expected {
			t.Errorf("%s: there is no %s, though %s", way, at, d.why)
		}
	}
}

var secondPages = []string{"page-two", "page-three"}

var frameworks = []framework{
	{name: "mcp", driver: pythonFramework("python", "mcp")},
	{name: "mcp 1", driver: pythonFramework("python-frameworks-1", "mcp")},
	{name: "fastmcp", driver: pythonFramework("python", "fastmcp")},
	{name: "smolagents", driver: pythonFramework("python-frameworks-1", "smolagents"), loses: []string{"bare", "boolean", "recursion", "page-two", "page-three"}},
	{name: "llama-index-tools-mcp", driver: pythonFramework("python-frameworks-2", "llamaindex"), byURL: true,
		loses: []string{"tuple", "boolean", "recursion", "underscore", "page-two", "page-three"}},
	{name: "strands-agents", driver: pythonFramework("python-frameworks-2", "strands")},
	{name: "autogen-ext", driver: pythonFramework("python-frameworks-nightly-1", "autogen"), nightly: true, loses: secondPages},
	{name: "semantic-kernel", driver: pythonFramework("python-frameworks-nightly-1", "semantickernel"), nightly: true, loses: []string{"boolean", "types", "members", "name-dot", "page-two", "page-three"}},
	{name: "agno", driver: pythonFramework("python-frameworks-nightly-2", "agno"), nightly: true},
	{name: "mcp-haystack", driver: pythonFramework("python-frameworks-nightly-2", "haystack"), nightly: true, loses: secondPages},
	{name: "dspy", driver: pythonFramework("python-frameworks-nightly-2", "dspy"), nightly: true, loses: []string{"boolean", "recursion", "types", "page-two", "page-three"}},
	{name: "google-adk", driver: pythonFramework("python-frameworks-nightly-3", "adk"), nightly: true, loses: secondPages},
	{name: "crewai-tools", driver: pythonFramework("python-frameworks-nightly-4", "crewai"), nightly: true, joins: "_",
		loses: []string{"boolean", "email", "underscore", "page-two", "page-three"}},
	{name: "@mastra/mcp", driver: nodeFramework("mastra")},
	{name: "@openai/agents", driver: nodeFramework("openai")},
	{name: "Inspector", driver: func(t testing.TB) []string {
		launcher := npm(t, "inspector", "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
		return append([]string{program(t, "env"), "INSPECTOR=" + launcher}, nodeFramework("inspector")(t)...)
	}, nightly: true}, // a process for each list and each call
	{name: "@google/genai", driver: nodeFramework("genai"), loses: []string{"boolean"}},
}

// A toolDifference is what Junction changes in a part of a tool that frameworks offer, and why.
type toolDifference struct {
	of                   []string
	at                   string // a key, and a part
	direct, through, why string
}

// Why there are differences.
const (
	hashed  = "names that are long, or have characters that models refuse, end with a hash (docs/gateway.md)"
	begins  = "with the name of the server in front, the name needs no change"
	boolean = "clients before 2026-07-28 get objects for schemas that are true or false (docs/bridge.md)"
	paged   = "it reads one page of a list, and those of Junction are longer than a server's"
)

var (
	long      = "long_" + strings.Repeat("n", 95)
	longHash  = "long_" + strings.Repeat("n", 43) + "_5abc49f8"
	asTheyAre = []string{"mcp", "mcp 1", "fastmcp", "strands-agents", "llama-index-tools-mcp", "@google/genai", "@mastra/mcp",
		"autogen-ext", "agno", "mcp-haystack", "dspy", "google-adk", "Inspector"} // that offer names as they are
	legacy  = []string{"mcp 1", "autogen-ext", "agno", "mcp-haystack", "google-adk", "Inspector"} // and offer any schema
	onePage = []string{"smolagents", "llama-index-tools-mcp", "autogen-ext", "semantic-kernel", "mcp-haystack", "dspy", "google-adk", "crewai-tools"}
)

var frameworkDifferences = []toolDifference{
	{asTheyAre, "name-dot name", "name.dot", "name-dot_8ca0fd0a", hashed},
	{[]string{"@openai/agents"}, "name-dot name", "name_dot", "name_dot_8ca0fd0a", hashed},
	{[]string{"smolagents"}, "name-dot name", "namedot", "name_dot_8ca0fd0a", hashed},
	{[]string{"crewai-tools"}, "name-dot name", "name_dot", "name_8ca0fd0a", hashed},
	{[]string{"semantic-kernel"}, "name-dot list", `lost {"message":"KernelFunction failed to initialize: Failed to create KernelFunction`, "listed", hashed},
	{asTheyAre, "name-slash name", "/slash", "-slash_156b8f87", hashed},
	{[]string{"semantic-kernel"}, "name-slash name", "-slash", "-slash_156b8f87", hashed},
	{[]string{"@openai/agents"}, "name-slash name", "name_slash", "name_slash_156b8f87", hashed},
	{[]string{"smolagents"}, "name-slash name", "nameslash", "name_slash_156b8f87", hashed},
	{[]string{"crewai-tools"}, "name-slash name", "name_slash", "name_156b8f87", hashed},
	{append([]string{"@openai/agents", "smolagents", "semantic-kernel"}, asTheyAre...), "name-long name", long, longHash, hashed},
	{[]string{"crewai-tools"}, "name-long name", "long_" + strings.Repeat("n", 50) + "_046d904d", longHash, hashed},
	{[]string{"smolagents"}, "name-digit name", "_1st_name", "1st_name", begins},
	{[]string{"smolagents"}, "name-word name", "class_", "class", begins},

	{legacy, "boolean schema", `"any":true,"never":false`, `"any":{},"never":{"not":{}}`, boolean},
	{append([]string{"smolagents", "semantic-kernel", "dspy", "@google/genai"}, legacy...), "tuple schema", `"items":false`, `"items":{"not":{}}`, boolean},
	{[]string{"smolagents", "llama-index-tools-mcp"}, "boolean list", `lost {"message":"argument of type 'bool' is not iterable","raised":"TypeError"}`, "listed", boolean},
	{[]string{"llama-index-tools-mcp"}, "tuple list", `lost {"message":"argument of type 'bool' is not iterable","raised":"TypeError"}`, "listed", boolean},
	{[]string{"@google/genai"}, "boolean list", `lost {"message":"[\n  {\n    \"code\": \"custom\",\n    \"path\": [\n      \"tools\",`, "listed", boolean},
	{[]string{"semantic-kernel"}, "boolean list", `lost {"message":"'bool' object has no attribute 'get'","raised":"AttributeError"}`, "listed", boolean},
	{[]string{"crewai-tools"}, "boolean list", `lost {"message":"Failed to initialize MCP Adapter: 'bool' object has no attribute 'ge`, "listed", boolean},
	{[]string{"dspy"}, "boolean list", "lost ", "listed", boolean},

	{onePage, "page-two list", "lost ", "listed", paged},
	{onePage, "page-three list", "lost ", "listed", paged},
}

// pythonFramework is the driver of a framework in a Python environment.
func pythonFramework(environment, name string) func(t testing.TB) []string {
	return func(t testing.TB) []string {
		return []string{pythonOf(t, environment, "python"), absolute(t, filepath.Join("clients", "frameworks", "observe.py")), name}
	}
}

// nodeFramework is the driver of a framework of npm.
func nodeFramework(name string) func(t testing.TB) []string {
	return func(t testing.TB) []string {
		return append(nodeScript(t, "frameworks", "clients/frameworks/observe.mjs"), name)
	}
}
