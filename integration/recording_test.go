package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Secrets that are planted, put together here so that no scanner of repositories takes them for real.
var (
	plantedArgument = "ghp_" + strings.Repeat("a1B2", 9)
	plantedResult   = "glpat-" + strings.Repeat("c3D4", 6)
)

const (
	plantedVariable  = "planted-in-a-variable-4711"
	plantedInherited = "planted-in-what-is-inherited-4712"
	plantedHeader    = "planted-in-a-header-4713"
	plantedBearer    = "planted-as-a-bearer-4714"
)

// A request is one of a script.
type request struct{ method, params string }

// plantings are calls with a secret among their arguments, and calls whose results have one, by server.
func plantings(t testing.TB, dir string) map[string][]request {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "secret.txt"), []byte("the token is "+plantedResult+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(tool string, arguments map[string]any) request {
		return request{"tools/call", encode(t, map[string]any{"name": tool, "arguments": arguments})}
	}
	secretFile := filepath.Join(dir, "secret.txt")
	echo := []request{call("echo", map[string]any{"text": "it is " + plantedArgument})}
	return map[string][]request{
		"everything": {call("echo", map[string]any{"message": plantedArgument}), call("get-env", map[string]any{})},
		"filesystem": {call("read_text_file", map[string]any{"path": secretFile}), call("read_text_file", map[string]any{"path": filepath.Join(dir, plantedArgument)})},
		"memory":     {call("search_nodes", map[string]any{"query": plantedArgument}), call("add_observations", map[string]any{"observations": []any{map[string]any{"entityName": "Ada", "contents": []any{plantedArgument}}}}), call("read_graph", map[string]any{})},
		"thinking":   {call("sequentialthinking", map[string]any{"thought": plantedArgument, "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false})},
		"commander":  {call("read_file", map[string]any{"path": secretFile})},
		"playwright": {call("browser_navigate", map[string]any{"url": "data:text/html,<title>" + plantedArgument + "</title>"})},
		"mysql":      {call("execute_query", map[string]any{"database": "shop", "query": "SELECT '" + plantedArgument + "' AS token"})},
		"time":       {call("get_current_time", map[string]any{"timezone": plantedArgument})},
		"git":        {call("git_show", map[string]any{"repo_path": filepath.Join(dir, "repo"), "revision": plantedArgument})},
		"fastmcp":    echo, "fastmcphttp": echo, "fastmcpsse": echo,
	}
}

// script is everything that a server is asked: what it has, the call of its test, what it does not have, and secrets.
func (s realServer) script(t testing.TB, arguments map[string]any, planted []request) []request {
	all := []request{
		{"tools/list", `{}`},
		{"tools/call", encode(t, map[string]any{"name": s.tool, "arguments": arguments})},
		{"tools/call", encode(t, map[string]any{"name": "no such tool", "arguments": map[string]any{}})},
		{"resources/list", `{}`},
		{"prompts/list", `{}`},
	}
	if s.resource != "" {
		all = append(all, request{"resources/read", encode(t, map[string]any{"uri": s.resource})}, request{"resources/read", `{"uri":"test://nothing/at/all"}`})
	}
	if s.prompt != "" {
		all = append(all, request{"prompts/get", encode(t, map[string]any{"name": s.prompt, "arguments": s.promptArg})})
	}
	return append(all, planted...)
}

// rawAnswers runs a server on standard input and output, and returns the bytes of its results and errors, the
// first of which says what it is. ok is false if it does not speak the revision.
func rawAnswers(t *testing.T, env []string, revision string, script []request, argv ...string) (answers []string, ok bool) {
	t.Helper()
	command := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	command.Env = env
	var stderr bytes.Buffer
	command.Stderr = &stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		late := time.AfterFunc(10*time.Second, func() { _ = command.Process.Kill() }) // not all servers end with their input
		defer late.Stop()
		_, _ = io.Copy(io.Discard, out)
		_ = command.Wait()
	}()
	lines := bufio.NewReader(out)
	ask := func(id int, r request) string {
		params := r.params
		if revision == modern {
			params = strings.TrimSuffix(params, "}")
			if params != "{" {
				params += ","
			}
			params += fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`, revision)
		}
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, r.method, params)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				t.Logf("%s: %s is not answered: %v: %.2000s", revision, r.method, err, stderr.String())
				return ""
			}
			var m struct {
				ID            json.RawMessage
				Method        string
				Result, Error json.RawMessage
			}
			if json.Unmarshal(line, &m) != nil || m.Method != "" || string(m.ID) != fmt.Sprint(id) {
				continue
			}
			if m.Error != nil {
				return "error " + string(m.Error)
			}
			return string(m.Result)
		}
	}
	if revision == modern {
		answers = append(answers, ask(1, request{"server/discover", `{}`}))
	} else {
		answers = append(answers, ask(1, request{"initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}`, revision)}))
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	if answers[0] == "" || strings.HasPrefix(answers[0], "error") || !strings.Contains(answers[0], revision) {
		return answers, false
	}
	for i, r := range script {
		answers = append(answers, ask(i+2, r))
	}
	return answers, true
}

// variable is what differs each time: ids, times, the files of a browser, and what stands in the place of secrets.
var variable = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|20\d\d-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)|\{\{secret-\d+\}\}|\d{3}/page-[0-9TZ-]+`)

// comparable is an answer without what differs each time.
func comparable(answer string) string {
	for _, secret := range []string{plantedArgument, plantedResult, plantedVariable, plantedInherited, plantedHeader, plantedBearer} {
		answer = strings.ReplaceAll(answer, secret, "{{secret-1}}")
	}
	return variable.ReplaceAllString(answer, "_")
}

// What a client sees of twelve real servers it sees again of their recordings, byte by byte, at every revision that the server
// speaks; and no secret that it sends or gets is in any of them.
func TestARecordingIsTheServer(t *testing.T) {
	t.Parallel()
	binary := junction(t)
	for _, server := range realServers(t) {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			if server.name != "memory" { // which is to forget
				server = server.started(t)
			}
			env := append(bare(t), "PLANTED_TOKEN="+plantedInherited)
			arguments := server.arguments(t)
			dir := sandboxOf(t, server)
			script := server.script(t, arguments, plantings(t, dir)[server.name])
			spoken := 0
			for _, revision := range everyRevision {
				if revision < legacyNewest && !matrix() {
					continue
				}
				if server.recorded(t, binary, env, dir, revision, script) {
					spoken++
				}
			}
			if spoken == 0 {
				t.Errorf("it speaks no revision")
			}
			t.Logf("%d requests at %d revisions", len(script), spoken)
		})
	}
}

// bare is an environment without what stands in that of the tests: some of it may be taken for secrets.
func bare(t testing.TB) []string {
	t.Helper()
	return slices.DeleteFunc(isolated(t), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return !slices.Contains([]string{"PATH", "HOME", "TMPDIR", "LANG", "JUNCTION_KEYRING"}, name) && !strings.HasPrefix(name, "XDG_")
	})
}

// sandboxOf is the folder that a server works in, as far as it has one.
func sandboxOf(t testing.TB, server realServer) string {
	t.Helper()
	if server.name == "git" {
		return filepath.Dir(server.arguments(t)["repo_path"].(string))
	}
	if path, ok := server.arguments(t)["path"].(string); ok {
		return filepath.Dir(path)
	}
	return t.TempDir()
}

// recorded records a server at one revision, and compares the replay with it; false if the server does not support that.
func (s realServer) recorded(t *testing.T, binary string, env []string, dir, revision string, script []request) bool {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recording.jsonl")
	line := []string{binary, "proxy", "--revision", revision, "--record", file}
	argv, url := s.target(t)
	if url != "" {
		line = append(line, "--header", "X-Api-Key: "+plantedHeader, "--header", "Authorization: Bearer "+plantedBearer, url)
	} else {
		line = append(append(line, "--env", "ANOTHER_TOKEN="+plantedVariable, "--"), argv...)
	}
	through, ok := rawAnswers(t, env, revision, script, line...)
	if !ok {
		return false
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for where, secret := range map[string]string{"an argument": plantedArgument, "a result": plantedResult, "a variable": plantedVariable,
		"an inherited variable": plantedInherited, "a header": plantedHeader, "a bearer header": plantedBearer} {
		if bytes.Contains(written, []byte(secret)) {
			t.Errorf("%s: the secret of %s is in the recording", revision, where)
		}
	}
	if !bytes.Contains(written, []byte("{{secret-")) {
		t.Errorf("%s: the recording has no placeholder: was nothing planted?", revision)
	}
	again, ok := rawAnswers(t, env, revision, script, binary, "replay", "--speed", "0", file)
	if !ok {
		t.Errorf("%s: the replay does not speak it: %.500s", revision, again)
		return true
	}
	names := append([]request{{"what it is", ""}}, script...)
	for i := range through {
		if got, want := comparable(again[i]), comparable(through[i]); got != want {
			t.Errorf("%s: %s %.200s: the replay says\n%.1500s, and the server\n%.1500s", revision, names[i].method, names[i].params, got, want)
		}
	}
	if url == "" {
		s.direct(t, env, revision, script, through)
	}
	s.elsewhere(t, binary, env, revision, file)
	return true
}

// direct compares what came through Junction with what the server says without it.
func (s realServer) direct(t *testing.T, env []string, revision string, script []request, through []string) {
	t.Helper()
	argv, _ := s.target(t)
	direct, ok := rawAnswers(t, append(env, "ANOTHER_TOKEN="+plantedVariable), revision, script, argv...)
	if !ok {
		t.Errorf("%s: without Junction the server does not support it: %.500s", revision, direct)
		return
	}
	for i, r := range script {
		if strings.Contains(r.params, "get-env") {
			continue // programs that Junction starts have a variable more
		}
		if strings.HasPrefix(direct[i+1], "error ") && strings.HasPrefix(through[i+1], "error ") {
			continue // Junction gives errors the codes of the revision
		}
		if got, want := comparable(through[i+1]), comparable(direct[i+1]); got != want && !sameJSON(got, want) { // Junction writes _meta at the end
			t.Errorf("%s: %s %.200s: through Junction comes\n%.1500s, and without\n%.1500s", revision, r.method, r.params, got, want)
		}
	}
}

func sameJSON(a, b string) bool {
	var one, other any
	a, b = strings.TrimPrefix(a, "error "), strings.TrimPrefix(b, "error ")
	return json.Unmarshal([]byte(a), &one) == nil && json.Unmarshal([]byte(b), &other) == nil && reflect.DeepEqual(one, other)
}

// elsewhere plays a recording to clients of every other revision, and over HTTP.
func (s realServer) elsewhere(t *testing.T, binary string, env []string, recorded, file string) {
	t.Helper()
	script := []request{{"tools/list", `{}`}, {"tools/call", encode(t, map[string]any{"name": s.tool, "arguments": s.arguments(t)})}}
	for _, revision := range everyRevision {
		if revision == recorded {
			continue
		}
		got, ok := rawAnswers(t, env, revision, script, binary, "replay", "--speed", "0", file)
		if !ok || !strings.Contains(got[1], `"`+s.tool+`"`) || !strings.Contains(strings.ReplaceAll(got[2], `\u00e9`, "é"), s.want) {
			t.Errorf("recorded at %s and played at %s: %.500q", recorded, revision, got)
		}
	}
	if recorded != legacyNewest {
		return
	}
	address := freeAddress(t)
	serving(t, env, address, binary, "replay", "--speed", "0", "--http", address, file)
	if out := run(t, env, binary, "call", "http://"+address+"/mcp", s.tool, "--args", encode(t, s.arguments(t))); !strings.Contains(out, s.want) {
		t.Errorf("recorded at %s and played over HTTP: %.500s", recorded, out)
	}
}
