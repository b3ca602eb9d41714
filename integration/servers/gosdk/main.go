// Command gosdk is a bridge server with the official Go SDK. Over standard input and output it
// serves both eras. Over HTTP, --era legacy has sessions and --era modern is stateless, as in the
// SDK.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junction-mcp/junction/integration/servers/bridge"
)

func main() {
	flags := bridge.ParseFlags("legacy", "modern")
	server := build(&bridge.State{})
	serve := func(*http.Request) *mcp.Server { return server }
	var err error
	switch {
	case flags.Capabilities:
		err = bridge.Capabilities{
			Name:       "gosdk",
			Eras:       []string{"legacy", "modern"},
			Transports: []string{"stdio", "http", "sse"},
			Cannot: map[string]string{
				"both eras at one HTTP endpoint": "a handler with sessions refuses the modern era",
				"one era on stdio":               "a stdio server always takes both",
			},
		}.Print()
	case flags.HTTP != "":
		options := &mcp.StreamableHTTPOptions{Stateless: flags.Era == "modern"}
		err = bridge.Serve(flags.HTTP, "/mcp", mcp.NewStreamableHTTPHandler(serve, options))
	case flags.SSE != "":
		err = bridge.Serve(flags.SSE, "/sse", mcp.NewSSEHandler(serve, nil))
	default:
		err = server.Run(context.Background(), &mcp.StdioTransport{})
	}
	if err != nil {
		log.Fatal(err)
	}
}

func build(state *bridge.State) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "bridge-gosdk", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions:       "bridge server",
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler:  complete,
	})
	addAsking(server)
	addChanges(server, state)
	addContent(server, state)
	return server
}

type none struct{}

// add registers a tool whose result is one text.
func add[In any](server *mcp.Server, name, description string, handle func(context.Context, *mcp.CallToolRequest, In) (string, error)) {
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: description},
		func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			text, err := handle(ctx, req, in)
			if missing, ok := err.(needs); ok {
				return missing.result, nil, nil
			}
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
}

// needs is the error of a modern call that must ask the client first.
type needs struct{ result *mcp.CallToolResult }

func (needs) Error() string { return "input required" }

func needsInput(state string, requests mcp.InputRequestMap) error {
	return needs{&mcp.CallToolResult{InputRequests: requests, RequestState: state}}
}

func form(field, message string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: bridge.Form(field)}
}

func isModern(req *mcp.CallToolRequest) bool {
	return req.Session.InitializeParams().ProtocolVersion >= "2026-07-28"
}

// ask returns the responses to forms. In the modern era these are the call's input responses; in
// the legacy era ask sends requests to the client.
func ask(ctx context.Context, req *mcp.CallToolRequest, state string, forms map[string]*mcp.ElicitParams) (map[string]*mcp.ElicitResult, error) {
	answers := map[string]*mcp.ElicitResult{}
	if !isModern(req) {
		return askNow(ctx, req, forms)
	}
	requests := mcp.InputRequestMap{}
	for field, params := range forms {
		requests[field] = params
		if r, ok := req.Params.InputResponses[field].(*mcp.ElicitResult); ok {
			answers[field] = r
		}
	}
	if len(answers) < len(forms) {
		return nil, needsInput(state, requests)
	}
	return answers, nil
}

func askNow(ctx context.Context, req *mcp.CallToolRequest, forms map[string]*mcp.ElicitParams) (map[string]*mcp.ElicitResult, error) {
	type answer struct {
		field  string
		result *mcp.ElicitResult
		err    error
	}
	answered := make(chan answer, len(forms))
	for field, params := range forms {
		go func() {
			r, err := req.Session.Elicit(ctx, params)
			answered <- answer{field, r, err}
		}()
	}
	answers := map[string]*mcp.ElicitResult{}
	for range forms {
		a := <-answered
		if a.err != nil {
			return nil, a.err
		}
		answers[a.field] = a.result
	}
	return answers, nil
}

func reply(field string, answer *mcp.ElicitResult) string {
	return bridge.Reply(field, answer.Action, answer.Content)
}

func addAsking(server *mcp.Server) {
	add(server, "ask_one", "asks for a name", func(ctx context.Context, req *mcp.CallToolRequest, _ none) (string, error) {
		answers, err := ask(ctx, req, "", map[string]*mcp.ElicitParams{"name": form("name", "What is your name?")})
		if err != nil {
			return "", err
		}
		return reply("name", answers["name"]), nil
	})
	add(server, "ask_two", "asks two questions at once", func(ctx context.Context, req *mcp.CallToolRequest, _ none) (string, error) {
		forms := map[string]*mcp.ElicitParams{"first": form("first", "First?"), "second": form("second", "Second?")}
		answers, err := ask(ctx, req, "", forms)
		if err != nil {
			return "", err
		}
		return reply("first", answers["first"]) + " " + reply("second", answers["second"]), nil
	})
	add(server, "ask_again", "asks, then asks about the answer", askAgain)
	add(server, "sample", "asks the model of the client", sample)
	add(server, "roots", "tells the roots of the client", roots)
}

// askAgain keeps the first response in the request state while it asks the second question.
func askAgain(ctx context.Context, req *mcp.CallToolRequest, _ none) (string, error) {
	color := req.Params.RequestState
	if color == "" {
		answers, err := ask(ctx, req, "", map[string]*mcp.ElicitParams{"color": form("color", "Which color?")})
		if err != nil {
			return "", err
		}
		if answers["color"].Action != "accept" {
			return reply("color", answers["color"]), nil
		}
		color = fmt.Sprint(answers["color"].Content["color"])
	}
	shade := map[string]*mcp.ElicitParams{"shade": form("shade", fmt.Sprintf("Which shade of %s?", color))}
	answers, err := ask(ctx, req, color, shade)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("color=%s %s", color, reply("shade", answers["shade"])), nil
}

func sample(ctx context.Context, req *mcp.CallToolRequest, _ none) (string, error) {
	params := &mcp.CreateMessageParams{
		MaxTokens: 100,
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Say something."}}},
	}
	if !isModern(req) {
		r, err := req.Session.CreateMessage(ctx, params)
		if err != nil {
			return "", err
		}
		return "sampled: " + r.Content.(*mcp.TextContent).Text, nil
	}
	switch r := req.Params.InputResponses["sample"].(type) {
	case *mcp.CreateMessageResult:
		return "sampled: " + r.Content.(*mcp.TextContent).Text, nil
	case *mcp.CreateMessageWithToolsResult:
		return "sampled: " + r.Content[0].(*mcp.TextContent).Text, nil
	default:
		return "", needsInput("", mcp.InputRequestMap{"sample": params})
	}
}

func roots(ctx context.Context, req *mcp.CallToolRequest, _ none) (string, error) {
	r, ok := req.Params.InputResponses["roots"].(*mcp.ListRootsResult)
	if !ok && isModern(req) {
		return "", needsInput("", mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}})
	}
	if !ok {
		var err error
		if r, err = req.Session.ListRoots(ctx, nil); err != nil {
			return "", err
		}
	}
	var uris []string
	for _, root := range r.Roots {
		uris = append(uris, root.URI)
	}
	return "roots: " + strings.Join(uris, ","), nil
}

func addChanges(server *mcp.Server, state *bridge.State) {
	add(server, "progress", "tells its progress five times", func(ctx context.Context, req *mcp.CallToolRequest, _ none) (string, error) {
		token := req.Params.GetProgressToken()
		for i := 1; i <= 5 && token != nil; i++ {
			params := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i), Total: 5, Message: fmt.Sprintf("step %d", i)}
			if err := req.Session.NotifyProgress(ctx, params); err != nil {
				return "", err
			}
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond) // TypeScript clients drop notifications that arrive together with the result
		return "progressed", nil
	})
	add(server, "logs", "logs three messages", func(ctx context.Context, req *mcp.CallToolRequest, _ none) (string, error) {
		for i := 1; i <= 3; i++ {
			params := &mcp.LoggingMessageParams{Level: "info", Logger: "bridge", Data: fmt.Sprintf("log %d", i)}
			if err := req.Session.Log(ctx, params); err != nil {
				return "", err
			}
		}
		return "logged", nil
	})
	add(server, "change_tools", "adds or removes the tool extra", func(context.Context, *mcp.CallToolRequest, none) (string, error) {
		if !state.ToggleExtra() {
			server.RemoveTools("extra")
			return "removed", nil
		}
		add(server, "extra", "comes and goes", func(context.Context, *mcp.CallToolRequest, none) (string, error) { return "extra", nil })
		return "added", nil
	})
	add(server, "touch", "changes "+bridge.Watched, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (string, error) {
		n := state.Touch()
		err := server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: bridge.Watched})
		return fmt.Sprintf("touched %d", n), err
	})
}

type echoIn struct {
	Text string `json:"text"`
}

type slowIn struct {
	Ms int `json:"ms"`
}

func addContent(server *mcp.Server, state *bridge.State) {
	add(server, "echo", "repeats", func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (string, error) { return in.Text, nil })
	add(server, "slow", "takes its time", func(ctx context.Context, _ *mcp.CallToolRequest, in slowIn) (string, error) {
		return state.Slow(ctx, in.Ms), nil
	})
	add(server, "was_cancelled", "tells how slow ended", func(context.Context, *mcp.CallToolRequest, none) (string, error) {
		return state.WasCancelled(), nil
	})
	read := func(text func(uri string) string) mcp.ResourceHandler {
		return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			content := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: text(req.Params.URI)}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{content}}, nil
		}
	}
	server.AddResource(&mcp.Resource{Name: "watched", URI: bridge.Watched, Description: "changes"}, read(func(string) string { return state.Touched() }))
	server.AddResource(&mcp.Resource{Name: "static", URI: bridge.Static, Description: "stays"}, read(func(string) string { return "static text" }))
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "item", URITemplate: bridge.Template, Description: "one item"},
		read(func(uri string) string { return "item " + strings.TrimPrefix(uri, bridge.Item) }))
	server.AddPrompt(&mcp.Prompt{Name: "greet", Description: "greets", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text := &mcp.TextContent{Text: "Hello, " + req.Params.Arguments["name"]}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: text}}}, nil
		})
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := bridge.Names(req.Params.Argument.Value)
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}
