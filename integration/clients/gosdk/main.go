// Command gosdk is a probing client with the official Go SDK, for both eras.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junction-mcp/junction/integration/clients/script"
)

func main() {
	script.Main(connect, func(err error) (int64, any) {
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
			return wire.Code, wire.Data
		}
		return 0, nil
	})
}

func connect(ctx context.Context, flags script.Flags, probe *script.Probe) (script.Peer, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "probe-gosdk", Version: "1.0.0"}, options(probe))
	for _, r := range probe.Answers.Roots {
		client.AddRoots(&mcp.Root{URI: r.URI, Name: r.Name})
	}
	acknowledged := make(chan struct{}, 100)
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/subscriptions/acknowledged" {
				acknowledged <- struct{}{}
			}
			return next(ctx, method, req)
		}
	})
	session, err := client.Connect(ctx, transport(flags), &mcp.ClientSessionOptions{ProtocolVersion: flags.Revision})
	if err != nil {
		return nil, err
	}
	return &peer{session: session, modern: session.InitializeResult().ProtocolVersion == "2026-07-28", acknowledged: acknowledged}, nil
}

func transport(flags script.Flags) mcp.Transport {
	switch {
	case flags.HTTP != "":
		return &mcp.StreamableClientTransport{Endpoint: flags.HTTP}
	case flags.SSE != "":
		return &mcp.SSEClientTransport{Endpoint: flags.SSE}
	default:
		command := exec.Command(flags.Stdio[0], flags.Stdio[1:]...)
		command.Stderr = os.Stderr
		return &mcp.CommandTransport{Command: command, TerminateDuration: time.Second}
	}
}

func options(probe *script.Probe) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			action, content := probe.Elicit(req.Params.Message, req.Params.Mode, req.Params.RequestedSchema)
			return &mcp.ElicitResult{Action: action, Content: content}, nil
		},
		CreateMessageHandler: func(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			text := ""
			if len(req.Params.Messages) > 0 {
				text = textOf(req.Params.Messages[0].Content)
			}
			return &mcp.CreateMessageResult{
				Role: "assistant", Model: "canned", StopReason: "endTurn",
				Content: &mcp.TextContent{Text: probe.Sample(text)},
			}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			probe.Event("notifications/tools/list_changed", nil)
		},
		PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) {
			probe.Event("notifications/prompts/list_changed", nil)
		},
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {
			probe.Event("notifications/resources/list_changed", nil)
		},
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			probe.Event("notifications/resources/updated", req.Params)
		},
		LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
			probe.Event("notifications/message", req.Params)
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			probe.Event("notifications/progress", req.Params)
		},
	}
}

type peer struct {
	session *mcp.ClientSession
	modern  bool
	level   string
	tokens  atomic.Int64

	acknowledged chan struct{} // an element for each subscription that a modern server acknowledged
}

func (p *peer) Connected() script.Connected {
	r := p.session.InitializeResult()
	return script.Connected{Revision: r.ProtocolVersion, Server: r.ServerInfo, Capabilities: r.Capabilities, Instructions: r.Instructions}
}

func (p *peer) List(ctx context.Context, what string) (names []string, err error) {
	switch what {
	case "tools":
		for t, err := range p.session.Tools(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, t.Name)
		}
	case "resources":
		for r, err := range p.session.Resources(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, r.URI)
		}
	case "templates":
		for t, err := range p.session.ResourceTemplates(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, t.URITemplate)
		}
	default:
		for prompt, err := range p.session.Prompts(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, prompt.Name)
		}
	}
	return names, nil
}

func (p *peer) Call(ctx context.Context, step script.Step) (script.ToolResult, error) {
	params := &mcp.CallToolParams{Name: step.Name, Arguments: step.Arguments}
	if step.Arguments == nil {
		params.Arguments = map[string]any{}
	}
	if p.modern && p.level != "" {
		params.Meta = mcp.Meta{"io.modelcontextprotocol/logLevel": p.level}
	}
	if step.Progress {
		params.SetProgressToken(fmt.Sprintf("progress-%d", p.tokens.Add(1)))
	}
	r, err := p.session.CallTool(ctx, params)
	if err != nil {
		return script.ToolResult{}, err
	}
	out := script.ToolResult{IsError: r.IsError, Structured: r.StructuredContent}
	var texts []string
	for _, c := range r.Content {
		texts = append(texts, textOf(c))
		out.Types = append(out.Types, strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", c), "*mcp.")), "content"))
	}
	out.Text = strings.Join(texts, "\n")
	return out, nil
}

func textOf(content mcp.Content) string {
	switch c := content.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.EmbeddedResource:
		return c.Resource.Text
	default:
		return ""
	}
}

func (p *peer) Read(ctx context.Context, uri string) (string, []string, error) {
	r, err := p.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", nil, err
	}
	var texts, uris []string
	for _, c := range r.Contents {
		uris = append(uris, c.URI)
		if c.Blob != nil {
			texts = append(texts, fmt.Sprintf("blob:%d", len(c.Blob)))
		} else {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n"), uris, nil
}

func (p *peer) Prompt(ctx context.Context, name string, arguments map[string]string) (string, error) {
	r, err := p.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: arguments})
	if err != nil {
		return "", err
	}
	var texts []string
	for _, m := range r.Messages {
		texts = append(texts, textOf(m.Content))
	}
	return strings.Join(texts, "\n"), nil
}

func (p *peer) Complete(ctx context.Context, ref script.Ref, argument script.Argument) ([]string, error) {
	r, err := p.session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: ref.Type, Name: ref.Name, URI: ref.URI},
		Argument: mcp.CompleteParamsArgument{Name: argument.Name, Value: argument.Value},
	})
	if err != nil {
		return nil, err
	}
	return r.Completion.Values, nil
}

// Ping lists the tools in the modern era, which has no ping.
func (p *peer) Ping(ctx context.Context) error {
	if p.modern {
		_, err := p.session.ListTools(ctx, nil)
		return err
	}
	return p.session.Ping(ctx, nil)
}

func (p *peer) SetLevel(ctx context.Context, level string) error {
	p.level = level
	if p.modern {
		return nil
	}
	return p.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(level)})
}

// Subscribe waits for the acknowledgement of a modern server; the SDK does not.
func (p *peer) Subscribe(ctx context.Context, uri string) error {
	for p.modern && len(p.acknowledged) > 0 {
		<-p.acknowledged // acknowledgements of the SDK's own subscriptions
	}
	if err := p.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil || !p.modern {
		return err
	}
	select {
	case <-p.acknowledged:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *peer) Unsubscribe(ctx context.Context, uri string) error {
	return p.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
}

func (p *peer) Close() error { return p.session.Close() }
