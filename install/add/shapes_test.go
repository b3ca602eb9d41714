package add

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/registry"
)

// A packageShape is a server.json in a common form, and the entry made from it.
type packageShape struct {
	name  string
	way   string   // its first package, or after "remote " its first remote
	set   []string // values of --set
	info  string   // command line that junction server info shows
	asked string   // values that must be given
	entry string   // command line of the entry, or its URL
	env   string   // variables or headers of the entry
	notes string
}

// madeOf returns the result for a shape.
func madeOf(t *testing.T, s packageShape) packageShape {
	t.Helper()
	text := `{"name": "io.example/tracker", "version": "1.0.0", "description": "d", "packages": [` + s.way + `]}`
	if way, is := strings.CutPrefix(s.way, "remote "); is {
		text = `{"name": "io.example/tracker", "version": "1.0.0", "description": "d", "remotes": [` + way + `]}`
	}
	server, err := registry.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	w := &addition{Adder: adder(t), name: "tracker", server: server, entry: &registry.Entry{Server: server}, secrets: map[string]string{}, Options: Options{Yes: true, Set: s.set}}
	got := packageShape{name: s.name, way: s.way, set: s.set}
	if len(server.Remotes) > 0 {
		w.remote = &server.Remotes[0]
	} else {
		w.pkg = &server.Packages[0]
		line, err := w.pkg.Line(registry.Known, true)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		p := packageOf(w.pkg)
		p.Bin, p.With = line.Program, line.With
		w.locked = &install.Locked{Package: p, Integrity: "sha256:00"}
		if p.Type == install.OCI {
			w.locked.Name, _, _ = strings.Cut(p.Name, ":")
		}
		w.program = &install.Program{Dir: t.TempDir(), Argv: []string{"x"}}
		got.info = strings.Join(w.pkg.CommandLine(), " ")
	}
	var asked []string
	for _, n := range w.missing(t.Context()) {
		asked = append(asked, n.Name)
	}
	got.asked = strings.Join(asked, " ")
	if err := w.fill(t.Context()); err != nil {
		got.entry = "error: " + err.Error()
		return got
	}
	got.entry = strings.TrimSpace(w.written.URL + strings.Join(append([]string{w.written.Command}, w.written.Args...), " "))
	var env []string
	for _, all := range []map[string]string{w.written.Env, w.written.Headers} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			env = append(env, name+"="+all[name])
		}
	}
	got.env, got.notes = strings.Join(env, "; "), strings.Join(w.notes, "\n")
	return got
}

func TestInfoAndAddMakeTheSameCommandLine(t *testing.T) {
	alone(t)
	for _, s := range packageShapes() {
		if got := madeOf(t, s); fmt.Sprint(got) != fmt.Sprint(s) {
			t.Errorf("%s\n got info  %q\n     asked %q\n     entry %q\n     env   %q\n     notes %q\nwant info  %q\n     asked %q\n     entry %q\n     env   %q\n     notes %q", s.name,
				got.info, got.asked, got.entry, got.env, got.notes, s.info, s.asked, s.entry, s.env, s.notes)
		}
	}
}

// bundle returns the program of a bundle with these arguments, variables and settings.
func bundle(t *testing.T, args []string, env map[string]string, config map[string]install.Setting) *install.Program {
	t.Helper()
	return &install.Program{Dir: t.TempDir(), Argv: append([]string{"/usr/bin/node"}, args...), Env: env, Config: config}
}

func TestSettingsOfABundleFillItsProgram(t *testing.T) {
	alone(t)
	folder, limit := t.TempDir(), 9.0
	setting := func(kind string) install.Setting { return install.Setting{Type: kind, Title: "T", Description: "d"} }
	required := func(s install.Setting) install.Setting { s.Required = true; return s }
	with := func(s install.Setting, value string) install.Setting { s.Default = []byte(value); return s }
	secret, several, bounded := setting("string"), setting("directory"), setting("number")
	secret.Sensitive, several.Multiple, bounded.Max = true, true, &limit
	for _, test := range []struct {
		name  string
		args  []string
		env   map[string]string
		has   map[string]install.Setting
		set   []string
		asked string
		entry string // variables of the entry
		argv  string
		given string // variables of the program
		fails string
	}{
		{"a secret", []string{"--key"}, map[string]string{"KEY": "${user_config.key}"}, map[string]install.Setting{"key": required(secret)}, []string{"key=s3cret"}, "key",
			"user_config.key=${secret:notes.key}", "--key", "KEY=s3cret", ""},
		{"a secret that is missing", nil, map[string]string{"KEY": "${user_config.key}"}, map[string]install.Setting{"key": required(secret)}, nil, "key", "", "", "",
			`notes needs key (there is no terminal for questions): give it with --set "key=…"`},
		{"an optional setting", []string{"${user_config.mode}", "-m=${user_config.mode}"}, map[string]string{"MODE": "${user_config.mode}"}, map[string]install.Setting{"mode": setting("string")}, nil, "", "", "-m=", "", ""},
		{"a default", []string{"-m=${user_config.mode}"}, map[string]string{"MODE": "${user_config.mode}"}, map[string]install.Setting{"mode": required(with(setting("string"), `"safe"`))}, nil, "", "", "-m=safe", "MODE=safe", ""},
		{"another value than the default", []string{"-m=${user_config.mode}"}, nil, map[string]install.Setting{"mode": with(setting("string"), `"safe"`)}, []string{"mode=fast"}, "", "user_config.mode=fast", "-m=fast", "", ""},
		{"several folders", []string{"${user_config.in}", "--all=${user_config.in}"}, nil, map[string]install.Setting{"in": required(several)}, []string{"in=" + folder, "in=/b"}, "in",
			`user_config.in=["` + folder + `","/b"]`, folder + " /b --all=" + folder + ",/b", "", ""},
		{"one folder of several", []string{"${user_config.in}"}, nil, map[string]install.Setting{"in": required(several)}, []string{"in=" + folder}, "in", "user_config.in=" + folder, folder, "", ""},
		{"a default in the home folder", []string{"${user_config.in}"}, nil, map[string]install.Setting{"in": with(several, `["${HOME}/a","${DESKTOP}"]`)}, nil, "", "", "$HOME/a $HOME/Desktop", "", ""},
		{"a number", nil, map[string]string{"MAX": "${user_config.max}"}, map[string]install.Setting{"max": with(bounded, "5")}, []string{"max=7.5"}, "", "user_config.max=7.5", "", "MAX=7.5", ""},
		{"a number beyond its bounds", nil, nil, map[string]install.Setting{"max": bounded}, []string{"max=10"}, "", "", "", "", `max: has the value "10", which is not a number to 9`},
		{"a boolean", []string{"--on=${user_config.on}"}, nil, map[string]install.Setting{"on": with(setting("boolean"), "true")}, []string{"on=false"}, "", "user_config.on=false", "--on=false", "", ""},
		{"no boolean", nil, nil, map[string]install.Setting{"on": setting("boolean")}, []string{"on=yes"}, "", "", "", "", `on: has the value "yes", which is not true or false`},
		{"two values for one", nil, nil, map[string]install.Setting{"mode": setting("string")}, []string{"mode=a", "mode=b"}, "", "", "", "", "--set mode: notes takes one value for it, got 2"},
		{"a setting that there is not", nil, nil, map[string]install.Setting{"mode": setting("string")}, []string{"x=a"}, "", "", "", "", "--set x: notes has no such value; it has mode"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &addition{Adder: adder(t), name: "notes", server: &registry.Server{Name: "notes"}, pkg: &registry.Package{RegistryType: "mcpb"}, secrets: map[string]string{}, Options: Options{Yes: true, Set: test.set},
				locked: &install.Locked{Package: install.Package{Type: "mcpb", Name: "/notes.mcpb"}, Program: append([]string{"node"}, test.args...)}, program: bundle(t, test.args, test.env, test.has)}
			var asked []string
			for _, n := range w.needs() {
				if n.IsRequired {
					asked = append(asked, n.Name)
				}
			}
			err := w.fill(t.Context())
			if test.fails != "" || err != nil {
				if err == nil || err.Error() != test.fails {
					t.Fatalf("error %v, want %s", err, test.fails)
				}
				return
			}
			home, _ := os.UserHomeDir()
			var entry, given []string
			resolved := map[string]string{}
			for _, name := range slices.Sorted(maps.Keys(w.written.Env)) {
				entry = append(entry, name+"="+w.written.Env[name])
				resolved[name] = strings.ReplaceAll(w.written.Env[name], "${secret:notes.key}", w.secrets["notes.key"])
			}
			started, err := launch.Replaced(&config.Server{Command: "junction", Args: w.written.Args, Env: resolved}, len(w.words()), w.locked, w.program)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range slices.Sorted(maps.Keys(started.Env)) {
				given = append(given, name+"="+started.Env[name])
			}
			argv := strings.ReplaceAll(strings.Join(started.Args, " "), home, "$HOME")
			if strings.Join(asked, " ") != test.asked || strings.Join(entry, " ") != test.entry || argv != test.argv || strings.Join(given, " ") != test.given {
				t.Errorf("asked %q, entry %q, started %q with %q", asked, entry, argv, given)
			}
			if strings.Contains(strings.Join(w.shownProgram(), " "), "${user_config") {
				t.Errorf("shown is %q", w.shownProgram())
			}
			if err := w.confine(); err != nil || slices.Contains(test.set, "in="+folder) && !slices.Contains(w.sandbox.Write, w.Launcher.Place.Tilde(folder)) {
				t.Errorf("it may %+v, %v", w.sandbox, err)
			}
		})
	}
}

func TestInstalledProgramsReplaceTheirRunner(t *testing.T) {
	program := &install.Program{Argv: []string{"/bin/x"}, Env: map[string]string{"A": "1", "B": "1"}, Passed: []string{"B", "TOKEN"}}
	entry := &config.Server{Command: "dnx", Args: []string{"X@1", "--yes", "--", "go", "--"}, Env: map[string]string{"B": "2"}, Unset: []string{"U"}}
	now, err := launch.Replaced(entry, 3, &install.Locked{Package: install.Package{Type: install.NuGet}}, program)
	if err != nil || now.Command != "/bin/x" || !slices.Equal(now.Args, []string{"go", "--"}) || !maps.Equal(now.Env, map[string]string{"A": "1", "B": "2"}) || !slices.Equal(now.Unset, []string{"U", "TOKEN"}) {
		t.Errorf("%+v, %v", now, err)
	}
	program.Config = map[string]install.Setting{"key": {Type: "string", Required: true}}
	if _, err := launch.Replaced(entry, 3, &install.Locked{}, program); err == nil || err.Error() != `its setting "key" is required and has no value; it comes from the variable user_config.NAME of its entry` {
		t.Errorf("the error is %v", err)
	}
}
