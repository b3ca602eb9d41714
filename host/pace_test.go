package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model/scripted"
)

func TestAPaceGivesBackWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		take := func() (n int) {
			for {
				ok, _ := p.next()
				if !ok {
					return n
				}
				n++
			}
		}
		for _, test := range []struct {
			after time.Duration
			want  int
		}{{0, maxToolNews}, {0, 0}, {toolNewsTime - 1, 0}, {1, 1}, {toolNewsTime / 2, 0}, {toolNewsTime / 2, 1}, {2 * toolNewsTime, 2}, {time.Hour, maxToolNews}} {
			time.Sleep(test.after)
			if got := take(); got != test.want {
				t.Errorf("after %v more there are %d, want %d", test.after, got, test.want)
			}
		}
	})
}

// A server with a thousand tools that no provider takes is told in a few lines.
func TestManyToolsThatAreSetAsideAreToldTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, Options{Servers: []Server{faulty(maxFaultsTold + 30)}}, scripted.Say("well"))
		defer s.Close()
		ask(t, s.Conversation(nil), "go")
		told := s.notices(NoticeLowered)
		if len(told) != maxFaultsTold+1 || !strings.Contains(told[maxFaultsTold], "30 more tools") {
			t.Errorf("told %d times: %q", len(told), told)
		}
	})
}

// faulty is a server with so many tools whose schemas no provider takes.
func faulty(n int) Server {
	return Server{Name: "f", Trusted: true, Handler: mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		switch req.Method {
		case "server/discover":
			return mcp.Result{JSON: json.RawMessage(`{}`)}, nil
		case "tools/list":
			tools := make([]string, n)
			for i := range tools {
				tools[i] = fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"array"}}`, i)
			}
			return mcp.Result{JSON: json.RawMessage(`{"tools":[` + strings.Join(tools, ",") + `]}`)}, nil
		}
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no %s", req.Method)
	})}
}
