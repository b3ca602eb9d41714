package edge_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// checked is a Sender that requires complete notifications and requests.
type checked struct{ t *testing.T }

func (c checked) Send(_ context.Context, message []byte) error {
	m, fault := jsonrpc.Parse(message, jsonrpc.Limits{})
	if fault != nil || m.Kind == jsonrpc.Response {
		c.t.Errorf("sent %s: %v", message, fault)
	}
	return nil
}

// FuzzConnection sends arbitrary lines. Each gets no response, one, or an array, and everything
// ends when the connection is closed.
func FuzzConnection(f *testing.F) {
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}` + "\n"
	for _, lines := range []string{
		initialize + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		initialize + `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},1]`,
		initialize + `[]` + "\n" + `[1]` + "\n" + `[{"jsonrpc":"2.0","method":"x"}]`,
		initialize + `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"ask"}}` + "\n" + `{"jsonrpc":"2.0","id":"junction-1","result":{"action":"cancel"}}`,
		initialize + `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}` + "\n" + `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a:b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask",` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n" + `{` + "\n" + `"` + "\n" + "\xff\n" + `{"jsonrpc":"2.0","id":1,"result":{},"method":"x"}`,
	} {
		f.Add([]byte(lines))
	}
	e, err := edge.New(asking(), edge.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := e.NewConnection(t.Context(), checked{t}, nil)
		var running sync.WaitGroup
		for i, line := range bytes.Split(data, []byte{'\n'}) {
			if i == 8 {
				break
			}
			job := new(edge.Job)
			if !c.Accept(job, line) {
				continue
			}
			done := make(chan struct{})
			running.Go(func() {
				defer close(done)
				checkResponse(t, line, job.Run(nil))
			})
			select { // jobs that wait are left behind
			case <-done:
			case <-time.After(5 * time.Millisecond):
			}
		}
		c.Close()
		running.Wait()
	})
}

// checkResponse requires nothing, a response, or an array of responses.
func checkResponse(t *testing.T, line, response []byte) {
	responses := [][]byte{response}
	if len(response) > 0 && response[0] == '[' {
		responses = nil
		jsonrpc.EachElement(response, func(one []byte) bool { responses = append(responses, one); return true })
		if len(responses) == 0 || jsonrpc.Valid(response, jsonrpc.Limits{}) != nil {
			t.Errorf("%s\nis answered with %s", line, response)
		}
	}
	for _, one := range responses {
		if one == nil {
			continue
		}
		if m, fault := jsonrpc.Parse(one, jsonrpc.Limits{}); fault != nil || m.Kind != jsonrpc.Response {
			t.Errorf("%s\nis answered with %s: %v", line, response, fault)
		}
	}
}
