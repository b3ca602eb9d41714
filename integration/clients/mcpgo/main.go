// Command mcpgo is a probing client with mcp-go (mark3labs), for both eras.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/junction-mcp/junction/integration/clients/script"
)

func main() {
	script.Main(connect, codeOf)
}

// codeOf returns the JSON-RPC code for an error that the SDK replaced by its own.
func codeOf(err error) (int64, any) {
	for known, code := range map[error]int64{
		mcp.ErrParseError:         mcp.PARSE_ERROR,
		mcp.ErrInvalidRequest:     mcp.INVALID_REQUEST,
		mcp.ErrMethodNotFound:     mcp.METHOD_NOT_FOUND,
		mcp.ErrInvalidParams:      mcp.INVALID_PARAMS,
		mcp.ErrInternalError:      mcp.INTERNAL_ERROR,
		mcp.ErrRequestInterrupted: mcp.REQUEST_INTERRUPTED,
		mcp.ErrResourceNotFound:   mcp.RESOURCE_NOT_FOUND,
	} {
		if errors.Is(err, known) {
			return code, nil
		}
	}
	return 0, nil
}

func connect(ctx context.Context, flags script.Flags, probe *script.Probe) (script.Peer, error) {
	over, err := dial(flags)
	if err != nil {
		return nil, err
	}
	options := []client.ClientOption{
		client.WithElicitationHandler(answers{probe}),
		client.WithSamplingHandler(answers{probe}),
		client.WithRootsHandler(answers{probe}),
	}
	if flags.Revision != "" {
		options = append(options, client.WithProtocolVersion(flags.Revision))
	}
	c := client.NewClient(over, options...)
	c.OnNotification(func(n mcp.JSONRPCNotification) { probe.Event(n.Method, n.Params) })
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "probe-mcpgo", Version: "1.0.0"}
	hello.Params.ProtocolVersion = flags.Revision
	welcome, err := c.Initialize(ctx, hello)
	if err != nil {
		return nil, err
	}
	p := &peer{client: c, probe: probe, welcome: welcome, modern: mcp.IsModernProtocol(c.ProtocolVersion())}
	if err := p.listen(ctx); err != nil {
		probe.Event("listen failed", err.Error()) // a server need not announce changes
	}
	return p, nil
}

func dial(flags script.Flags) (transport.Interface, error) {
	switch {
	case flags.HTTP != "" && flags.Revision != "" && !mcp.IsModernProtocol(flags.Revision):
		// A continuous stream keeps the client in the legacy era, because only that era has such a
		// stream.
		return transport.NewStreamableHTTP(flags.HTTP, transport.WithContinuousListening())
	case flags.HTTP != "":
		return transport.NewStreamableHTTP(flags.HTTP)
	case flags.SSE != "":
		return transport.NewSSE(flags.SSE)
	default:
		return transport.NewStdio(flags.Stdio[0], os.Environ(), flags.Stdio[1:]...), nil
	}
}

type answers struct{ probe *script.Probe }

func (a answers) Elicit(_ context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	action, content := a.probe.Elicit(req.Params.Message, req.Params.Mode, req.Params.RequestedSchema)
	r := &mcp.ElicitationResult{}
	r.Action = mcp.ElicitationResponseAction(action)
	if content != nil {
		r.Content = content
	}
	return r, nil
}

func (a answers) CreateMessage(_ context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	text := ""
	if len(req.Messages) > 0 {
		text = textOf(req.Messages[0].Content)
	}
	r := &mcp.CreateMessageResult{Model: "canned", StopReason: "endTurn"}
	r.Role = mcp.RoleAssistant
	r.Content = mcp.NewTextContent(a.probe.Sample(text))
	return r, nil
}

func (a answers) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	r := &mcp.ListRootsResult{Roots: []mcp.Root{}}
	for _, root := range a.probe.Roots() {
		r.Roots = append(r.Roots, mcp.Root{URI: root.URI, Name: root.Name})
	}
	return r, nil
}

type peer struct {
	client  *client.Client
	probe   *script.Probe
	welcome *mcp.InitializeResult
	modern  bool
	level   string
	tokens  atomic.Int64
	uris    []string
	stop    func()
}

// listen opens the modern stream of notifications with all resources subscribed so far. It waits
// for the acknowledgement, which the SDK passes on as a notification.
func (p *peer) listen(ctx context.Context) (err error) {
	if !p.modern {
		return nil
	}
	if p.stop != nil {
		p.stop()
	}
	p.stop, err = p.client.ListenAsync(context.WithoutCancel(ctx), mcp.SubscriptionFilter{
		ToolsListChanged:      true,
		PromptsListChanged:    true,
		ResourcesListChanged:  true,
		ResourceSubscriptions: p.uris,
	}, func(err error) { p.probe.Event("listen failed", err.Error()) })
	if err != nil {
		return err
	}
	return p.probe.Await("notifications/subscriptions/acknowledged", 5*time.Second)
}

func (p *peer) Connected() script.Connected {
	return script.Connected{
		Revision:     p.client.ProtocolVersion(),
		Server:       p.welcome.ServerInfo,
		Capabilities: p.client.GetServerCapabilities(),
		Instructions: p.welcome.Instructions,
	}
}

func (p *peer) List(ctx context.Context, what string) (names []string, err error) {
	switch what {
	case "tools":
		r, err := p.client.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			return nil, err
		}
		for _, t := range r.Tools {
			names = append(names, t.Name)
		}
	case "resources":
		r, err := p.client.ListResources(ctx, mcp.ListResourcesRequest{})
		if err != nil {
			return nil, err
		}
		for _, resource := range r.Resources {
			names = append(names, resource.URI)
		}
	case "templates":
		r, err := p.client.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
		if err != nil {
			return nil, err
		}
		for _, t := range r.ResourceTemplates {
			names = append(names, t.URITemplate.Raw())
		}
	default:
		r, err := p.client.ListPrompts(ctx, mcp.ListPromptsRequest{})
		if err != nil {
			return nil, err
		}
		for _, prompt := range r.Prompts {
			names = append(names, prompt.Name)
		}
	}
	return names, nil
}

func (p *peer) Call(ctx context.Context, step script.Step) (script.ToolResult, error) {
	var req mcp.CallToolRequest
	req.Params.Name = step.Name
	req.Params.Arguments = step.Arguments
	if step.Arguments == nil {
		req.Params.Arguments = map[string]any{}
	}
	req.Params.Meta = &mcp.Meta{}
	if p.modern && p.level != "" {
		req.Params.Meta.SetLogLevel(mcp.LoggingLevel(p.level))
	}
	if step.Progress {
		req.Params.Meta.ProgressToken = fmt.Sprintf("progress-%d", p.tokens.Add(1))
	}
	r, err := p.client.CallTool(ctx, req)
	if err != nil {
		return script.ToolResult{}, err
	}
	out := script.ToolResult{IsError: r.IsError, Structured: r.StructuredContent}
	var texts []string
	for _, c := range r.Content {
		texts = append(texts, textOf(c))
		out.Types = append(out.Types, strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", c), "mcp.")), "content"))
	}
	out.Text = strings.Join(texts, "\n")
	return out, nil
}

// textOf returns the text of content, which may be typed or a map.
func textOf(content any) string {
	switch c := content.(type) {
	case mcp.TextContent:
		return c.Text
	case mcp.EmbeddedResource:
		if text, ok := c.Resource.(mcp.TextResourceContents); ok {
			return text.Text
		}
	case map[string]any:
		if text, ok := c["text"].(string); ok {
			return text
		}
	}
	return ""
}

func (p *peer) Read(ctx context.Context, uri string) (string, []string, error) {
	var req mcp.ReadResourceRequest
	req.Params.URI = uri
	r, err := p.client.ReadResource(ctx, req)
	if err != nil {
		return "", nil, err
	}
	var texts, uris []string
	for _, c := range r.Contents {
		switch c := c.(type) {
		case mcp.TextResourceContents:
			texts, uris = append(texts, c.Text), append(uris, c.URI)
		case mcp.BlobResourceContents:
			texts, uris = append(texts, fmt.Sprintf("blob:%d", len(c.Blob))), append(uris, c.URI)
		}
	}
	return strings.Join(texts, "\n"), uris, nil
}

func (p *peer) Prompt(ctx context.Context, name string, arguments map[string]string) (string, error) {
	var req mcp.GetPromptRequest
	req.Params.Name = name
	req.Params.Arguments = arguments
	r, err := p.client.GetPrompt(ctx, req)
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
	var req mcp.CompleteRequest
	req.Params.Ref = mcp.PromptReference{Type: ref.Type, Name: ref.Name}
	if ref.Type == "ref/resource" {
		req.Params.Ref = mcp.ResourceReference{Type: ref.Type, URI: ref.URI}
	}
	req.Params.Argument = mcp.CompleteArgument{Name: argument.Name, Value: argument.Value}
	r, err := p.client.Complete(ctx, req)
	if err != nil {
		return nil, err
	}
	return r.Completion.Values, nil
}

// Ping sends server/discover in the modern era, which has no ping.
func (p *peer) Ping(ctx context.Context) error {
	if p.modern {
		_, err := p.client.Discover(ctx, mcp.DiscoverRequest{})
		return err
	}
	return p.client.Ping(ctx)
}

func (p *peer) SetLevel(ctx context.Context, level string) error {
	p.level = level
	if p.modern {
		return nil
	}
	var req mcp.SetLevelRequest
	req.Params.Level = mcp.LoggingLevel(level)
	return p.client.SetLevel(ctx, req)
}

func (p *peer) Subscribe(ctx context.Context, uri string) error {
	if p.modern {
		p.uris = append(p.uris, uri)
		return p.listen(ctx)
	}
	var req mcp.SubscribeRequest
	req.Params.URI = uri
	return p.client.Subscribe(ctx, req)
}

func (p *peer) Unsubscribe(ctx context.Context, uri string) error {
	if p.modern {
		p.uris = slices.DeleteFunc(p.uris, func(u string) bool { return u == uri })
		return p.listen(ctx)
	}
	var req mcp.UnsubscribeRequest
	req.Params.URI = uri
	return p.client.Unsubscribe(ctx, req)
}

func (p *peer) Close() error {
	if p.stop != nil {
		p.stop()
	}
	return p.client.Close()
}
