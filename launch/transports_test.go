package launch

import (
	"testing"

	"github.com/junction-mcp/junction/config"
)

func TestEachKindHasATransport(t *testing.T) {
	for kind := config.Stdio; kind.String() != "unknown"; kind++ {
		if Of(kind) == nil {
			t.Errorf("%v has no row", kind)
		}
	}
	seen := map[string]bool{}
	for _, row := range transports() {
		for _, scheme := range row.schemes {
			if seen[scheme] {
				t.Errorf("two rows have the scheme %s", scheme)
			}
			seen[scheme] = true
		}
	}
}

func TestAddressesAreConnectedTo(t *testing.T) {
	for address, want := range map[string]struct {
		title, cases string
		isWeb        bool
		fault        string
	}{
		"https://example.com/mcp":  {"https://example.com/mcp", "http", true, ""},
		"http+unix:/run/up.sock":   {"http+unix:/run/up.sock", "http", true, ""},
		"http+unix:///run/up.sock": {"http+unix:///run/up.sock", "http", true, ""},
		"unix:/run/a.sock":         {"unix:/run/a.sock", "stdio", false, ""},
		"tcp://localhost:9":        {"tcp:localhost:9", "stdio", false, ""},
		"https:":                   {fault: "SERVER: expected a URL such as https://example.com/mcp"},
		"http+unix:":               {fault: "SERVER: expected a file, such as http+unix:up.sock"},
		"ftp://example.com":        {fault: "SERVER: expected a URL such as https://example.com/mcp"},
	} {
		var l Launcher
		got, err := l.Address(address)
		if err != nil || want.fault != "" {
			if err == nil || err.Error() != want.fault {
				t.Errorf("%s: got error %v, want %q", address, err, want.fault)
			}
			continue
		}
		if got.Title() != want.title || got.By.Name != want.cases || got.IsWeb() != want.isWeb || got.IsProgram() {
			t.Errorf("%s: got %s, by %+v", address, got.Title(), got.By)
		}
	}
}

func TestFlagsAreForSomeTransports(t *testing.T) {
	entry := config.Server{Name: "a", Kind: config.HTTP, URL: "http://localhost"}
	program := config.Server{Name: "b", Kind: config.Stdio, Command: "sh"}
	withEnv, withHeader := Launcher{Env: []string{"A=b"}}, Launcher{Header: []string{"A: b"}}
	for want, try := range map[string]func() error{
		"--header and --env do not apply to a socket":                           func() error { _, err := withEnv.Address("unix:a"); return err },
		"--header is for servers with a URL":                                    func() error { _, err := withHeader.Command("sh", nil); return err },
		`--header is for servers with a URL, and "b" is started by a command`:   func() error { _, err := withHeader.Transport(&program, nil, nil); return err },
		"--env is for servers that are started by a command":                    func() error { _, err := withEnv.Address("http://localhost"); return err },
		`--env is for servers that are started by a command, and "a" has a URL`: func() error { _, err := withEnv.Transport(&entry, nil, nil); return err },
		"--env: expected NAME=VALUE":                                            func() error { _, err := (&Launcher{Env: []string{"x"}}).Command("sh", nil); return err },
	} {
		if err := try(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
