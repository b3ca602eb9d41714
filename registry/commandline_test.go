package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/runner"
)

func TestACommandLineIsThatOfTheKindOfPackage(t *testing.T) {
	for text, want := range map[string]string{
		`{"registryType":"npm","identifier":"@x/y","version":"1.2.3"}`:                                                                                                                                                           "npx -y @x/y@1.2.3",
		`{"registryType":"npm","identifier":"@x/y","runtimeHint":"sh"}`:                                                                                                                                                          "npx -y @x/y",
		`{"registryType":"pypi","identifier":"y","version":"1","runtimeArguments":[{"type":"named","name":"--python","value":"3.12"}]}`:                                                                                          "uvx --python 3.12 y==1",
		`{"registryType":"nuget","identifier":"Y","version":"1","packageArguments":[{"type":"positional","value":"mcp"},{"type":"positional","value":"start"}]}`:                                                                 "dnx Y@1 --yes -- mcp start",
		`{"registryType":"oci","identifier":"ghcr.io/x/y:1.0","version":"2","environmentVariables":[{"name":"KEY","isSecret":true}]}`:                                                                                            "docker run -i --rm -e KEY ghcr.io/x/y:1.0",
		`{"registryType":"oci","identifier":"localhost:5000/y","version":"2"}`:                                                                                                                                                   "docker run -i --rm localhost:5000/y:2",
		`{"registryType":"oci","identifier":"y","runtimeArguments":[{"type":"named","name":"--mount","value":"type=bind,src={source},dst=/{dir}/{other}","variables":{"source":{"isRequired":true},"dir":{"default":"data"}}}]}`: "docker run -i --rm --mount type=bind,src=<source>,dst=/data/{other} y",
		`{"registryType":"npm","identifier":"y","packageArguments":[
			{"type":"named","name":"--port","default":"8080"},{"type":"named","name":"--host","isRequired":true},{"type":"named","name":"--quiet","isRequired":true,"format":"boolean","value":""},
			{"type":"named","name":"--verbose"},{"type":"positional","valueHint":"dir","isRequired":true,"isRepeated":true},{"type":"positional","valueHint":"more"}]}`: "npx -y y --port 8080 --host <host> --quiet <quiet> <dir>",
		`{"registryType":"mcpb","identifier":"https://x.example/y.mcpb"}`: "",
		`{"registryType":"cargo","identifier":"y","version":"1"}`:         "",
		`{"registryType":"sh","identifier":"rm -rf /"}`:                   "",
	} {
		s, err := Parse([]byte(`{"name":"a/b","version":"1","packages":[` + text + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Packages[0].CommandLine(), " "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

// FuzzCommandLine checks arbitrary arguments of authors. docker must start the image and npx the
// package. docker must get no options that give the container rights. Neither may read an author's
// word as the name of another package.
func FuzzCommandLine(f *testing.F) {
	f.Add("npm", `[{"type":"positional","value":"launch-y"},{"type":"named","name":"-p","value":"@other/z"}]`, `[{"type":"named","name":"--x={x}","default":"1"}]`)
	f.Add("oci", `[{"type":"named","name":"-e","value":"A={a}","variables":{"a":{"isRequired":true}}},{"type":"positional","value":"run"},{"type":"positional","value":"-v"},{"type":"positional","value":"/:/x"}]`, `[]`)
	f.Add("oci", `[{"type":"positional","value":"--network"},{"type":"named","name":"--privileged"},{"type":"positional","value":"-"}]`, `[{"type":"positional","value":""}]`)
	f.Add("pypi", `[{"type":"named","name":"--from","value":"git+x"},{"type":"positional","value":"y"},{"type":"named","name":"--with","value":"mcp<2"}]`, `[]`)
	f.Add("nuget", `[{"type":"named","name":"--source","value":"x"}]`, `[{"type":"positional","value":"--"}]`)
	f.Fuzz(func(t *testing.T, kind, runtime, own string) {
		text := fmt.Sprintf(`{"name":"a/b","version":"1","packages":[{"registryType":%q,"identifier":"acme-y","version":"1.2.3","runtimeArguments":%s,"packageArguments":%s}]}`, kind, runtime, own)
		s, err := Parse([]byte(text))
		if err != nil || len(s.Packages) != 1 {
			return
		}
		p := &s.Packages[0]
		p.Needs(true)
		p.Needs(false)
		for _, installed := range []bool{true, false} {
			line, err := p.Line(Known, installed)
			if err != nil {
				t.Fatal(err)
			}
			words := p.words(line)
			switch p.RegistryType {
			case "oci":
				options, rest, err := runner.Container(words[2:])
				if err != nil || rest[0] != "acme-y:1.2.3" {
					t.Fatalf("docker would take something else for the image: %q", words)
				}
				for _, o := range options {
					if o.Effect == runner.Rights {
						t.Fatalf("docker gets %s: %q", o.Typed, words)
					}
				}
			case "npm", "pypi", "nuget":
				of := p.ofRunner()
				if line.Program != "" && strings.ContainsAny(line.Program, "/@:") {
					t.Fatalf("%q would be another package: %q", line.Program, words)
				}
				if choices, _ := runner.Choose(of, words[1:]); slices.ContainsFunc(choices, func(c runner.Choice) bool { return c.Why != "" }) {
					t.Fatalf("the runner would use another package: %q", words)
				}
			}
		}
	})
}

func TestNumbersAndBooleansAreReadWhereverTheyStand(t *testing.T) {
	s, err := Parse([]byte(`{"name":"a/b","version":"1","packages":{"registryType":"gem","identifier":7,"packageArguments":[
		{"type":"named","name":"--port","default":8080,"isRequired":"true","isSecret":"False"},{"type":"positional","value":true,"isRepeated":0},{"type":"positional","valueHint":"x","choices":"only"}]},
		"remotes":[{"url":"https://x.example","headers":[{"name":"X","value":1.50}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p := s.Packages[0]
	a := p.PackageArguments
	if p.RegistryType != "gem" || p.Identifier != "7" || a[0].Default != "8080" || !a[0].IsRequired || a[0].IsSecret || a[1].Value != "true" || a[1].IsRepeated || !slices.Equal(a[2].Choices, []string{"only"}) ||
		s.Remotes[0].Headers[0].Value != "1.50" {
		t.Errorf("read %+v", s)
	}
}
