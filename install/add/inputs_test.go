package add

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/registry"
)

// A secret stored under the name of another one would be sent to the wrong server.
func TestSecretsOfServersWithOddNamesAreKeptApart(t *testing.T) {
	long := "a-server-whose-name-leaves-no-room-for-that-of-a-variable-behind-it-in-what-it-is-kept-under"
	owner, kept := map[string][2]string{}, regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,100}$`)
	odd := (&addition{name: "日本"}).secretName("KEY") // an author of a server can compute it
	_, guessed, _ := strings.Cut(odd, ".")
	for _, pair := range [][2]string{
		{"tracker", "API_KEY"},
		{"日本", "KEY"}, {"中国", "KEY"}, {"wétter", "KEY"}, {"w_tter", "KEY"},
		{"a/b", "KEY"}, {"a_b", "KEY"}, {"a", "b/KEY"}, {"a", "b_KEY"},
		{"a.b", "KEY"}, {"a", "b.KEY"},
		{long, "API_KEY"}, {long, "API_SECRET"},
		{"__", guessed},
	} {
		name := (&addition{name: pair[0]}).secretName(pair[1])
		if !kept.MatchString(name) {
			t.Errorf("%q: junction secret set refuses %q", pair, name)
		}
		if other, taken := owner[name]; taken {
			t.Errorf("%q and %q are both kept as %s", pair, other, name)
		}
		owner[name] = pair
	}
	if owner["tracker.API_KEY"] != [2]string{"tracker", "API_KEY"} || owner["a.b.KEY"] != [2]string{"a.b", "KEY"} {
		t.Errorf("names that can be had are not as they are read: %q", owner)
	}
}

func TestInputsBecomeAnEntry(t *testing.T) {
	alone(t)
	required := func(in registry.Input) registry.Input { in.IsRequired = true; return in }
	server := &registry.Server{Name: "io.example/tracker", Packages: []registry.Package{{RegistryType: "npm", Identifier: "@x/echo", Transport: registry.Remote{Type: "stdio"},
		PackageArguments: []registry.Argument{
			{Type: "positional", ValueHint: "folder", Input: required(registry.Input{Format: "filepath"})},
			{Type: "named", Name: "--level", Input: required(registry.Input{Default: "low", Choices: []string{"low", "high"}})},
			{Type: "named", Name: "--verbose", Input: registry.Input{Format: "boolean"}},
			{Type: "named", Name: "--region", Input: registry.Input{Value: "eu-{zone}", Variables: map[string]registry.Input{"zone": required(registry.Input{})}}},
		},
		EnvironmentVariables: []registry.Variable{
			{Name: "API_KEY", Input: required(registry.Input{IsSecret: true})},
			{Name: "OPTIONAL"},
			{Name: "FIXED", Input: registry.Input{Value: "yes"}},
		}}}}
	make := func(typed []string, set ...string) (*addition, error) {
		w := &addition{Adder: adder(t, typed...), name: "tracker", server: server, pkg: &server.Packages[0], secrets: map[string]string{}, Options: Options{Set: set, Yes: typed == nil},
			locked: &install.Locked{Package: install.Package{Type: "npm", Name: "@x/echo", Version: "1.0.0"}}}
		return w, w.fill(t.Context())
	}
	if _, err := make(nil); err == nil || err.Error() != `tracker needs folder, zone, API_KEY (there is no terminal for questions): give it with --set "folder=…" --set "zone=…" --set "API_KEY=…"` {
		t.Errorf("the error is %v", err)
	}
	folder := t.TempDir()
	w, err := make(nil, "folder="+folder, "zone=1", "API_KEY=s3cr3t", "verbose=true")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"-y", "@x/echo@1.0.0", folder, "--level", "low", "--verbose", "--region", "eu-1"}; !slices.Equal(w.written.Args, want) {
		t.Errorf("the arguments are %q", w.written.Args)
	}
	if len(w.written.Env) != 2 || w.written.Env["API_KEY"] != "${secret:tracker.API_KEY}" || w.written.Env["FIXED"] != "yes" || w.secrets["tracker.API_KEY"] != "s3cr3t" {
		t.Errorf("the environment is %q, the secrets are %q", w.written.Env, w.secrets)
	}
	if w, err = make([]string{folder, "2", "key"}); err != nil || w.secrets["tracker.API_KEY"] != "key" || !slices.Contains(w.written.Args, "eu-2") {
		t.Errorf("asked for: %v, %q, %q", err, w.written.Args, w.secrets)
	}
	for set, want := range map[string]string{"level=medium": "expected one of low, high", "verbose=2": "expected true or false", "nosuch=1": "has no such value", "zone": "expected KEY=VALUE", "zone=a\nb": "one line"} {
		if _, err := make(nil, "folder="+folder, "zone=1", "API_KEY=x", set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", set, err)
		}
	}
	remote := &registry.Server{Name: "io.example/tracker", Remotes: []registry.Remote{{Type: "streamable-http", URL: "https://{tenant}.example.com/mcp", Variables: map[string]registry.Input{"tenant": required(registry.Input{})},
		Headers: []registry.Variable{{Name: "Authorization", Input: required(registry.Input{Value: "Bearer {token}", Variables: map[string]registry.Input{"token": required(registry.Input{IsSecret: true})}})}}}}}
	w = &addition{Adder: w.Adder, name: "tracker", server: remote, remote: &remote.Remotes[0], secrets: map[string]string{}, Options: Options{Yes: true, Set: []string{"tenant=acme", "token=t0p"}}}
	if err := w.fill(t.Context()); err != nil || w.written.URL != "https://acme.example.com/mcp" || w.written.Headers["Authorization"] != "Bearer ${secret:tracker.token}" || w.secrets["tracker.token"] != "t0p" {
		t.Errorf("%v, %+v, %q", err, w.written, w.secrets)
	}
}
