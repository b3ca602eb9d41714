package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// limit is the time limit of a scenario. The suite's own limit is 30 seconds.
const limit = 25 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// run runs the scenario with the server whose URL is the last argument.
func run(ctx context.Context, arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("usage: client URL, with MCP_CONFORMANCE_SCENARIO set")
	}
	name := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	scenario, transport := scenarios[name], streamable.Client
	if strings.HasPrefix(name, "auth/") {
		scenario, transport = useTestTool, authorized(name, os.Getenv("MCP_CONFORMANCE_CONTEXT"))
	}
	if scenario == nil {
		return fmt.Errorf("scenario %q is not known", name)
	}
	details, err := readDetails(os.Getenv("MCP_CONFORMANCE_CONTEXT"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := mcp.DialWith(ctx, transport(arguments[len(arguments)-1]), options())
	if err != nil {
		return err
	}
	defer c.Close()
	return scenario(ctx, c, details)
}

// details holds the details of a scenario.
type details struct {
	ToolCalls []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

func readDetails(text string) (d details, err error) {
	if text == "" {
		return d, nil
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	return d, nil
}

// options returns options with all capabilities that a server can request.
func options() mcp.ClientOptions {
	return mcp.ClientOptions{
		Info:     mcp.Implementation{Name: "junction-conformance-client", Version: "1.0.0"},
		OnElicit: accept,
		OnSample: func(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "none", Content: mcp.SamplingContent{mcp.Text("Paris")}, StopReason: "endTurn"}, nil
		},
		OnRoots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///srv/conformance", Name: "conformance"}}, nil
		},
	}
}

// accept accepts a form. It sets "confirmed" if the form has it, and leaves all other fields to the
// form's defaults.
func accept(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(req.RequestedSchema, &form); err != nil {
		return nil, err
	}
	content := json.RawMessage(`{}`)
	if _, asked := form.Properties["confirmed"]; asked {
		content = json.RawMessage(`{"confirmed":true}`)
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}
