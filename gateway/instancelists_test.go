package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// The lists of one user's instance are not shown to other users. Each user has a connection to the
// server, and its offer there, such as after a login, belongs to that user. When an instance
// notifies of a change, the lists for all users are read again.
func TestOneUsersInstanceIsHiddenFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		var more atomic.Bool
		must(t, g.Add("mail", gateway.Upstream{Isolation: gateway.PerUser, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
			s := mcp.NewServerWith("mail", "1", mcp.ServerOptions{Logger: quiet})
			s.AddText(mcp.Resource{URI: "mail://help", Name: "help"}, "help")
			if more.Load() {
				s.AddText(mcp.Resource{URI: "mail://notices", Name: "notices"}, "notices")
			}
			letters := 0
			mcp.AddTool(s, "login", func(context.Context, struct{}) (string, error) {
				letters++
				s.AddText(mcp.Resource{URI: fmt.Sprintf("mail://ann/letter-%d", letters), Name: "To the doctor"}, "secret")
				return "", nil
			})
			return mcp.DialWith(ctx, stream.Pipe(s), mcp.ClientOptions{Name: "mail", Bridge: true, Logger: quiet})
		}}))
		must(t, g.Settle(t.Context()))
		listed := func() (uris []string) {
			for r, err := range mcp.NewClientWith(as(g, "ben"), mcp.ClientOptions{NoCache: true}).Resources(t.Context()) {
				must(t, err)
				uris = append(uris, r.URI)
			}
			return uris
		}
		ann := mcp.NewClient(as(g, "ann"))
		for _, want := range [][]string{{"mail://help"}, {"mail://help", "mail://notices"}} {
			_, err := ann.CallTool(t.Context(), "mail__login", nil)
			must(t, err)
			time.Sleep(time.Minute) // the lists are read again
			synctest.Wait()
			if got := listed(); !slices.Equal(got, want) {
				t.Errorf("ben sees %q, want %q", got, want)
			}
			more.Store(true)
		}
	})
}
