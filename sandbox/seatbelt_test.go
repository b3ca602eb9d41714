package sandbox

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rulesOf returns a profile of sandbox-exec with its parameters filled in, one line for each rule.
func rulesOf(t *testing.T, argv []string) (rules []string, program []string) {
	t.Helper()
	if len(argv) < 3 || argv[0] != "/usr/bin/sandbox-exec" || argv[1] != "-p" {
		t.Fatalf("got %q", argv)
	}
	text, values := argv[2], map[string]string{}
	rest := argv[3:]
	for len(rest) > 1 && rest[0] == "-D" {
		name, value, _ := strings.Cut(rest[1], "=")
		values[name] = value
		rest = rest[2:]
	}
	if len(rest) == 0 || rest[0] != "--" {
		t.Fatalf("the program does not stand behind --: %q", rest)
	}
	depth := 0
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			t.Fatalf("a bracket too much at %d of\n%s", i, text)
		}
	}
	if depth != 0 {
		t.Fatalf("%d brackets are open in\n%s", depth, text)
	}
	used := map[string]bool{}
	text = regexp.MustCompile(`\(param "([^"]*)"\)`).ReplaceAllStringFunc(text, func(found string) string {
		name := strings.Split(found, `"`)[1]
		if _, ok := values[name]; !ok {
			t.Errorf("%s has no value", found)
		}
		used[name] = true
		return values[name]
	})
	if len(used) != len(values) {
		t.Errorf("%d of %d parameters are used", len(used), len(values))
	}
	return strings.Split(strings.TrimSpace(text), "\n"), rest[1:]
}

func TestMacOSRulesFollowTheProfile(t *testing.T) {
	for _, c := range []struct {
		name string
		l    outsourced
		want []string // in addition to the rules of all programs
		env  []string
	}{
		{"nothing is allowed", outsourced{argv: []string{"/usr/bin/env", "x"}, temp: "/private/tmp/j1"}, []string{
			"(allow file-read-metadata (literal /private))",
			"(allow file-read-metadata (literal /private/tmp))",
			"(allow file-read-metadata (literal /usr))",
			"(allow file-read-metadata (literal /usr/bin))",
			"(allow file-read* (subpath /usr/bin/env))",
			"(allow file-read* file-write* (subpath /private/tmp/j1))",
		}, []string{"TMPDIR=/private/tmp/j1"}},
		{"a folder to read, one to write and a host", outsourced{argv: []string{"/opt/node", "a.js"}, temp: "/t", proxy: "127.0.0.1:4711",
			profile: Profile{Read: []string{"/Users/u/notes", "/c/pkg"}, Write: []string{"/Users/u/out"}, Hosts: []string{"api.example.com"}}}, []string{
			"(allow file-read-metadata (literal /Users))",
			"(allow file-read-metadata (literal /Users/u))",
			"(allow file-read-metadata (literal /c))",
			"(allow file-read-metadata (literal /opt))",
			"(allow file-read* (subpath /opt/node))",
			"(allow file-read* (subpath /Users/u/notes))",
			"(allow file-read* (subpath /c/pkg))",
			"(allow file-read* file-write* (subpath /t))",
			"(allow file-read* file-write* (subpath /Users/u/out))",
			`(allow network-outbound (remote tcp "localhost:4711"))`,
		}, []string{"TMPDIR=/t", "HTTP_PROXY=http://127.0.0.1:4711", "HTTPS_PROXY=http://127.0.0.1:4711", "http_proxy=http://127.0.0.1:4711", "https_proxy=http://127.0.0.1:4711", "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1"}},
		{"a name of a folder is no rule", outsourced{argv: []string{"/x"}, temp: "/t", profile: Profile{Read: []string{`/a")) (allow default) ((subpath "/b`}}}, []string{
			`(allow file-read-metadata (literal /a")) (allow default) ((subpath "))`,
			"(allow file-read* (subpath /x))",
			`(allow file-read* (subpath /a")) (allow default) ((subpath "/b))`,
			"(allow file-read* file-write* (subpath /t))",
		}, []string{"TMPDIR=/t"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			argv, env, err := seatbelt(c.l)
			if err != nil {
				t.Fatal(err)
			}
			rules, program := rulesOf(t, argv)
			common := strings.Split(strings.TrimSpace(seatbeltSystem), "\n")
			if !slices.Equal(rules[:len(common)], common) || rules[0] != "(version 1)" || rules[1] != "(deny default)" {
				t.Errorf("it does not begin with what all have: %q", rules)
			}
			if got := rules[len(common):]; !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if !slices.Equal(program, c.l.argv) || !slices.Equal(env, c.env) {
				t.Errorf("the program is %q with %q", program, env)
			}
		})
	}
}

func TestNoRuleOfMacOSAllowsMoreThanItSays(t *testing.T) {
	for line := range strings.Lines(seatbeltSystem) {
		for _, wide := range []string{"(allow default)", "network", "mach-lookup)", "file-write* ", "(subpath \"/\")", "\"/Users", "\"/private/var\")(", "appleevent", "\"com.apple.securityd", "pasteboard"} {
			if strings.Contains(line, wide) {
				t.Errorf("%q allows %s", line, wide)
			}
		}
	}
}

// A later rule can refuse what an earlier one allows: the last match counts.
func TestMacOSHidesVariablesAndTheUsersVolume(t *testing.T) {
	rules := strings.Split(seatbeltSystem, "\n")
	for _, c := range []struct{ wide, deny string }{
		{"(allow sysctl-read)", `(deny sysctl-read (sysctl-name-prefix "kern.procargs"))`}, // arguments and environment of every program of this user
		{`(subpath "/System")`, `(deny file-read* (subpath "/System/Volumes/Data"))`},      // real location of all files of the user
	} {
		wide := slices.IndexFunc(rules, func(rule string) bool { return strings.Contains(rule, c.wide) })
		if deny := slices.Index(rules, c.deny); wide < 0 || deny < wide {
			t.Errorf("%s stands at %d, and %s at %d", c.wide, wide, c.deny, deny)
		}
	}
}

func TestMacOSReachesOnlyAProxyOfThisMachine(t *testing.T) {
	for _, proxy := range []string{"10.0.0.1:80", "localhost:80", "127.0.0.1", "127.0.0.1:80\")) (allow default", "127.0.0.1:", ":80"} {
		if argv, _, err := seatbelt(outsourced{argv: []string{"/x"}, temp: "/t", proxy: proxy}); err == nil {
			t.Errorf("%q: %q", proxy, argv)
		}
	}
}
