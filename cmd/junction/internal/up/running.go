package up

import (
	"context"
	"fmt"
	"net"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// usedBy says which junction up has the address of a front, as far as one request tells.
func usedBy(ctx context.Context, a *cli.App, f Front) string {
	host, port, err := net.SplitHostPort(f.HTTP)
	if err != nil {
		return ""
	}
	if at := net.ParseIP(host); host == "" || at != nil && at.IsUnspecified() {
		host = "127.0.0.1"
	}
	url := "http://" + net.JoinHostPort(host, port) + launch.EndpointPath
	ups, _ := cli.Instances(ctx, a.Place) // a folder that cannot be read has none
	for _, up := range ups {
		if up.Endpoint == url {
			return fmt.Sprintf(" by the junction up of process %d, in %s, which serves at %s", up.PID, a.Short(up.Folder), url)
		}
	}
	o := mcp.ClientOptions{Name: url, Revision: revision.Latest().Name, ConnectTimeout: cli.StatusTime, Logger: a.Logger()}
	c, err := mcp.DialWith(ctx, streamable.ClientWith(url, streamable.ClientOptions{Logger: a.Logger()}), o)
	if err != nil {
		return ", perhaps by another junction (junction status lists those that run)"
	}
	defer c.Close()
	if s := c.Server(); s == nil || s.Name != "junction" {
		return " by another server of the Model Context Protocol, at " + url
	}
	return " by another junction at " + url + ", which junction status does not list, as it was started with another home folder or as another user"
}
