// Command mcpgo is a bridge server with mcp-go (mark3labs). It serves both eras at one endpoint.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/junction-mcp/junction/integration/servers/bridge"
)

func main() {
	flags := bridge.ParseFlags("both")
	s := build(&bridge.State{})
	var err error
	switch {
	case flags.Capabilities:
		err = bridge.Capabilities{
			Name:       "mcpgo",
			Eras:       []string{"both"},
			Transports: []string{"stdio", "http", "sse"},
			Cannot: map[string]string{
				"one era":           "the era is decided for each request",
				"asking over SSE":   "the SDK sends no request to the client over HTTP+SSE",
				"updates by URI":    "a legacy session hears of every update, subscribed or not",
				"late delivery":     "the last notifications of a call are lost at times over HTTP",
				"concurrent asking": "a legacy client is asked one question after the other",
			},
		}.Print()
	case flags.HTTP != "":
		err = bridge.Serve(flags.HTTP, "/mcp", server.NewStreamableHTTPServer(s, server.WithStateful(true)))
	case flags.SSE != "":
		err = bridge.Serve(flags.SSE, "/sse", server.NewSSEServer(s))
	default:
		err = server.ServeStdio(s)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func build(state *bridge.State) *server.MCPServer {
	s := server.NewMCPServer("bridge-mcpgo", "1.0.0",
		server.WithInstructions("bridge server"),
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithLogging(),
		server.WithElicitation(),
		server.WithRoots(),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{}),
	)
	s.EnableSampling()
	addAsking(s)
	addChanges(s, state)
	addContent(s, state)
	return s
}

type handler = func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error)

func add(s *server.MCPServer, name, description string, handle handler, options ...mcp.ToolOption) {
	s.AddTool(mcp.NewTool(name, append(options, mcp.WithDescription(description))...), handle)
}

func text(s string) (*mcp.CallToolResult, error) { return mcp.NewToolResultText(s), nil }

func form(field, message string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: message, RequestedSchema: bridge.Form(field)}
}

func reply(field string, answer *mcp.ElicitationResult) string {
	content, _ := answer.Content.(map[string]any) // nil for a declined form
	return bridge.Reply(field, string(answer.Action), content)
}

func addAsking(s *server.MCPServer) {
	add(s, "ask_one", "asks for a name", func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer := server.ElicitationResponse(req.Params.InputResponses, "name"); answer != nil {
			return text(reply("name", answer))
		}
		return server.NewInputRequestBuilder("").Elicit("name", form("name", "What is your name?")).ToolResult(), nil
	})
	add(s, "ask_two", "asks two questions at once", func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		first := server.ElicitationResponse(req.Params.InputResponses, "first")
		second := server.ElicitationResponse(req.Params.InputResponses, "second")
		if first == nil || second == nil {
			return server.NewInputRequestBuilder("").
				Elicit("first", form("first", "First?")).
				Elicit("second", form("second", "Second?")).ToolResult(), nil
		}
		return text(reply("first", first) + " " + reply("second", second))
	})
	add(s, "ask_again", "asks, then asks about the answer", askAgain)
	add(s, "sample", "asks the model of the client", func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer := server.SamplingResponse(req.Params.InputResponses, "sample")
		if answer == nil {
			message := mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.NewTextContent("Say something.")}
			params := mcp.CreateMessageParams{MaxTokens: 100, Messages: []mcp.SamplingMessage{message}}
			return server.NewInputRequestBuilder("").Sample("sample", params).ToolResult(), nil
		}
		return text("sampled: " + sampled(answer.Content))
	})
	add(s, "roots", "tells the roots of the client", func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer := server.RootsResponse(req.Params.InputResponses, "roots")
		if answer == nil {
			return server.NewInputRequestBuilder("").Roots("roots").ToolResult(), nil
		}
		var uris []string
		for _, root := range answer.Roots {
			uris = append(uris, root.URI)
		}
		return text("roots: " + strings.Join(uris, ","))
	})
}

// sampled returns the text of content, which may be typed or a map.
func sampled(content any) string {
	switch c := content.(type) {
	case mcp.TextContent:
		return c.Text
	case map[string]any:
		return fmt.Sprint(c["text"])
	default:
		return fmt.Sprintf("%T", content)
	}
}

// askAgain keeps the first response in the request state while it asks the second question.
func askAgain(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if color := req.Params.RequestState; color != "" && color != "start" {
		answer := server.ElicitationResponse(req.Params.InputResponses, "shade")
		if answer == nil {
			return mcp.NewToolResultError("no answer about the shade"), nil
		}
		return text(fmt.Sprintf("color=%s %s", color, reply("shade", answer)))
	}
	answer := server.ElicitationResponse(req.Params.InputResponses, "color")
	if answer == nil {
		return server.NewInputRequestBuilder("start").Elicit("color", form("color", "Which color?")).ToolResult(), nil
	}
	if answer.Action != mcp.ElicitationResponseActionAccept {
		return text(reply("color", answer))
	}
	content, _ := answer.Content.(map[string]any)
	color := fmt.Sprint(content["color"])
	return server.NewInputRequestBuilder(color).
		Elicit("shade", form("shade", fmt.Sprintf("Which shade of %s?", color))).ToolResult(), nil
}

func addChanges(s *server.MCPServer, state *bridge.State) {
	add(s, "progress", "tells its progress five times", func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
			return text("progressed")
		}
		for i := 1; i <= 5; i++ {
			params := map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": i, "total": 5, "message": fmt.Sprintf("step %d", i)}
			if err := s.SendNotificationToClient(ctx, "notifications/progress", params); err != nil {
				return nil, err
			}
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond) // TypeScript clients drop notifications that arrive together with the result
		return text("progressed")
	})
	add(s, "logs", "logs three messages", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := 1; i <= 3; i++ {
			message := mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "bridge", fmt.Sprintf("log %d", i))
			if err := s.SendLogMessageToClient(ctx, message); err != nil {
				return nil, err
			}
			time.Sleep(20 * time.Millisecond) // a notification that is sent together with the result may be lost
		}
		return text("logged")
	})
	add(s, "change_tools", "adds or removes the tool extra", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if !state.ToggleExtra() {
			s.DeleteTools("extra")
			return text("removed")
		}
		add(s, "extra", "comes and goes", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("extra") })
		return text("added")
	})
	add(s, "touch", "changes "+bridge.Watched, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n := state.Touch()
		s.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": bridge.Watched})
		return text(fmt.Sprintf("touched %d", n))
	})
}

func addContent(s *server.MCPServer, state *bridge.State) {
	add(s, "echo", "repeats", func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(req.GetString("text", ""))
	}, mcp.WithString("text", mcp.Required()))
	add(s, "slow", "takes its time", func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(state.Slow(ctx, req.GetInt("ms", 0)))
	}, mcp.WithNumber("ms", mcp.Required()))
	add(s, "was_cancelled", "tells how slow ended", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(state.WasCancelled())
	})
	read := func(text func(uri string) string) func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: text(req.Params.URI)}}, nil
		}
	}
	s.AddResource(mcp.NewResource(bridge.Watched, "watched", mcp.WithResourceDescription("changes")), read(func(string) string { return state.Touched() }))
	s.AddResource(mcp.NewResource(bridge.Static, "static", mcp.WithResourceDescription("stays")), read(func(string) string { return "static text" }))
	s.AddResourceTemplate(mcp.NewResourceTemplate(bridge.Template, "item", mcp.WithTemplateDescription("one item")),
		read(func(uri string) string { return "item " + strings.TrimPrefix(uri, bridge.Item) }))
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithPromptDescription("greets"), mcp.WithArgument("name", mcp.RequiredArgument())),
		func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			message := mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Hello, "+req.Params.Arguments["name"]))
			return mcp.NewGetPromptResult("", []mcp.PromptMessage{message}), nil
		})
}

type completer struct{}

func (completer) CompletePromptArgument(_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: bridge.Names(argument.Value)}, nil
}
