package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// asking returns a server whose tools ask once and twice, and keep state in between.
func asking() *mcp.Server {
	type form struct {
		Name string `json:"name"`
	}
	s := mcp.NewServer("asking", "1")
	mcp.AddTool(s, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		who, err := mcp.Elicit[form](ctx, "who?")
		return "hello " + who.Name, err
	})
	mcp.AddTool(s, "ask-twice", func(ctx context.Context, _ struct{}) (string, error) {
		var rounds int
		if _, err := mcp.LoadFromLastRound(ctx, "rounds", &rounds); err != nil {
			return "", err
		}
		if err := mcp.SaveForNextRound(ctx, "rounds", rounds+1); err != nil {
			return "", err
		}
		first, err := mcp.Elicit[form](ctx, "first?")
		if err != nil {
			return "", err
		}
		roots, err := mcp.Roots(ctx)
		return fmt.Sprint(first.Name, len(roots), rounds), err
	})
	return s
}

// discard is a Sender that accepts everything.
type discard struct{}

func (discard) Send(context.Context, []byte) error { return nil }

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"roots":{}}}`

// askModern calls a tool and returns its parsed response.
func askModern(t testing.TB, e *edge.Edge, members string) (reply edge.Reply, response jsonrpc.Message, ok bool) {
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + modernMeta + members + `}}`)
	m, fault := jsonrpc.Parse(line, jsonrpc.Limits{})
	if fault != nil {
		return reply, response, false
	}
	reply = e.Modern(t.Context(), nil, &m, edge.From{Out: discard{}})
	response, fault = jsonrpc.Parse(reply.Message, jsonrpc.Limits{})
	if fault != nil || response.Kind != jsonrpc.Response || string(response.ID) != "1" {
		t.Fatalf("%s\nis answered with %s", line, reply.Message)
	}
	if (response.Error == nil) != (reply.Code == 0) || response.Error != nil && response.Error.Code != reply.Code {
		t.Fatalf("%s\nis answered with %s and code %d", line, reply.Message, reply.Code)
	}
	return reply, response, true
}

// FuzzRequestState sends arbitrary responses and states to a tool that asks. The tool asks, answers
// or reports them as invalid. A changed state is never accepted.
func FuzzRequestState(f *testing.F) {
	e, err := edge.New(asking(), edge.Options{})
	if err != nil {
		f.Fatal(err)
	}
	states := map[string]string{}
	keys := map[string]string{}
	for _, tool := range []string{"ask", "ask-twice"} {
		_, first, ok := askModern(f, e, `,"name":"`+tool+`"`)
		if !ok {
			f.Fatal("the tool cannot be called")
		}
		states[tool], _ = jsonrpc.Unquote(first.Members.Get("requestState"))
		jsonrpc.EachMember(first.Members.Get("inputRequests"), func(quoted, _ []byte) bool { keys[tool] = string(quoted); return true })
		if states[tool] == "" || keys[tool] == "" {
			f.Fatalf("the tool asks nothing: %s", first.Result)
		}
		for how := range 4 {
			f.Add(how, tool == "ask", 0, []byte(`{`+keys[tool]+`:{"action":"accept","content":{"name":"Ada"}}}`), []byte(`"x"`))
			f.Add(how, tool == "ask", 30, []byte(`{`+keys[tool]+`:{"action":"decline"},"other":{}}`), []byte(`1`))
			f.Add(how, tool == "ask", 3, []byte(`{`+keys[tool]+`:{"action":"accept","content":{"name":1}}}`), []byte(`null`))
			f.Add(how, tool == "ask", 3, []byte(`[]`), []byte(`""`))
		}
	}
	f.Fuzz(func(t *testing.T, how int, once bool, at int, responses, state []byte) {
		if jsonrpc.Valid(responses, jsonrpc.Limits{}) != nil || jsonrpc.Valid(state, jsonrpc.Limits{}) != nil {
			t.Skip() // they would add members
		}
		tool := "ask-twice"
		if once {
			tool = "ask"
		}
		genuine := states[tool]
		members := `,"name":"` + tool + `","inputResponses":` + string(responses)
		changed := false
		switch how & 3 {
		case 1:
			members += `,"requestState":` + string(state)
		case 2:
			members += `,"requestState":"` + genuine + `"`
		case 3:
			other := []byte(genuine)
			other[uint(at)%uint(len(other))] ^= byte(1 + uint(how>>2)%7)
			changed = !bytes.Equal(other, []byte(genuine))
			members += `,"requestState":` + string(jsonrpc.AppendStringBytes(nil, other))
		}
		_, response, ok := askModern(t, e, members)
		switch {
		case !ok:
			return
		case response.Error != nil:
			if response.Error.Code != mcp.CodeInvalidParams {
				t.Fatalf("%s\nis answered with %v", members, response.Error)
			}
		case changed || how&3 == 1 && !strings.Contains(string(state), genuine[:8]):
			t.Fatalf("%s\nis answered with %s", members, response.Result)
		default:
			checkRound(t, members, &response)
		}
	})
}

// checkRound checks a result: complete, or with requests to the client and a state.
func checkRound(t *testing.T, members string, response *jsonrpc.Message) {
	var result struct {
		ResultType    string
		Content       json.RawMessage
		InputRequests map[string]struct{ Method string }
		RequestState  string
	}
	err := json.Unmarshal(response.Result, &result)
	asks := len(result.InputRequests) > 0 && result.RequestState != "" && result.Content == nil
	done := result.InputRequests == nil && result.RequestState == "" && result.Content != nil
	if err != nil || !(result.ResultType == "input_required" && asks || result.ResultType == "complete" && done) {
		t.Fatalf("%s\nis answered with %s, %v", members, response.Result, err)
	}
}
