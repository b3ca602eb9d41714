package add

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/install"
)

func TestTheCommandLineOfAnEntrySaysWhichPackageItIs(t *testing.T) {
	for line, want := range map[string]struct {
		p install.Package
		n int
	}{
		"npx -y @x/echo@1.0.0 --all":         {install.Package{Type: "npm", Name: "@x/echo", Version: "1.0.0"}, 3},
		"npx @x/echo":                        {install.Package{Type: "npm", Name: "@x/echo"}, 2},
		"npx -y --package=@x/echo@1 run":     {install.Package{Type: "npm", Name: "@x/echo", Version: "1", Bin: "run"}, 4},
		"npx -y -p echo@latest run":          {install.Package{Type: "npm", Name: "echo", Bin: "run"}, 5},
		"uvx time==1.2":                      {install.Package{Type: "pypi", Name: "time", Version: "1.2"}, 2},
		"uvx --from time@1.2 clock --zone x": {install.Package{Type: "pypi", Name: "time", Version: "1.2", Bin: "clock"}, 4},
		"dnx Time@1.2 --yes -- a":            {install.Package{Type: "nuget", Name: "Time", Version: "1.2"}, 3},
		"uvx --with mcp<2 time==1.2":         {install.Package{Type: "pypi", Name: "time", Version: "1.2", With: "mcp<2"}, 4},
		"npx -y echo@^1.0":                   {}, "npx": {}, "npx -y": {}, "npx --registry x echo": {}, "uvx --with a --with b c": {}, "uvx --with a": {}, "node index.js": {}, "npx -y ${PACKAGE}": {}, "npx -y github:x/y": {}, "uvx a[b]": {},
	} {
		p, n := packageOfWords(strings.Fields(line))
		if n != want.n || n > 0 && p != want.p {
			t.Errorf("%s: %+v, %d", line, p, n)
		}
		if n == 0 || p.Version == "" {
			continue
		}
		written := install.CommandLine("x", &install.Locked{Package: p})
		if again, n := packageOfWords(written); again != p || n != len(written) {
			t.Errorf("%s is written as %q, which is read as %+v, %d", line, written, again, n)
		}
	}
}
