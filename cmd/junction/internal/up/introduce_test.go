package up_test

import (
	"net"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
)

// An address for all interfaces of a family is listened at as given. Clients get an address that
// they can use.
func TestAnEndpointIsNamedAsClientsReachIt(t *testing.T) {
	for name, test := range map[string]struct {
		at   string
		f    up.Front
		want string // PORT in place of the port that was taken
	}{
		"an address of this machine":               {"127.0.0.1:0", up.Front{}, "http://127.0.0.1:PORT/mcp"},
		"all addresses":                            {"0.0.0.0:0", up.Front{}, "http://127.0.0.1:PORT/mcp"},
		"all addresses of both families":           {":0", up.Front{}, "http://127.0.0.1:PORT/mcp"},
		"all addresses, with a name":               {"0.0.0.0:0", up.Front{Listen: settings.Listen{Hosts: []string{"tools.example"}}}, "http://tools.example:PORT/mcp"},
		"what a proxy serves, by its origin":       {"0.0.0.0:0", up.Front{Listen: settings.Listen{PublicURL: "https://tools.example"}}, "https://tools.example/mcp"},
		"one address, with a name and an origin":   {"127.0.0.1:0", up.Front{Listen: settings.Listen{Hosts: []string{"a.example"}, PublicURL: "https://tools.example"}}, "https://tools.example/mcp"},
		"an address of this machine, with a name ": {"127.0.0.1:0", up.Front{Listen: settings.Listen{Hosts: []string{"a.example"}}}, "http://127.0.0.1:PORT/mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := up.ListenAt(clitest.PlaceOf(t), test.at)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			if got, want := test.f.Endpoint(l), strings.Replace(test.want, "PORT", port, 1); got != want {
				t.Errorf("got %s, expected %s", got, want)
			}
			host, _, _ := net.SplitHostPort(test.at)
			if at := l.Addr().(*net.TCPAddr); host != "" && at.IP.String() != host {
				t.Errorf("it listens at %s", at)
			}
		})
	}
}

// Naming a file approves all its servers.
func TestTheEntryToPasteHasNoServerThatWasRefused(t *testing.T) {
	t.Parallel()
	const servers = `{"mcpServers":{"a":{"command":"run-a"},"b":{"command":"run-b"},"--tools=search":{"command":"run-c"}}}`
	for name, test := range map[string]struct {
		typed string
		named []string // lists the names on the command line
		want  string   // the part after the file; "none" if there must be no entry
	}{
		"all":                          {"1 2\n", []string{"a", "b"}, " a b"},
		"some of all":                  {"1\n", nil, " a"},
		"some of those that are named": {"2\n", []string{"a", "b"}, " b"},
		"none":                         {"n\n", nil, "none"},
		"none at a time":               {"\n", []string{"a"}, "none"},
		"one whose name is a flag":     {"a\n", nil, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			clitest.Alone(t)
			clitest.Write(t, map[string]string{".git/HEAD": "", ".mcp.json": servers})
			a, _ := clitest.Asking(t, test.typed)
			set, entries, err := reach.ConfiguredServers(a)
			if err != nil {
				t.Fatal(err)
			}
			o := up.Options{Names: test.named, Front: up.Front{Flags: &up.SettingFlags{Set: up.Command(a).Flags()}}}
			if entries, err = reach.SelectServers(entries, set, o.Names); err != nil {
				t.Fatal(err)
			}
			got := up.StdioArgs(a, set, (&up.Served{App: a}).Admit(t.Context(), set, entries, len(o.Names) > 0), o)
			if test.want == "none" && got != nil || test.want != "none" && strings.Join(got, " ") != "up --stdio --config "+set.Files[0].Path+test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
