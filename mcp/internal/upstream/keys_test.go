package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// asksTwice plays a modern server on conn that sends two requests one after the other, under the
// same key. Its result contains the responses.
func asksTwice(conn net.Conn) {
	const head = `{"jsonrpc":"2.0","id":%s,"result":{`
	in := bufio.NewScanner(conn)
	heard := ""
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				RequestState   string
				InputResponses map[string]struct{ Action string }
			}
		}
		_ = json.Unmarshal(in.Bytes(), &m)
		ask := func(state, text string) {
			fmt.Fprintf(conn, head+`"resultType":"input_required","requestState":%q,"inputRequests":{"confirm":{"method":"elicitation/create","params":{"mode":"form","message":%q,"requestedSchema":{"type":"object","properties":{}}}}}}}`+"\n", m.ID, state, text)
		}
		if m.Method == "tools/call" { // others come at any time
			heard += " " + m.Params.InputResponses["confirm"].Action
		}
		switch {
		case m.Method == "server/discover":
			fmt.Fprintf(conn, head+`"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`+"\n", m.ID)
		case m.Method == "tools/call" && m.Params.RequestState == "":
			ask("1", "look?")
		case m.Method == "tools/call" && m.Params.RequestState == "1":
			ask("2", "delete everything?")
		case m.Method == "tools/call":
			fmt.Fprintf(conn, head+`"resultType":"complete","content":[{"type":"text","text":%q}]}}`+"\n", m.ID, strings.TrimSpace(heard))
		}
	}
}

// The keys of a server are valid for one round. The response to a request of the first must not be
// used for one of the second.
func TestAKeyThatIsUsedAgainIsAnotherRequest(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			go asksTwice(far)
			bridge, err := mcp.DialWith(t.Context(), stream.Over(near, "twice"), mcp.ClientOptions{Revision: "2026-07-28", Bridge: true})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := heardByUser(t, bridge, revision), "look? delete everything?: accept decline"; got != want {
				t.Errorf("%s: the user was asked, and the server heard: %s, want %s", revision, got, want)
			}
			bridge.Close()
			far.Close()
		})
	}
}

// heardByUser calls a tool as a client whose user only allows the server to look. It returns the
// messages to the user and the tool's result.
func heardByUser(t *testing.T, bridge mcp.Handler, revision string) string {
	var asked []string
	c, err := mcp.DialWith(t.Context(), stream.Pipe(bridge), mcp.ClientOptions{Revision: revision, OnElicit: func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = append(asked, req.Message)
		if req.Message != "look?" {
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		}
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{}`)}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text, err := mcp.Call[string](t.Context(), c, "x", nil)
	if err != nil {
		t.Error(err)
	}
	return strings.Join(asked, " ") + ": " + text
}

// The same for a legacy server that reuses the id of a request.
func TestAnIDThatIsUsedAgainIsAnotherRequest(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		synctest.Test(t, func(t *testing.T) {
			responses := make(chan string)
			bridge, _ := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{}}`, func(s *playedServer, m message) {
				switch {
				case m.Method == "tools/call":
					heard := ""
					for _, text := range []string{"look?", "delete everything?"} {
						s.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":%q,"requestedSchema":{"type":"object","properties":{}}}}`, text)
						heard += " " + <-responses
					}
					s.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, m.ID, strings.TrimSpace(heard))
				case m.Result != nil:
					var r struct{ Action string }
					_ = json.Unmarshal(m.Result, &r)
					responses <- r.Action
				}
			})
			if got, want := heardByUser(t, bridge, revision), "look? delete everything?: accept decline"; got != want {
				t.Errorf("%s: the user was asked, and the server heard: %s, want %s", revision, got, want)
			}
		})
	}
}
