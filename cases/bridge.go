package cases

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// headerTime is the time limit for the header of a request. It is short because the only client
// runs in this process.
const headerTime = 10 * time.Second

// bridge serves a server over another transport at a loopback address. It does the same as junction
// proxy. The server may send the requests that the callbacks of o handle.
func (c *connection) bridge(ctx context.Context, t *Target, o mcp.ClientOptions) (mcp.Transport, error) {
	back := t.Options
	back.Middleware = nil // only the client that connects to the bridge uses it
	back.Revision, back.Bridge, back.OneClient = c.revision, true, &mcp.Meta{Client: &back.Info, Capabilities: capabilities(o)}
	server, err := mcp.DialWith(ctx, t.Transport, back)
	if err != nil {
		return nil, err
	}
	c.ends = append(c.ends, server.Close)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	serve := mcp.ServeOptions{Logger: o.Logger}
	var endpoint interface {
		http.Handler
		Close()
	}
	url := "http://" + l.Addr().String() + "/"
	var transport mcp.Transport
	if c.transport == SSE {
		endpoint = httpsse.HandlerWith(server, httpsse.Options{ServeOptions: serve})
		transport = httpsse.ClientWith(url, httpsse.ClientOptions{Logger: o.Logger})
	} else {
		endpoint = streamable.HandlerWith(server, streamable.Options{ServeOptions: serve})
		transport = streamable.ClientWith(url, streamable.ClientOptions{Logger: o.Logger})
	}
	web := &http.Server{Handler: endpoint, ReadHeaderTimeout: headerTime}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	c.ends = append(c.ends, func() error {
		endpoint.Close()
		err := web.Close()
		<-ended
		return err
	})
	return transport, nil
}

// capabilities returns the capabilities of a client that has the callbacks of o.
func capabilities(o mcp.ClientOptions) *mcp.ClientCapabilities {
	c := o.Capabilities
	if o.OnElicit != nil {
		c.Elicitation = &mcp.ElicitationCapability{Form: new(struct{}), URL: new(struct{})}
	}
	if o.OnSample != nil {
		c.Sampling = new(mcp.SamplingCapability)
	}
	if o.OnRoots != nil {
		c.Roots = new(mcp.RootsCapability)
	}
	return &c
}
