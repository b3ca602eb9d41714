package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// answers lists results of clients and the output that a tool of the server makes of them.
var answers = []struct{ tool, answer, want string }{
	{"sample", `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}`, "assistant m  t"},
	{"sample", `{"role":"Assistant","content":["a","b"],"stopReason":"END_TURN"}`, "assistant  endTurn a|b"},
	{"sample", `{"content":7,"model":5,"stopReason":null}`, "assistant 5  7"},
	{"sample", `{"content":[{"text":"t"}],"model":null}`, "assistant   t"},
	{"sample", `{"role":"assistant","model":"m"}`, "assistant m  "},
	{"form", `{"action":"Accepted","content":{"age":"7","sure":"TRUE"}}`, "7 true"},
	{"form", `{"action":"accept","content":"{\"age\":7.0,\"sure\":1}"}`, "7 true"},
	{"form", `{"action":"reject","content":""}`, "the user declined"},
	{"form", `{"action":"CANCELED"}`, "the user dismissed the question without a choice"},
	{"form", `{"action":"accept","content":{"age":"many","sure":true}}`, "error"},
	{"form", `{"action":"yes","content":{"age":7,"sure":true}}`, "error"},
	{"roots", `{"roots":"file:///a"}`, "file:///a"},
	{"roots", `{"roots":null}`, ""},
}

// askedOddly returns a server whose tools send requests to their client.
func askedOddly() *mcp.Server {
	s := mcp.NewServer("asking", "1")
	mcp.AddTool(s, "sample", func(ctx context.Context, _ struct{}) (string, error) {
		got, err := mcp.Sample(ctx, mcp.CreateMessageRequest{MaxTokens: 1, Messages: []mcp.SamplingMessage{}})
		if err != nil {
			return "", err
		}
		var texts []string
		for _, block := range got.Content {
			texts = append(texts, block.Text)
		}
		return fmt.Sprintf("%s %s %s %s", got.Role, got.Model, got.StopReason, strings.Join(texts, "|")), nil
	})
	mcp.AddTool(s, "form", func(ctx context.Context, _ struct{}) (string, error) {
		got, err := mcp.Elicit[struct {
			Age  int  `json:"age"`
			Sure bool `json:"sure"`
		}](ctx, "m")
		return fmt.Sprint(got.Age, " ", got.Sure), err
	})
	mcp.AddTool(s, "roots", func(ctx context.Context, _ struct{}) (string, error) {
		got, err := mcp.Roots(ctx)
		var uris []string
		for _, r := range got {
			uris = append(uris, r.URI)
		}
		return strings.Join(uris, " "), err
	})
	return s
}

// A rawClient is a connection on which a test writes the messages.
type rawClient struct {
	t   *testing.T
	w   io.Writer
	out *bufio.Reader
}

func (c *rawClient) send(format string, args ...any) {
	if _, err := fmt.Fprintf(c.w, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
}

type rawMessage struct {
	ID     json.RawMessage
	Method string
	Result struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]json.RawMessage
		IsError       bool
		Content       []struct{ Text string }
	}
	Error json.RawMessage
}

// receive returns the next message that is a response or a request.
func (c *rawClient) receive() (m rawMessage) {
	for m.ID == nil {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		m = rawMessage{}
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Fatalf("%s: %v", line, err)
		}
	}
	return m
}

// call calls a tool, responds to its requests with answer, and returns the tool's text.
func (c *rawClient) call(revision, tool, answer string) string {
	meta := `"progressToken":3.0`
	if revision == "2026-07-28" {
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"sampling":{},"elicitation":{},"roots":{}}`
	}
	c.send(`{"jsonrpc":"2.0","id":3.0,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{%s}}}`, tool, meta)
	m := c.receive()
	for range 3 {
		switch {
		case m.Method != "":
			c.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer)
		case m.Result.ResultType == "input_required":
			responses := ""
			for key := range m.Result.InputRequests {
				responses = fmt.Sprintf("%q:%s", key, answer)
			}
			c.send(`{"jsonrpc":"2.0","id":4e0,"method":"tools/call","params":{"name":%q,"arguments":{},"inputResponses":{%s},"requestState":%q,"_meta":{%s}}}`, tool, responses, m.Result.RequestState, meta)
		case m.Error != nil:
			return "error"
		case m.Result.IsError && strings.HasPrefix(m.Result.Content[0].Text, "the user d"):
			return m.Result.Content[0].Text
		case m.Result.IsError:
			return "error"
		default:
			return m.Result.Content[0].Text
		}
		m = c.receive()
	}
	c.t.Fatal("the server asks more than once")
	return ""
}

// TestOddAnswersOfClients checks that a server, alone and behind a bridge of each era, reads
// malformed results of clients.
func TestOddAnswersOfClients(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, behind := range []string{"", "2025-06-18", "2025-11-25", "2026-07-28"} {
			t.Run(revision+" to "+behind, func(t *testing.T) {
				var h mcp.Handler = askedOddly()
				if behind != "" {
					caps := &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}, Elicitation: &mcp.ElicitationCapability{}, Roots: &mcp.RootsCapability{}}
					c, err := mcp.DialWith(t.Context(), stream.Pipe(h), mcp.ClientOptions{Revision: behind, Bridge: true, OneClient: &mcp.Meta{Client: &mcp.Implementation{Name: "raw", Version: "1"}, Capabilities: caps}, Logger: quiet})
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					h = c
				}
				near, far := net.Pipe()
				served := make(chan error, 1)
				go func() { served <- stream.ServeConnWith(t.Context(), far, h, mcp.ServeOptions{Logger: quiet}) }()
				c := &rawClient{t, near, bufio.NewReader(near)}
				if revision != "2026-07-28" {
					c.send(`{"jsonrpc":"2.0","id":1.0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{"sampling":{},"elicitation":{},"roots":{}},"clientInfo":{"name":"raw","version":"1"}}}`, revision)
					c.receive()
					c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				}
				for _, tt := range answers {
					want := tt.want
					if behind == "2025-06-18" { // content is one block there
						want = strings.ReplaceAll(want, "a|b", "a\nb")
					}
					if got := c.call(revision, tt.tool, tt.answer); got != want {
						t.Errorf("%s of %s: got %q, want %q", tt.tool, tt.answer, got, want)
					}
				}
				near.Close()
				<-served
			})
		}
	}
}
