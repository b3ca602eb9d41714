//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/doctor"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A server that worked when it was last connected to, and does not start any more.
func TestServerThatIsGoneIsNotShownAsGood(t *testing.T) {
	clitest.Alone(t)
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const script = `test -e "$1" || { echo "error: $1 is gone" >&2; exit 2; }; exec "$0" serve everything`
	config := configuration(t, map[string]any{"every": map[string]any{"command": "sh", "args": []string{"-c", script, self(t)[0], there}}})
	learn(t, config, 1)
	if err := os.Remove(there); err != nil {
		t.Fatal(err)
	}
	r := serving(t, "up", "--config", config)
	const rest = "not started: 25 tools, 3 resources, 1 template, 4 prompts, as of less than a minute ago"
	runs(t, "", "status").expect(t, cli.ExitOK, rest+"\n1 server: 1 not started · 25 tools\n", "")
	waitFor(t, "the table of up", func() bool { return strings.Contains(r.stderr.String(), rest) })
	runs(t, "", "list", "--config", config).expect(t, cli.ExitOK, "every  (defined in "+config+", 25 tools, not started, as of less than a minute ago)\n", "")
	if got := runs(t, "", "call", r.url, "every__echo", "message=hi"); got.code == cli.ExitOK {
		t.Fatalf("%+v", got)
	}
	runs(t, "", "status").expect(t, cli.ExitOK, "1 server: 1 failed · 0 tools\n", "")
	if s := firstShown(t).Servers[0]; !s.Failing || s.Tools != 0 || !s.Read.IsZero() {
		t.Errorf("%+v", s)
	}
	got := runs(t, "", "list", "--config", config)
	if header, _, _ := strings.Cut(got.stdout, "\n"); !strings.Contains(header, "every  (defined in "+config+", failed: ") || !strings.Contains(header, "is gone") ||
		!strings.HasSuffix(header, " (junction up at "+r.url+"))") || strings.Contains(header, "25 tools") {
		t.Errorf("list: %+v", got)
	}
}

func TestListNamesTheGatewayThatHasTheServer(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "serve", "everything")
	config := configuration(t, map[string]any{"every": map[string]any{"command": argv[0], "args": argv[1:]}})
	learn(t, config, 1)
	r := serving(t, "up", "--config", config)
	runs(t, "", "call", r.url, "every__echo", "message=hi").expect(t, cli.ExitOK, "hi\n", "")
	waitFor(t, "connected", func() bool { return firstShown(t).Servers[0].State == "connected" })
	runs(t, "", "list", "--config", config).expect(t, cli.ExitOK, "every  (defined in "+config+", 25 tools, connected in junction up at "+r.url+")\n", "")
	runs(t, "", "doctor", "--config", config).expect(t, cli.ExitOK, "  ok      running: junction up at "+r.url+" is connected to it, too; doctor opened another connection\n", "")
	sick := &doctor.Report{}
	sick.Fail("start", "the port is taken", "look at its log")
	sick.AddRunning(reach.RunningServers(t.Context(), clitest.PlaceOf(t)).Find(shownEntry(t, config)))
	if want := "junction up at " + r.url + " is connected to it, and the server may allow only one connection; otherwise look at its log"; sick.Links[0].Remedy != want {
		t.Errorf("of a broken link it says %s, want %s", sick.Links[0].Remedy, want)
	}
	other := configuration(t, map[string]any{"every": map[string]any{"command": argv[0], "args": append(argv[1:], "--")}})
	runs(t, "", "list", "--config", other).expect(t, cli.ExitOK, "every  (defined in "+other+", 25 tools)\n", "")
}

// shownEntry is the one server of a configuration.
func shownEntry(t *testing.T, config string) launch.Entry {
	t.Helper()
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Screen: terminal.NewScreen(io.Discard)}})
	a.Launch.Config = []string{config}
	_, entries, err := reach.ConfiguredServers(a)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	return entries[0]
}

func TestPortInUseNamesTheGatewayThatHasIt(t *testing.T) {
	clitest.Alone(t)
	r := serving(t, "up")
	address := strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), launch.EndpointPath)
	runs(t, "", "up", "--http", address).expect(t, cli.ExitConnection, "", fmt.Sprintf("this address is in use by the junction up of process %d, in ", os.Getpid()))
	dir, err := cli.StatusFolder(clitest.PlaceOf(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, fmt.Sprint(os.Getpid(), cli.ControlSuffix))); err != nil { // as that of another home folder is not there
		t.Fatal(err)
	}
	runs(t, "", "up", "--http", address).expect(t, cli.ExitConnection, "", "this address is in use by another junction at "+r.url+", which runs with another home folder or as another user, so junction status does not list it")
	other := httptest.NewServer(streamable.Handler(mcp.NewServer("other", "1")))
	defer other.Close()
	address = strings.TrimPrefix(other.URL, "http://")
	runs(t, "", "up", "--http", address).expect(t, cli.ExitConnection, "", "this address is in use by another server of the Model Context Protocol, at "+other.URL+launch.EndpointPath)
	mute := httptest.NewServer(http.NotFoundHandler())
	defer mute.Close()
	address = strings.TrimPrefix(mute.URL, "http://")
	runs(t, "", "up", "--http", address).expect(t, cli.ExitConnection, "", "this address is in use, perhaps by another junction (junction status lists the running ones); --http 127.0.0.1:0 takes one that is free")
}
