package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
)

// A server with a thousand tools that no provider takes is reported in a few lines.
func TestManyToolsThatAreSetAsideAreReportedInOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, Options{Servers: []Server{faulty(maxFaultsListed + 30)}}, scripted.Say("well"))
		defer s.Close()
		ask(t, s.Conversation(nil), "go")
		reported := s.notices(NoticeLowered)
		if len(reported) != maxFaultsListed+1 || !strings.Contains(reported[maxFaultsListed], "30 more tools") {
			t.Errorf("reported %d times: %q", len(reported), reported)
		}
	})
}

// faulty is a server with so many tools whose schemas no provider takes.
func faulty(n int) Server {
	return Server{Name: "f", Trusted: true, Handler: mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		switch req.Method {
		case "server/discover":
			return mcp.Result{JSON: json.RawMessage(`{"capabilities":{"tools":{}}}`)}, nil
		case "tools/list":
			tools := make([]string, n)
			for i := range tools {
				tools[i] = fmt.Sprintf(`{"name":"t%d","inputSchema":[]}`, i)
			}
			return mcp.Result{JSON: json.RawMessage(`{"tools":[` + strings.Join(tools, ",") + `]}`)}, nil
		}
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no %s", req.Method)
	})}
}
