package main

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/up/layer"
)

// edgeMethods are the methods that do not reach a Handler, and why they need no layer.
var edgeMethods = map[string]string{
	"initialize":            "the edge asks server/discover for it",
	"logging/setLevel":      "the session answers it: it changes which messages its own client gets",
	"resources/subscribe":   "the edge asks subscriptions/listen for it",
	"resources/unsubscribe": "the edge ends what subscriptions/listen began",
	"tasks/result":          "the edge asks tasks/get for it until there is one",
}

// unlogged are the methods that leave no line in the audit log, and why.
var unlogged = map[string]string{
	"server/discover":          "it tells of the gateway what every client learns",
	"tools/list":               "it tells what there is, and does nothing",
	"prompts/list":             "it tells what there is, and does nothing",
	"resources/list":           "it tells what there is, and does nothing",
	"resources/templates/list": "it tells what there is, and does nothing",
	"completion/complete":      "it completes a word while its user types",
	"subscriptions/listen":     "it tells that something changed; what it is now is read with a request that has a line",
}

// asksClient are the methods that servers send to clients.
var asksClient = []string{"sampling/createMessage", "elicitation/create", "roots/list"}

// methodsOfEdge are the methods that the sources of the edge, the server and the tasks name.
func methodsOfEdge(t *testing.T) map[string]bool {
	isMethod := regexp.MustCompile(`^(initialize|(server|tools|prompts|resources|completion|subscriptions|logging|tasks|sampling|elicitation|roots)/[a-zA-Z/]*[a-zA-Z])$`)
	found := map[string]bool{}
	for _, pattern := range []string{"../../mcp/*.go", "../../mcp/internal/edge/*.go", "../../mcp/streamable/*.go", "../../mcp/tasks/*.go", "../../internal/revision/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && isMethod.MatchString(text) {
						found[text] = true
					}
				}
				return true
			})
		}
	}
	for _, method := range asksClient {
		delete(found, method)
	}
	return found
}

// Every method that reaches the gateway passes scopes, limits and the audit log, and there is a reason for each that does not.
func TestMethodsPassScopesLimitsAndLog(t *testing.T) {
	t.Parallel()
	key, err := audit.ReadKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	log, err := audit.Open(folder, audit.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	long, err := tasks.New(tasks.Options{Others: &tasks.Tool{Later: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	g := gateway.New(gateway.Options{})
	defer g.Close()
	s := &settings.Settings{Tools: "all", Authorization: settings.Authorization{Needs: []string{"use"}}, Limits: settings.GatewayLimits{Limits: settings.Limits{Rate: "1/h"}}}
	y := &layer.Stack{Options: layer.Options{Logger: slog.New(slog.DiscardHandler), Authorizes: true}, Tasks: long, Log: log}
	plan, err := y.Read(s)
	if err != nil {
		t.Fatal(err)
	}
	y.Use(plan)
	h := y.Front(layer.Part{Gateway: g})
	knows := tasks.Capabilities()
	ask := func(method, user string, scopes ...string) (string, error) {
		req := mcp.NewRequest(method, []byte(`{"name":"x","uri":"x:y","taskId":"x","notifications":{"taskIds":["x"]},"inputResponses":{}}`))
		req.Principal = &mcp.Principal{Issuer: "i", Subject: user, Scopes: scopes}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		req.Meta.Capabilities, req.Peer = &knows, silentPeer{cancel} // subscriptions go on once they are acknowledged
		result, err := h.Handle(ctx, req)
		if err != nil {
			return err.Error(), err
		}
		body, err := result.Encoded()
		return string(body), err
	}
	methods := methodsOfEdge(t)
	for _, must := range []string{"tools/call", "tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "resources/read", "subscriptions/listen", "server/discover"} {
		if !methods[must] {
			t.Errorf("%s is not found in the sources", must)
		}
	}
	for method := range methods {
		if edgeMethods[method] != "" {
			continue
		}
		if _, err := ask(method, "eve of "+method); !errors.As(err, new(*mcp.ScopeError)) {
			t.Errorf("%s without the scope: %v", method, err)
		}
		refused := false
		for range layer.MinRest + 1 {
			said, _ := ask(method, "ada of "+method, "use")
			if refused = strings.Contains(said, "too many"); refused {
				break
			}
		}
		if !refused {
			t.Errorf("%s is in no limit", method)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	all := logLines(t, folder)
	for method := range methods {
		if edgeMethods[method] != "" {
			continue
		}
		logged := strings.Contains(all, `"method":"`+method+`"`) && strings.Contains(all, `"eve of `+method+`"`)
		if logged == (unlogged[method] != "") {
			t.Errorf("%s has a line in the log: %t; the reason that it need have none: %q", method, logged, unlogged[method])
		}
	}
	for _, excepted := range []map[string]string{edgeMethods, unlogged} {
		for method := range excepted {
			if !methods[method] {
				t.Errorf("there is an exception for %s, which no source names", method)
			}
		}
	}
}

// A silentPeer answers nothing, and ends the request with its first notification.
type silentPeer struct{ end func() }

func (p silentPeer) Notify(context.Context, string, json.RawMessage) error { p.end(); return nil }

func (silentPeer) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, mcp.ErrInputRequired
}

// logLines are the lines of an audit log.
func logLines(t *testing.T, folder string) string {
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(clitest.In(t, file))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}
