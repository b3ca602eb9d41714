package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestContainerTakesOptionsApart(t *testing.T) {
	for _, test := range []struct {
		line    string
		options string // name, value and effect of each
		rest    string
		fails   string
	}{
		{"img a -e", "", "img a -e", ""},
		{"-i --rm -it img", "--interactive Made; --rm Made; -it Made", "img", ""},
		{"-e A=1 --env=B -eC=3 img", "--env A=1 Variable; --env B Variable; --env C=3 Variable", "img", ""},
		{"-v /a:/b --volume=data:/c --mount type=bind,src=/x,dst=/y img", "--volume /a:/b Mount; --volume data:/c Mount; --mount type=bind,src=/x,dst=/y Mount", "img", ""},
		{"-v /anonymous --mount type=volume,dst=/y --mount type=bind,src=/x,dst=/y,bind-propagation=shared img",
			"--volume /anonymous Rights; --mount type=volume,dst=/y Rights; --mount type=bind,src=/x,dst=/y,bind-propagation=shared Rights", "img", ""},
		{"--network=none --net host --network bridge img", "--network none Bound; --network host Rights; --network bridge Rights", "img", ""},
		{"--security-opt no-new-privileges --security-opt=seccomp=unconfined img", "--security-opt no-new-privileges Bound; --security-opt seccomp=unconfined Rights", "img", ""},
		{"--privileged --cap-add SYS_ADMIN --unknown x img", "--privileged Rights; --cap-add SYS_ADMIN Rights; --unknown x Rights", "img", ""},
		{"-dit -p8080:80 -u 0 img", "-dit Rights; --publish 8080:80 Rights; --user 0 Rights", "img", ""},
		{"--rm=false -- img", "--rm false Made", "img", ""},
		{"-i", "--interactive Made", "", "the container has no image"},
		{"-i -e", "--interactive Made; --env Rights", "", "-e has no value"},
	} {
		options, rest, err := Container(strings.Fields(test.line))
		var got []string
		for _, o := range options {
			got = append(got, strings.Join(strings.Fields(fmt.Sprint(o.Name, " ", o.Value, " ", [...]string{"Rights", "Made", "Plain", "Bound", "Variable", "Mount"}[o.Effect])), " "))
		}
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if strings.Join(got, "; ") != test.options || strings.Join(rest, " ") != test.rest || fault != test.fails {
			t.Errorf("%s:\n got %s / %q / %s\nwant %s / %s / %s", test.line, strings.Join(got, "; "), rest, fault, test.options, test.rest, test.fails)
		}
	}
}

func TestTheSourceOfAMountIsOfThisMachine(t *testing.T) {
	for value, want := range map[string]string{"/a:/b:ro": "/a", `C:\a:/b`: `C:\a`, "data:/b": "data", "/b": ""} {
		if got := (Option{Name: "--volume", Value: value}).Source(); got != want {
			t.Errorf("-v %s: %q, want %q", value, got, want)
		}
	}
	for value, want := range map[string]string{"type=bind,src=/a,dst=/b": "/a", "type=bind,source=/a b,dst=/b,readonly": "/a b", "type=tmpfs,dst=/b": ""} {
		if got := (Option{Name: "--mount", Value: value}).Source(); got != want {
			t.Errorf("--mount %s: %q, want %q", value, got, want)
		}
	}
}

func TestAMountWithTwoSourcesGivesRights(t *testing.T) {
	for _, value := range []string{"type=bind,src=/a,src=/,dst=/b", "type=bind,source=/a,dst=/b,src=/", "type=bind,type=bind,src=/a,dst=/b"} {
		options, _, _ := Container([]string{"--mount", value, "image"})
		if len(options) != 1 || options[0].Effect != Rights {
			t.Errorf("--mount %s: %+v", value, options)
		}
	}
}

func TestChooseNeverRunsAnotherPackage(t *testing.T) {
	npm, pypi := Package{Kind: "npm", Name: "@acme/a", Version: "1"}, Package{Kind: "pypi", Name: "acme-a", Version: "1"}
	for _, test := range []struct {
		p    Package
		line string
		want string // words to keep, then the program, then the dropped words
		rest string
	}{
		{npm, "npx -y @acme/a", "", ""},
		{npm, "npm exec --yes @acme/a@2 serve", "", "serve"},
		{npm, "-y run-a --port 1", "run-a;", "--port 1"},
		{npm, "run-a @acme/a@1 --port 1", "run-a;", "--port 1"},
		{npm, "--package @other/b --quiet", "--quiet ! --package @other/b", ""},
		{npm, "-p @acme/a run-a", "run-a;", ""},
		{npm, "-c whoami --registry=https://x.example --cache /c", "--cache /c ! -c whoami ! --registry=https://x.example", ""},
		{npm, "./x https://x.example/a.tgz @other/b", "! ./x ! https://x.example/a.tgz ! @other/b", ""},
		{npm, "-registry=https://x.example ---registry=https://x.example --regis=https://x.example -package=@other/b", "! -registry=https://x.example ! ---registry=https://x.example ! --regis=https://x.example ! -package=@other/b", ""},
		{npm, "--@acme:registry=https://x.example --cache --regis=https://x.example -q", "-q ! --@acme:registry=https://x.example ! --cache ! --regis=https://x.example", ""},
		{pypi, "-wgit+https://x.example/a -ihttps://x.example -f=https://x.example", "! -wgit+https://x.example/a ! -ihttps://x.example ! -f=https://x.example", ""},
		{pypi, "--override=https://x.example/o --constraint=c --trusted-host=x.example -p3.12", "-p3.12 ! --override=https://x.example/o ! --constraint=c ! --trusted-host=x.example", ""},
		{Package{Kind: "nuget", Name: "Acme.A", Version: "1"}, "--source:https://x.example --framework --source:https://x.example", "! --source:https://x.example ! --framework ! --source:https://x.example", ""},
		{pypi, "uv tool run --python 3.12 --from acme_a==1 a go", "--python 3.12 a;", "go"},
		{pypi, "--from git+https://x.example/a a", "a; ! --from git+https://x.example/a", ""},
		{pypi, "--with mcp<2 --with ./local --index-url https://x.example", "--with mcp<2 ! --with ./local ! --index-url https://x.example", ""},
		{Package{Kind: "pypi", Name: "acme-a[x]", Version: "1"}, "acme-a go", "acme-a;", "go"},
		{Package{Kind: "pypi", Name: "acme-a[x]", Version: "1"}, "acme-a[x]==2 acme-a[y] go", "", "acme-a[y] go"},
		{Package{Kind: "nuget", Name: "Acme.A", Version: "1"}, "--yes --version 2 --source https://x.example --prerelease", "--prerelease ! --source https://x.example", ""},
	} {
		words := strings.Fields(test.line)
		choices, rest := Choose(test.p, words)
		var kept, out []string
		for _, c := range choices {
			kept = append(kept, c.Words...)
			if c.Program != "" {
				kept = append(kept, c.Program+";")
			}
			if c.Why != "" {
				out = append(out, "! "+strings.Join(words[c.At:c.At+c.Len], " "))
			}
		}
		if got := strings.Join(slices.Concat(kept, out), " "); got != test.want || strings.Join(rest, " ") != test.rest {
			t.Errorf("%s %s:\n got %s / %q\nwant %s / %s", test.p.Kind, test.line, got, rest, test.want, test.rest)
		}
	}
}

func TestPackageRunnersAreKnown(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y @scope/server /tmp":          "npx installs @scope/server",
		"/usr/bin/npx --yes server":          "npx installs server",
		"uvx mcp-server-time":                "uvx installs mcp-server-time",
		"dnx Time@1.2 --yes":                 "dnx installs Time@1.2",
		"podman run -i image":                "podman fetches its image",
		"pnpm dlx server":                    "pnpm installs server",
		"pnpm start":                         "",
		"docker run -i --rm -e A image":      "docker fetches its image",
		"docker exec x":                      "",
		"go run ./cmd/server":                "go installs ./cmd/server",
		"cmd /c npx -y server":               "npx installs server",
		"node server.js":                     "",
		"npx":                                "npx installs the server",
		"python -m server":                   "",
		"env npx -y @modelcontextprotocol/a": "npx installs @modelcontextprotocol/a",
	} {
		words := strings.Fields(line)
		if got := Work(words[0], words[1:], false); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
		if got := Work(words[0], words[1:], true); strings.Contains(got, "installs") || strings.Contains(got, "fetches") || (got == "") != (want == "") {
			t.Errorf("%s, when it was started before: %q", line, got)
		}
	}
}

func TestKindsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Kinds() {
		for _, name := range append([]string{k.Type}, k.Prefixes...) {
			if name == "" || seen[name] && name != k.Type {
				t.Errorf("%q names two kinds, or none", name)
			}
			seen[name] = true
		}
		for _, program := range k.Programs {
			if k.Remedies[program] == "" {
				t.Errorf("%s: nothing says how to get %s", k.Type, program)
			}
		}
		if (k.Start == nil) != (k.words == nil) || (k.Prefixes == nil) != (k.Form == "") {
			t.Errorf("%s: its row is not complete", k.Type)
		}
		if Of(k.Type) != k {
			t.Errorf("%s is not found by its type", k.Type)
		}
		if k.Start == nil {
			continue
		}
		words := Package{Kind: k.Type, Name: "Acme.A", Version: "1.0"}.Words()
		if len(words) < len(k.Start) || !slices.Equal(words[:len(k.Start)], k.Start) {
			t.Errorf("%s: the command line %q does not begin with %q", k.Type, words, k.Start)
		}
		if k.IsContainer {
			continue
		}
		if p, n := PackageOf(words); p.Kind != k.Type || p.Name != "Acme.A" || p.Version != "1.0" || n != len(words) {
			t.Errorf("%s: the command line %q is read as %+v, %d", k.Type, words, p, n)
		}
	}
	if Of("gem").Type != "" {
		t.Error("there is a kind gem")
	}
}

func TestNamesAreSplitFromVersions(t *testing.T) {
	for word, want := range map[string][2]string{
		"npm @acme/a@1.0":            {"@acme/a", "1.0"},
		"npm @acme/a":                {"@acme/a", ""},
		"pypi acme-a==1.0":           {"acme-a", "1.0"},
		"pypi acme-a@1.0":            {"acme-a", "1.0"},
		"oci host:5000/a":            {"host:5000/a", ""},
		"oci host:5000/a:1":          {"host:5000/a", "1"},
		"oci host/a@sha256:00":       {"host/a", "sha256:00"},
		"mcpb https://a.example@b/c": {"https://a.example@b/c", ""},
		"folder ./a@1":               {"./a@1", ""},
	} {
		kind, word, _ := strings.Cut(word, " ")
		if name, version := Of(kind).Split(word); name != want[0] || version != want[1] {
			t.Errorf("%s: %q is %q and %q, want %q", kind, word, name, version, want)
		}
	}
}

func TestNamesOfPyPIAreTheSameInManySpellings(t *testing.T) {
	canonical := Of("pypi").Canonical
	for _, name := range []string{"Acme_A", "acme-a", "acme.a", "ACME._-A", "acme-a[extra]"} {
		if got := canonical(name); got != "acme-a" {
			t.Errorf("%s is %s", name, got)
		}
	}
}
