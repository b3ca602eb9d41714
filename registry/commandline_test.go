package registry

import (
	"strings"
	"testing"
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
