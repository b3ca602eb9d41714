package mcp_test

import (
	"context"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A server reads a sensor only while it has a subscriber.
func ExampleServerOptions_onSubscribe() {
	var server *mcp.Server
	server = mcp.NewServerWith("sensors", "1.0", mcp.ServerOptions{
		OnSubscribe: func(ctx context.Context, uri string) error {
			if uri != "sensor://door" {
				return fmt.Errorf("%s cannot be watched", uri)
			}
			go func() {
				for ctx.Err() == nil { // until the last subscriber has left
					time.Sleep(time.Millisecond)
					server.ResourceUpdated(uri)
				}
			}()
			return nil
		},
	})
	server.AddText(mcp.Resource{URI: "sensor://door", Name: "door"}, "closed")

	ctx, cancel := context.WithCancel(context.Background())
	_ = mcp.NewClient(server).ListenWith(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"sensor://door", "sensor://sun"}},
		func(n mcp.Notification) {
			fmt.Println("updated:", n.URI)
			cancel()
		},
		func(agreed mcp.SubscriptionFilter) { fmt.Println("subscribed to", agreed.ResourceSubscriptions) })

	// Output:
	// subscribed to [sensor://door]
	// updated: sensor://door
}
