package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/servers/httptool"
	"github.com/junction-mcp/junction/servers/openapi"
)

// datadog is a Go module that has a large document in YAML; setup.sh fetches it.
const datadog = "github.com/DataDog/datadog-api-client-go/v2@v2.67.0"

// documents are large public OpenAPI documents, by what they describe, and how many operations they have at least.
var documents = map[string]struct {
	path func(t testing.TB) string
	most int
}{
	"GitHub, 3.0 in JSON": {func(t testing.TB) string {
		return npm(t, "openapi", "node_modules", "@octokit", "openapi", "generated", "api.github.com.json")
	}, 1_200},
	"GitBook, 3.1 in JSON": {func(t testing.TB) string {
		return npm(t, "openapi", "node_modules", "@gitbook", "api", "spec", "openapi.json")
	}, 370},
	"Datadog, 3.0 in YAML": {func(t testing.TB) string { return goModule(t, datadog) + "/.generator/schemas/v2/openapi.yaml" }, 1_600},
}

// goModule returns the folder of a Go module that setup.sh fetched.
func goModule(t testing.TB, version string) string {
	t.Helper()
	command := exec.Command("go", "mod", "download", "-json", version)
	command.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod")
	command.Dir = t.TempDir()
	text, err := command.Output()
	var module struct{ Dir string }
	if json.Unmarshal(text, &module) != nil || err != nil || module.Dir == "" {
		missing(t, "Go module %s not fetched", version)
	}
	return module.Dir
}

// open opens a document, with all operations as tools of an API at base.
func open(t testing.TB, from, base string, secrets map[string]string) (*openapi.Server, *mcp.Client) {
	t.Helper()
	s, err := openapi.Open(t.Context(), openapi.Options{From: from, Secrets: secrets, Requests: httptool.Options{Base: base, Logger: slog.New(slog.DiscardHandler)}})
	if err != nil {
		t.Fatal(err)
	}
	c := mcp.NewClient(s)
	t.Cleanup(func() { c.Close(); s.Close() })
	return s, c
}

func toolsOfClient(t testing.TB, c *mcp.Client) map[string]mcp.Tool {
	t.Helper()
	all := map[string]mcp.Tool{}
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all[tool.Name] = *tool
	}
	return all
}

// Every operation of a large public document is a tool whose schema the providers of models take.
func TestLargeDocumentsBecomeToolsForEveryProvider(t *testing.T) {
	for name, d := range documents {
		t.Run(name, func(t *testing.T) {
			from := d.path(t)
			start := time.Now()
			s, c := open(t, from, "http://127.0.0.1:9", nil)
			took := time.Since(start)
			tools := toolsOfClient(t, c)
			if len(tools) < d.most || len(s.Skipped) > 0 {
				t.Errorf("%d tools, skipped: %v", len(tools), s.Skipped)
			}
			names := slices.Sorted(maps.Keys(tools))
			var all []model.Tool
			size, output := 0, 0
			for _, name := range names {
				all = append(all, model.Tool{Name: name, Description: tools[name].Description, Schema: tools[name].InputSchema})
				size += len(tools[name].InputSchema)
				if tools[name].OutputSchema != nil {
					output++
				}
			}
			t.Logf("%d tools in %v, %d KiB of input schemas, %d with an output schema", len(tools), took, size>>10, output)
			for _, provider := range []string{"openai", "anthropic", "gemini", "grammar"} {
				dialect, _ := model.DialectNamed(provider)
				dialect.MaxTools = 0 // a limit of requests, not of schemas
				lowered, notes := model.Lower(all, dialect)
				for _, n := range notes {
					if n.SetAside {
						t.Errorf("%s: %s: %s", provider, n.Tool, n.Text)
					}
				}
				request := &model.Request{Tools: lowered, Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{{Text: "x"}}}}}
				if err := model.Check(request); err != nil {
					t.Errorf("%s: %v", provider, err)
				}
			}
		})
	}
}

// prism serves a document as an API that refuses requests which do not fit it, and returns its address.
func prism(t testing.TB, from string) string {
	t.Helper()
	script := npm(t, "openapi", "node_modules", "@stoplight", "prism-cli", "dist", "index.js")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, node(t), script, "mock", "-h", "127.0.0.1", "-p", port, "--errors", "--seed", "junction", from)
	inGroup(command)
	log := &watched{word: []byte("Prism is listening"), seen: make(chan struct{})}
	command.Stdout, command.Stderr = log, log
	command.Env = nodeEnv(t)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() { cancel(); <-ended })
	select {
	case <-log.seen:
	case err := <-ended:
		ended <- err
		t.Fatalf("prism ended: %v\n%s", err, log.last())
	case <-time.After(2 * time.Minute):
		t.Fatalf("prism does not listen:\n%s", log.last())
	}
	return "http://127.0.0.1:" + port
}

// watched keeps the end of what a program prints, and waits for a word in it.
type watched struct {
	word []byte
	seen chan struct{}
	mu   sync.Mutex
	text []byte
	once sync.Once
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	if bytes.Contains(w.text, w.word) {
		w.once.Do(func() { close(w.seen) })
	}
	if most := 64 << 10; len(w.text) > most {
		w.text = append([]byte(nil), w.text[len(w.text)-most/2:]...)
	}
	return len(p), nil
}

func (w *watched) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text[max(0, len(w.text)-2_000):])
}

// Operations spread over a document are called with arguments made of their schemas. The API is made of the document by
// somebody else's program, which refuses a request that does not fit it.
func TestOperationsOfADocumentCanBeCalled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		calls   int
		secrets map[string]string
	}{
		"GitHub, 3.0 in JSON":  {24, nil},
		"Datadog, 3.0 in YAML": {24, map[string]string{"apiKeyAuth": "key-of-a-test", "appKeyAuth": "app-of-a-test", "AuthZ": "token-of-a-test"}},
	} {
		t.Run(name, func(t *testing.T) {
			from := documents[name].path(t)
			_, client := open(t, from, prism(t, from), c.secrets)
			tools := toolsOfClient(t, client)
			names := slices.Sorted(maps.Keys(tools))
			methods, well := map[string]int{}, 0
			for i := range c.calls {
				tool := tools[names[i*len(names)/c.calls]]
				method, path, _ := strings.Cut(tool.Description[strings.LastIndex(tool.Description, "\n\n")+2:], " ")
				methods[method]++
				arguments := argumentsFor(t, tool.InputSchema)
				result, err := client.CallTool(t.Context(), tool.Name, arguments)
				switch {
				case err != nil:
					t.Errorf("%s (%s %s) with %s: %v", tool.Name, method, path, arguments, err)
				case result.IsError && strings.Contains(result.Text(), `"location":["response"`):
					t.Logf("%s (%s %s): what the document gives as an example of the answer is not what it says of answers", tool.Name, method, path)
				case result.IsError:
					t.Errorf("%s (%s %s) with %s: %.1500s", tool.Name, method, path, arguments, result.Text())
				default:
					well++
				}
			}
			t.Logf("%d of %d calls went well: %v", well, c.calls, methods)
			if well < 20 {
				t.Errorf("only %d of %d calls went well", well, c.calls)
			}
		})
	}
}

// argumentsFor makes arguments of a schema: all parameters, and of a body what must be there.
func argumentsFor(t testing.TB, schema json.RawMessage) json.RawMessage {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(schema, &root); err != nil {
		t.Fatal(err)
	}
	properties, _ := root["properties"].(map[string]any)
	arguments := map[string]any{}
	for name, p := range properties {
		arguments[name] = valueFor(root, p, 0)
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// valueFor makes a value that fits a schema.
func valueFor(root map[string]any, schema any, depth int) any {
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		defs, _ := root["$defs"].(map[string]any)
		return valueFor(root, defs[strings.TrimPrefix(ref, "#/$defs/")], depth+1)
	}
	if examples, ok := s["examples"].([]any); ok && len(examples) > 0 {
		return examples[0]
	}
	if values, ok := s["enum"].([]any); ok {
		return values[0]
	}
	for _, keyword := range []string{"anyOf", "allOf"} {
		if list, ok := s[keyword].([]any); ok && s["properties"] == nil {
			return valueFor(root, list[0], depth+1)
		}
	}
	kind, _ := s["type"].(string)
	if kinds, ok := s["type"].([]any); ok {
		kind, _ = kinds[0].(string)
	}
	number := func(name string, otherwise float64) float64 {
		if n, ok := s[name].(float64); ok {
			return n
		}
		return otherwise
	}
	switch kind {
	case "integer", "number":
		return max(number("minimum", 1), min(1, number("maximum", 1)))
	case "boolean":
		return true
	case "array":
		list := []any{}
		for range int(number("minItems", 1)) {
			list = append(list, valueFor(root, s["items"], depth+1))
		}
		return list
	case "string":
		format, _ := s["format"].(string)
		if made := map[string]string{
			"date-time": "2020-01-02T03:04:05Z", "date": "2020-01-02", "uuid": "0c8d6f1e-6f0a-4f6c-8b3e-2d1f3a4b5c6d", "email": "a@example.com", "uri": "https://example.com/a?b=c&d", "ipv4": "192.0.2.1",
		}[format]; made != "" {
			return made
		}
		if s["minLength"] == nil && s["maxLength"] == nil {
			return "a/b c&d=é"
		}
		return strings.Repeat("x", max(1, int(number("minLength", 1))))
	}
	made := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if depth < 10 {
			made[fmt.Sprint(name)] = valueFor(root, properties[fmt.Sprint(name)], depth+1)
		}
	}
	return made
}
