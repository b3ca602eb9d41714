package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestAnErrorNamesTheServerOnce(t *testing.T) {
	clitest.Alone(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, test := range []struct{ args, want string }{
		{"ping|" + server.URL + "/", `server "` + server.URL + `/": initialize: POST: HTTP status 404: 404 page not found; and not HTTP+SSE either: GET: HTTP status 404: 404 page not found`},
		{"ping|http://127.0.0.1:1/mcp", `server "http://127.0.0.1:1/mcp": initialize: dial tcp 127.0.0.1:1: connect: connection refused; nothing listens there: junction status shows the running gateways, and junction up starts one; a junction proxy ends with a message if its server does not start`},
		{"ping|--|sh|-c|exit 7", `server "sh -c \"exit 7\"": initialize: its output ended; it exited with status 7 and wrote nothing to its standard error`},
	} {
		if got := runs(t, "", strings.Split(test.args, "|")...); got.code != cli.ExitConnection || got.stderr != "junction: "+test.want+"\n" {
			t.Errorf("got %+v\nwant %s", got, test.want)
		}
	}
}
