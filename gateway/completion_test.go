package gateway_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/edit"
	"github.com/junction-mcp/junction/mcp"
)

// Entries that middleware around a member withholds can be neither completed nor subscribed to:
// [gateway.Upstream.Middleware] sees every request to the server.
func TestMiddlewareSeesCompletionsAndSubscriptions(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	t.Cleanup(func() { g.Close() })
	inner := member(t, "files")
	subscribed := make(chan string, 10)
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "subscriptions/listen" {
			subscribed <- string(req.Params)
		}
		return inner.Handle(ctx, req)
	})
	around := edit.Middleware(edit.Options{Keep: func(k edit.Kind, name string) bool {
		return name != "greet" && name != "test://files/item/secret"
	}})
	must(t, g.AddHandler("files", h, around))
	must(t, g.Settle(t.Context()))
	for len(subscribed) > 0 {
		<-subscribed // the subscription of the gateway itself
	}
	c := mcp.NewClient(g)
	if _, err := c.GetPrompt(t.Context(), "files__greet", nil); err == nil {
		t.Fatal("the prompt is not withheld")
	}
	done, err := c.Complete(t.Context(), mcp.CompletionRequest{Ref: mcp.CompletionReference{Type: mcp.RefPrompt, Name: "files__greet"}, Argument: mcp.CompletionArgument{Name: "name", Value: "x"}})
	if err == nil {
		t.Errorf("the withheld prompt is completed: %q", done.Values)
	}
	if _, err := c.ReadResource(t.Context(), "test://files/item/secret"); err == nil {
		t.Fatal("the resource is not withheld")
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = c.Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"test://files/item/secret"}}, func(mcp.Notification) {})
	}()
	got := <-subscribed
	cancel()
	var params struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	must(t, json.Unmarshal([]byte(got), &params))
	if len(params.Notifications.ResourceSubscriptions) > 0 {
		t.Errorf("the withheld resource is subscribed to: %s", got)
	}
}
