package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/terminal"
)

// packageSet is where packages come from in tests: versions of them, each of which is a server of this program.
type packageSet struct {
	versions  map[string][]string // what is started, by NAME@VERSION
	newest    map[string]string   // by name
	pulled    map[string]bool
	advice    map[string]install.Advice
	fault     error // of installing
	installed map[string]bool
	dir       string
	kept      []string // by the last Prune
	heard     []string // whose advice or audit was asked for
	known     []install.Vulnerability
	unknown   error // why they cannot be known
	noBins    bool  // no package has another program than its own
}

func newPackageSet(t *testing.T) *packageSet {
	return &packageSet{dir: t.TempDir(), installed: map[string]bool{}, pulled: map[string]bool{}, advice: map[string]install.Advice{},
		newest: map[string]string{"@x/echo": "2.0.0"},
		versions: map[string][]string{
			"@x/echo@1.0.0": self(t, "serve", "everything"),
			"@x/echo@2.0.0": self(t, "serve", "time"),
			"@x/echo@3.0.0": self(t, "nosuchcommand"),
		}}
}

func (s *packageSet) Resolve(_ context.Context, p install.Package) (*install.Locked, error) {
	if p.Version == "" {
		p.Version = s.newest[p.Name]
	}
	if s.versions[s.key(p)] == nil {
		return nil, fmt.Errorf("%s@%s: %w", p.Name, p.Version, install.ErrNotFound)
	}
	if p.Bin != "" && s.noBins {
		return nil, fmt.Errorf("%s: %w %q", p.Name, install.ErrNoProgram, p.Bin)
	}
	return &install.Locked{Package: p, Integrity: "sha512-" + p.Version, Program: []string{"node", "./index.js"}}, nil
}

// key is that of versions, which for a package that is held to something may be one of its own: NAME@VERSION with REQUIREMENT.
func (s *packageSet) key(p install.Package) string {
	key := p.Name + "@" + p.Version
	if held := key + " with " + p.With; s.versions[held] != nil {
		return held
	}
	return key
}

func (s *packageSet) Install(_ context.Context, l *install.Locked) (*install.Program, error) {
	if s.fault != nil {
		return nil, s.fault
	}
	s.installed[s.key(l.Package)] = true
	return s.Open(l)
}

func (s *packageSet) Open(l *install.Locked) (*install.Program, error) {
	key := s.key(l.Package)
	if !s.installed[key] {
		return nil, fmt.Errorf("%s: %w", key, install.ErrNotInstalled)
	}
	return &install.Program{Dir: s.dir, Argv: s.versions[key], Env: map[string]string{asProgram: "1"}}, nil
}

func (s *packageSet) Advice(_ context.Context, l *install.Locked) (install.Advice, error) {
	s.heard = append(s.heard, l.Name)
	advice := s.advice[l.Name+"@"+l.Version]
	advice.Newest = s.newest[l.Name]
	return advice, nil
}

func (s *packageSet) Audit(_ context.Context, l *install.Locked) ([]install.Vulnerability, error) {
	s.heard = append(s.heard, l.Name)
	return s.known, s.unknown
}

func (s *packageSet) Prune(_ context.Context, keep []*install.Locked, _ time.Duration) (int64, error) {
	s.kept = nil
	for _, l := range keep {
		s.kept = append(s.kept, l.Name+"@"+l.Version)
	}
	return 0, nil
}

// runs runs a command line with these packages, and a person who types something, if anything is typed.
func (s *packageSet) runs(t *testing.T, typed string, args ...string) outcome {
	t.Helper()
	var stdout, stderr clitest.SafeBuffer
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Out: terminal.NewScreen(&stdout), Screen: terminal.NewScreen(&stderr)}})
	if typed != "" {
		a.Person = terminal.NewPerson(strings.NewReader(typed), a.Screen)
	}
	a.Launch.Locks.Packages = s
	code := runLine(t.Context(), a, args)
	return outcome{code, stdout.String(), stderr.String()}
}

// pair are a configuration and its lock.
func pair(t *testing.T) (configuration, lock string) {
	t.Helper()
	var texts []string
	for _, name := range []string{"mcp.json", install.LockName} {
		text, err := os.ReadFile(clitest.In(t, filepath.Join("junction", name)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts[0], texts[1]
}

func TestAddedServersStartAsLocked(t *testing.T) {
	clitest.InProcess(t)
	s := newPackageSet(t)
	s.runs(t, "", "add", "npm:@x/echo@1.0.0").expect(t, cli.ExitUsage, "echo is npm:@x/echo 1.0.0", "--yes confirms")
	if configuration, lock := pair(t); configuration+lock != "" {
		t.Errorf("it was written unasked: %s %s", configuration, lock)
	}
	s.runs(t, "no\n", "add", "npm:@x/echo@1.0.0").expect(t, cli.ExitOK, "Nothing was changed.", "")
	s.runs(t, "yes\n", "add", "npm:@x/echo@1.0.0").expect(t, cli.ExitOK, `Added "echo" to`, "")
	const want = "{\n  \"mcpServers\": {\n    \"echo\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"@x/echo@1.0.0\"]\n    }\n  }\n}\n"
	configuration, lock := pair(t)
	if configuration != want {
		t.Errorf("written is %s", configuration)
	}
	for _, part := range []string{`"@x/echo@1.0.0"`, `"integrity": "sha512-1.0.0"`, `"tool echo": "sha256:`} {
		if !strings.Contains(lock, part) {
			t.Errorf("the lock has no %s: %s", part, lock)
		}
	}
	s.versions["@x/files@1.0.0"] = self(t, "serve", "filesystem")
	s.runs(t, "yes\n", "add", "npm:@x/files@1.0.0", "--", "--root", "junction").expect(t, cli.ExitOK, `Added "files" to`, "")
	s.runs(t, "", "call", "files", "list-folder", "path=.", "--frozen").expect(t, cli.ExitOK, install.LockName, "")
	s.runs(t, "", "call", "echo", "echo", "message=hi", "--frozen").expect(t, cli.ExitOK, "hi\n", "")
	s.runs(t, "", "approve").expect(t, cli.ExitOK, "waits for approval", "")
	s.runs(t, "", "add", "npm:@x/echo@2.0.0", "--yes").expect(t, cli.ExitConnection, "", `server "echo" exists already`)
	s.runs(t, "", "doctor", "echo").expect(t, cli.ExitOK, "ok      lock: npm @x/echo 1.0.0", "")

	s.runs(t, "", "remove", "files").expect(t, cli.ExitOK, `Removed "files"`, "")

	delete(s.installed, "@x/echo@1.0.0")
	s.runs(t, "", "call", "echo", "echo", "message=hi", "--frozen").expect(t, cli.ExitConnection, "", "run junction server install")
	s.runs(t, "", "call", "echo", "echo", "message=hi").expect(t, cli.ExitOK, "hi\n", "is installed from ")
	s.runs(t, "", "install").expect(t, cli.ExitOK, "npm:@x/echo 1.0.0 is there", "")
	s.fault = fmt.Errorf("@x/echo: %w", install.ErrIntegrity)
	delete(s.installed, "@x/echo@1.0.0")
	s.runs(t, "", "call", "echo", "echo", "message=hi").expect(t, cli.ExitConnection, "", "has other contents than the lock; nothing was installed. If you changed ~/junction/junction.lock, undo that; otherwise the published package changed: ask its author before you run @x/echo")
	s.runs(t, "", "install").expect(t, cli.ExitConnection, "", "has other contents than the lock")
}

func TestRefusedAddChangesNothing(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.runs(t, "", "add", "npm:@x/echo@1.0.0", "--yes").expect(t, cli.ExitOK, "Added", "")
	configuration, lock := pair(t)
	s.versions["chrome-devtool-mcp@1.0.0"] = s.versions["@x/echo@1.0.0"]
	s.versions["old@1.0.0"], s.advice["old@1.0.0"] = s.versions["@x/echo@1.0.0"], install.Advice{Pulled: true}
	for _, test := range []struct {
		why  string
		args string
		code int
		want string
	}{
		{"a name like a better known one", "npm:chrome-devtool-mcp@1.0.0 --yes", cli.ExitConnection, "one letter"},
		{"a version that was pulled", "npm:old@1.0.0 --yes", cli.ExitConnection, "was withdrawn"},
		{"no such version", "npm:@x/echo@9.9.9 --yes --name other", cli.ExitConnection, "is not in the registry"},
		{"a program that does not start", "npm:@x/echo@3.0.0 --yes --name other", cli.ExitConnection, "does not start"},
		{"a name that is taken", "npm:@x/echo@2.0.0 --yes", cli.ExitConnection, `server "echo" exists already`},
		{"a value that is not asked for", "npm:@x/echo@2.0.0 --yes --name other --set a=b", cli.ExitUsage, "other has no known values"},
		{"two files", "npm:@x/echo --config a --config b", cli.ExitUsage, "one file"},
		{"a kind of packages that there is not", "gem:server --yes", cli.ExitUsage, "use npm:, pypi:"},
		{"no package", "npm:", cli.ExitUsage, "the name of the package is missing"},
		{"a folder that is not there", "./nosuch", cli.ExitConnection, "nosuch"},
	} {
		s.runs(t, "", append([]string{"add"}, strings.Fields(test.args)...)...).expect(t, test.code, "", test.want)
		if c, l := pair(t); c != configuration || l != lock {
			t.Fatalf("%s: written is %s %s", test.why, c, l)
		}
	}
	s.fault = fmt.Errorf("@x/echo@2.0.0: %w", install.ErrIntegrity)
	s.runs(t, "", "add", "npm:@x/echo@2.0.0", "--yes", "--name", "other").expect(t, cli.ExitConnection, "", "has other contents")
	if c, l := pair(t); c != configuration || l != lock {
		t.Fatalf("written is %s %s", c, l)
	}
	s.fault = nil
	s.advice["@x/echo@2.0.0"] = install.Advice{Deprecated: "use \x1b[31mother"}
	s.runs(t, "n\n", "add", "npm:@x/echo@2.0.0", "--name", "other").expect(t, cli.ExitOK, "deprecated: use", "")
}

func TestExistingServersAreReplacedOrKept(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.runs(t, "", "add", "npm:@x/echo@1.0.0", "--yes", "--host", "a.example.com").expect(t, cli.ExitOK, "Added", "")
	before, _ := pair(t)
	asked := `There is a server "echo", defined in ~/junction/mcp.json. [r]eplace it, [k]eep both, this one as "echo2", [N]o >`
	no := s.runs(t, "n\n", "add", "npm:@x/echo@2.0.0")
	if no.stderr = strings.Join(strings.Fields(no.stderr), " "); !strings.Contains(no.stderr, asked) {
		t.Errorf("asked is %s", no.stderr)
	}
	no.expect(t, cli.ExitConnection, "", "and nothing was changed")
	if now, _ := pair(t); now != before {
		t.Errorf("written is %s", now)
	}
	s.runs(t, "r\nn\n", "add", "npm:@x/echo@2.0.0").expect(t, cli.ExitOK, "Nothing was changed.", "")
	if now, _ := pair(t); now != before {
		t.Errorf("written is %s", now)
	}
	s.runs(t, "r\ny\n", "add", "npm:@x/echo@2.0.0").expect(t, cli.ExitOK, "it replaces ", "")
	configuration, lock := pair(t)
	if want := strings.Replace(before, "1.0.0", "2.0.0", 1); configuration != want || strings.Contains(lock, "1.0.0") || strings.Contains(lock, "a.example.com") || strings.Contains(lock, `"next"`) {
		t.Errorf("written is %s %s", configuration, lock)
	}
	s.runs(t, "", "call", "echo", "get_current_time", "timezone=UTC", "--frozen").expect(t, cli.ExitOK, "UTC", "")
	s.runs(t, "k\ny\n", "add", "npm:@x/echo@1.0.0").expect(t, cli.ExitOK, `Added "echo2"`, "")
	s.runs(t, "", "call", "echo2", "echo", "message=hi", "--frozen").expect(t, cli.ExitOK, "hi\n", "")
}

// npx -y launch-echo @x/echo@1.0.0, as its author has it, would start a package launch-echo.
func TestAWordBeforeAPackageStartsNoOtherOne(t *testing.T) {
	for noBins, want := range map[bool]struct{ args, note string }{
		false: {`["-y", "--package=@x/echo@1.0.0", "launch-echo"]`, "launch-echo is treated as a program of the package: at this place npx would take it for another package"},
		true:  {`["-y", "@x/echo@1.0.0"]`, "left out is launch-echo was left out: its author wrote it before the package, but it is not a program of the package and could start another one"},
	} {
		clitest.Alone(t)
		s := newPackageSet(t)
		s.noBins = noBins
		s.versions["@x/echo@1.0.0"] = self(t, "serve", "everything")
		writeBelow(t, ".", "servers/server.json", `{"name": "io.example/tracker", "version": "1.0.0", "description": "d", "packages": [{"registryType": "gem", "identifier": "tracker"},
			{"registryType": "npm", "identifier": "@x/echo", "version": "1.0.0", "runtimeArguments": [{"type": "positional", "value": "launch-echo"}]}]}`)
		got := s.runs(t, "n\n", "add", "io.example/tracker", "--registry", "servers")
		said := strings.Join(strings.Fields(got.stdout), " ")
		words := strings.NewReplacer(`["`, "npx ", `", "`, " ", `"]`, "").Replace(want.args)
		if !strings.Contains(said, want.note) || strings.Count(said, "launch-echo is taken") > 1 || noBins && strings.Contains(said, "is taken for") || !strings.Contains(said, "written "+words+" offers") {
			t.Errorf("%v: %+v", noBins, got)
		}
	}
}

func TestAnUpgradeIsShownBeforeAnythingChanges(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.runs(t, "", "upgrade").expect(t, cli.ExitOK, "Nothing is locked", "")
	s.runs(t, "", "add", "npm:@x/echo@1.0.0", "--yes").expect(t, cli.ExitOK, "Added", "")
	configuration, lock := pair(t)
	s.runs(t, "", "outdated", "--json").expect(t, cli.ExitOK, `{"servers":[{"server":"echo","package":"npm:@x/echo","locked":"1.0.0","newest":"2.0.0"}]}`, "")
	shown := s.runs(t, "n\n", "upgrade")
	shown.expect(t, cli.ExitOK, "echo 1.0.0 becomes 2.0.0", "")
	for _, line := range []string{"gone     tool echo\n", "new      tool get_current_time\n"} {
		if !strings.Contains(shown.stdout, line) {
			t.Errorf("not shown is %q: %s", line, shown.stdout)
		}
	}
	if c, l := pair(t); c != configuration || l != lock {
		t.Fatalf("a no changed %s %s", c, l)
	}
	s.newest["@x/echo"] = "3.0.0"
	s.runs(t, "y\n", "upgrade").expect(t, cli.ExitConnection, "", "does not start")
	if c, l := pair(t); c != configuration || l != lock {
		t.Fatalf("what does not start changed %s %s", c, l)
	}
	s.newest["@x/echo"] = "2.0.0"
	s.runs(t, "y\n", "upgrade", "echo").expect(t, cli.ExitOK, "echo: upgraded to 2.0.0.", "")
	c, l := pair(t)
	if want := strings.Replace(configuration, "1.0.0", "2.0.0", 1); c != want || strings.Contains(l, "1.0.0") || strings.Contains(l, `"next"`) {
		t.Errorf("written is %s %s", c, l)
	}
	s.runs(t, "", "upgrade").expect(t, cli.ExitOK, "echo: 2.0.0 is the newest version.", "")
	s.runs(t, "", "outdated").expect(t, cli.ExitOK, "1 locked server: no newer version.", "")
	s.runs(t, "", "call", "echo", "get_current_time", "timezone=UTC", "--frozen").expect(t, cli.ExitOK, "UTC", "")
	s.runs(t, "", "remove", "echo").expect(t, cli.ExitOK, `Removed "echo"`, "")
	if c, l := pair(t); c != "{\n  \"mcpServers\": {}\n}\n" || strings.Contains(l, "echo") || len(s.kept) != 0 {
		t.Errorf("left are %s %s %q", c, l, s.kept)
	}
}

func TestAnEntryThatIsNotTheLockedOneIsNotStarted(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.runs(t, "", "add", "npm:@x/echo@1.0.0", "--yes").expect(t, cli.ExitOK, "Added", "")
	configuration, lock := pair(t)
	path := filepath.Join("junction", "mcp.json")
	write := func(path, text string) {
		if err := os.WriteFile(clitest.In(t, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path, strings.Replace(configuration, "@1.0.0", "@2.0.0", 1))
	s.runs(t, "", "call", "echo", "echo", "message=hi").expect(t, cli.ExitConnection, "", "junction server upgrade echo")
	s.runs(t, "", "install").expect(t, cli.ExitConnection, "", "does not have the command line that is in the lock")
	s.runs(t, "", "outdated").expect(t, cli.ExitConnection, "", "does not have the command line that is in the lock")
	s.runs(t, "", "upgrade", "echo", "--yes").expect(t, cli.ExitOK, "echo: upgraded to 2.0.0.", "")
	s.runs(t, "", "call", "echo", "get_current_time", "timezone=UTC", "--frozen").expect(t, cli.ExitOK, "UTC", "")

	write(path, configuration)
	write(filepath.Join("junction", install.LockName), lock[:len(lock)/2])
	for _, args := range [][]string{{"call", "echo", "echo", "message=hi"}, {"upgrade", "echo"}, {"install"}} {
		s.runs(t, "", args...).expect(t, cli.ExitConnection, "", "cannot be used")
	}
	if err := os.Remove(clitest.In(t, filepath.Join("junction", install.LockName))); err != nil {
		t.Fatal(err)
	}
	s.runs(t, "", "call", "echo", "echo", "message=hi", "--frozen").expect(t, cli.ExitConnection, "", "--frozen starts only locked servers")
	s.runs(t, "", "call", "echo", "message=hi", "--frozen", "--", "npx", "x").expect(t, cli.ExitUsage, "", "--frozen does not go with a command")
	s.runs(t, "", "upgrade", "echo", "--yes").expect(t, cli.ExitOK, "echo is locked: npm @x/echo 1.0.0", "")
	s.runs(t, "", "call", "echo", "echo", "message=hi", "--frozen").expect(t, cli.ExitOK, "hi\n", "")
}

func TestKnownVulnerabilitiesAreListed(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.runs(t, "", "add", "npm:@x/echo@1.0.0", "--yes").expect(t, cli.ExitOK, "Added", "")
	s.runs(t, "", "audit-deps").expect(t, cli.ExitOK, "0 known problems of 1 locked package.", "")
	s.unknown = errors.New("npm answered 405")
	s.runs(t, "", "audit-deps").expect(t, cli.ExitConnection, "0 known problems of 0 locked packages; 1 could not be audited.", `server "echo": could not be audited: npm answered 405`)
	s.unknown = nil
	s.known = []install.Vulnerability{{Package: "left-pad", Version: "1.0.0", ID: "GHSA-1", Severity: "high", Title: "pads too far", FixedIn: "1.0.1"}}
	s.runs(t, "", "audit-deps").expect(t, cli.ExitToolFailed, "pads too far (fixed in 1.0.1)", "")
	s.runs(t, "", "audit-deps", "--json").expect(t, cli.ExitToolFailed, `{"servers":[{"server":"echo","package":"npm:@x/echo","version":"1.0.0","vulnerabilities":[{"package":"left-pad","version":"1.0.0","id":"GHSA-1","severity":"high","title":"pads too far","fixedIn":"1.0.1"}]}]}`, "")
	s.runs(t, "", "audit-deps", "nosuch").expect(t, cli.ExitConnection, "", `no server is called "nosuch"`)
}

func TestConsentCoversAProjectsLock(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.runs(t, "y\n", "add", "npm:@x/echo@1.0.0", "--project").expect(t, cli.ExitOK, "Added", "")
	s.runs(t, "", "call", "echo", "echo", "message=hi").expect(t, cli.ExitOK, "hi\n", "") // which was consented to when it was added
	lock, err := os.ReadFile(clitest.In(t, install.LockName))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(lock), "./index.js", "./other.js", 1)
	if err := os.WriteFile(clitest.In(t, install.LockName), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	s.runs(t, "", "call", "echo", "echo", "message=hi").expect(t, cli.ExitConnection, "", "there is no terminal for questions")
	s.runs(t, "n\n", "call", "echo", "echo", "message=hi").expect(t, cli.ExitConnection, "", "which junction.lock says is npm @x/echo 1.0.0: node ./other.js")
}

func TestServersAreRemovedTogetherOrNotAtAll(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(`{"mcpServers": {"one": {"command": "x"}, "two": {"command": "y"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.runs(t, "", "remove", "one", "nosuch", "--config", "mcp.json").expect(t, cli.ExitConnection, "", `no server is called "nosuch"`)
	data, err := os.ReadFile(clitest.In(t, "mcp.json"))
	if err != nil || !strings.Contains(string(data), `"one"`) {
		t.Errorf("of what could not be done as a whole something was done: %s %v", data, err)
	}
	s.runs(t, "", "remove", "one", "two", "one", "--config", "mcp.json").expect(t, cli.ExitOK, "Removed \"two\"", "")
}
