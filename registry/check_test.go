package registry

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// with returns a valid server.json with one member added or replaced.
func with(member string) string {
	all := []string{`"name":"io.github.x/server"`, `"description":"A server"`, `"version":"1.0.0"`, `"packages":[{"registryType":"npm","identifier":"y","version":"1.0.0","transport":{"type":"stdio"}}]`}
	name, _, _ := strings.Cut(member, ":")
	text := member
	for _, m := range all {
		if !strings.HasPrefix(m, name+":") {
			text += "," + m
		}
	}
	return "{" + text + "}"
}

// ofPackage returns a package with members added or replaced.
func ofPackage(more string) string {
	text := `"packages":[{` + more
	for _, m := range []string{`"registryType":"npm"`, `"identifier":"y"`, `"version":"1.0.0"`, `"transport":{"type":"stdio"}`} {
		if name, _, _ := strings.Cut(m, ":"); !strings.Contains(more, name+":") {
			text += "," + m
		}
	}
	return with(text + "}]")
}

func TestRulesThatAServerBreaksAreNamed(t *testing.T) {
	const hash = "fe333e598595000ae021bd27117db32ec69af6987f507ba7a63c90638ff633ce"
	for text, want := range map[string]string{
		with(`"title":"Y"`): "",
		with(`"remotes":[{"type":"sse","url":"https://{tenant}.x.example:{port}/sse","variables":{"tenant":{},"port":{}}}]`):                            "",
		with(`"repository":{"url":"https://gitlab.com/a/b/c","source":"gitlab","subfolder":"cmd/y"}`):                                                   "",
		ofPackage(`"registryType":"mcpb","version":"","identifier":"https://x.example/y.mcpb","fileSha256":"` + hash + `"`):                             "",
		ofPackage(`"registryType":"oci","version":"","identifier":"ghcr.io/x/y:1.0.0"`):                                                                 "",
		ofPackage(`"transport":{"type":"streamable-http","url":"http://localhost:{--port}/mcp"},"packageArguments":[{"type":"named","name":"--port"}]`): "",
		with(`"version":"2025.11.25-rc.1"`):                                   "",
		with(`"name":"y"`):                                                    "name: expected a domain in reverse",
		with(`"name":"io.github.x/y_"`):                                       "name: expected",
		with(`"description":""`):                                              "description: expected 1 to 100 characters, got 0",
		with(`"description":"` + strings.Repeat("ü", 101) + `"`):              "description: expected 1 to 100 characters, got 101",
		with(`"title":"` + strings.Repeat("x", 101) + `"`):                    "title: expected",
		with(`"title":"  "`):                                                  "title: expected",
		with(`"version":"^1.2.3"`):                                            `version: expected one version, got the range "^1.2.3"`,
		with(`"version":"latest"`):                                            "version: expected one version",
		with(`"version":"1.0.0-next"`):                                        `version: expected one version, got the range "1.0.0-next"`,
		with(`"version":"1.x"`):                                               "version: expected one version",
		with(`"version":">=1.0.0"`):                                           "version: expected one version",
		with(`"repository":{"url":"https://github.com/x","source":"github"}`): "repository.url: expected",
		with(`"repository":{"url":"https://github.com/x/y"}`):                 "repository.source: expected",
		with(`"repository":{"url":"https://github.com/x/y","source":"github","subfolder":"../z"}`):                        "repository.subfolder: expected",
		with(`"websiteUrl":"http://x.example"`):                                                                           "websiteUrl: expected an https URL",
		with(`"websiteUrl":"https://x.example/\"><b>"`):                                                                   "websiteUrl: expected an https URL",
		with(`"remotes":[{"type":"stdio"}]`):                                                                              "remotes[0].type: expected; remotes[0].url: expected; remotes[0].url: expected",
		with(`"remotes":[{"type":"sse","url":"http://x.example/sse"}]`):                                                   "remotes[0].url: expected an https URL that others can reach",
		with(`"remotes":[{"type":"sse","url":"https://localhost/sse"}]`):                                                  "remotes[0].url: expected",
		with(`"remotes":[{"type":"sse","url":"https://{x}.example/sse"}]`):                                                "remotes[0].url: {x} is neither a variable nor an argument",
		`{"name":"io.github.x/server","description":"A server","version":"1.0.0","websiteUrl":"https://x.example/setup"}`: "",
		ofPackage(`"packageArguments":[{"type":"positional","value":""}]`):                                                "",
		ofPackage(`"registryType":"cargo"`):                                                                               "",
		with(`"icons":[{"src":"https://x.example/i.png","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"}]`): "",
		with(`"icons":[{"mimeType":"image/png"}]`):                                                                        "icons[0].src: expected an https URL",
		with(`"icons":[{"src":"http://x.example/i.png"}]`):                                                                "icons[0].src: expected an https URL",
		with(`"icons":[{"src":"data:image/png;base64,AA"}]`):                                                              "icons[0].src: expected an https URL",
		with(`"icons":[{"src":"https://x.example/` + strings.Repeat("i", 255) + `"}]`):                                    "icons[0].src: expected an https URL in up to 255",
		with(`"icons":[{"src":"https://x.example/i","mimeType":"image/gif"}]`):                                            "icons[0].mimeType: expected one of image/png",
		with(`"icons":[{"src":"https://x.example/i","theme":"blue"}]`):                                                    "icons[0].theme: expected light or dark",
		with(`"icons":[{"src":"https://x.example/i","sizes":["48","1x1"]}]`):                                              "icons[0].sizes[0]: expected WIDTHxHEIGHT",
		with(`"icons":[{"src":"https://x.example/i","sizes":"48x48"}]`):                                                   "icons[0]: expected src",
		with(`"icons":{"src":"https://x.example/i"}`):                                                                     "icons: expected a list of icons",
		with(`"status":"active"`):                                                                                         "status: unknown member",
		with(`"_meta":{"com.example/x":{}}`):                                                                              "_meta.com.example/x: unknown member",
		with(`"_meta":{"io.modelcontextprotocol.registry/publisher-provided":{"x":"` + strings.Repeat("x", 5000) + `"}}`): "_meta: expected up to 4096 bytes",
		ofPackage(`"note":"x"`): "packages[0].note: unknown member",
		ofPackage(`"environmentVariables":[{"name":"X","isRequird":true}]`):                                      "packages[0].environmentVariables[0].isRequird: unknown member",
		ofPackage(`"environmentVariables":[{"name":"X","valueHint":"x"}]`):                                       "packages[0].environmentVariables[0].valueHint: unknown member",
		ofPackage(`"packageArguments":[{"type":"positional","value":"{a}","variables":{"a":{"format":"int"}}}]`): "packages[0].packageArguments[0].variables.a.format: expected",
		ofPackage(`"packageArguments":[{"type":"positional","value":"{a}","variables":{"a":{"variables":{}}}}]`): "packages[0].packageArguments[0].variables.a.variables: unknown member",
		with(`"packages":[]`):            "packages: expected a package or a remote",
		ofPackage(`"registryType":"go"`): "packages[0].registryType: expected",
		ofPackage(`"identifier":"a b"`):  "packages[0].identifier: expected",
		ofPackage(`"version":""`):        "packages[0].version: expected a version",
		ofPackage(`"version":"1.*"`):     "packages[0].version: expected one version",
		ofPackage(`"registryType":"oci","version":"1.0.0","identifier":"ghcr.io/x/y:1"`):      "packages[0].version: expected none",
		ofPackage(`"registryType":"mcpb","identifier":"https://x.example/y.mcpb"`):            "packages[0].fileSha256: expected the SHA-256",
		ofPackage(`"fileSha256":"ABC"`):                                                       "packages[0].fileSha256: expected 64",
		ofPackage(`"transport":{"type":"stdio","url":"http://x"}`):                            "packages[0].transport.url: expected none",
		ofPackage(`"transport":{"type":"pigeon","url":"http://x.example"}`):                   "packages[0].transport.type: expected",
		ofPackage(`"transport":{"type":"sse","url":"http://localhost:{port}"}`):               "packages[0].transport.url: {port} is neither a variable",
		ofPackage(`"packageArguments":[{"type":"named","name":"--port 8080"}]`):               "packages[0].packageArguments[0].name: expected",
		ofPackage(`"packageArguments":[{"type":"named","name":"--port","value":"--port=1"}]`): "packages[0].packageArguments[0]: expected a value",
		ofPackage(`"packageArguments":[{"type":"positional"}]`):                               "packages[0].packageArguments[0]: expected a value",
		ofPackage(`"packageArguments":[{"name":"x"}]`):                                        "packages[0].packageArguments[0].type: expected",
		ofPackage(`"environmentVariables":[{"name":"X","format":"date"}]`):                    "packages[0].environmentVariables[0].format: expected",
	} {
		s, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		faults := s.Check()
		wanted := strings.Split(want, "; ")
		if want == "" {
			wanted = nil
		}
		if len(faults) != len(wanted) {
			t.Errorf("%s:\n got %v\nwant %v", text, faults, wanted)
			continue
		}
		for i, f := range faults {
			if !strings.HasPrefix(f.String(), wanted[i]) {
				t.Errorf("%s:\n got %v\nwant %v", text, faults, wanted)
			}
		}
	}
}

func TestEncodingRoundTrips(t *testing.T) {
	const text = `{"$schema":"x","name":"io.github.x/y","title":"Y","description":"d","version":"1.0.0","icons":[{"src":"https://x.example/i.png"}],"packages":[
		{"registryType":"npm","identifier":"y","version":"1.0.0","transport":{"type":"stdio"},"environmentVariables":[{"name":"K","isSecret":true,"variables":{"a":{"default":"1"}}}]}],
		"_meta":{"com.example/x":{"a":1}}}`
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s.Title = "Z"
	got, err := s.Encode(s.Raw)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"$schema":"x","name":"io.github.x/y","title":"Z","description":"d","version":"1.0.0","packages":[{"registryType":"npm","identifier":"y","version":"1.0.0","transport":{"type":"stdio"},` +
		`"environmentVariables":[{"name":"K","isSecret":true,"variables":{"a":{"default":"1"}}}]}],"icons":[{"src":"https://x.example/i.png"}],"_meta":{"com.example/x":{"a":1}}}`
	if string(got) != want {
		t.Errorf("encoded\n%s\nwant\n%s", got, want)
	}
}

func TestPublishingRequiresTheOwnersToken(t *testing.T) {
	f := newFake(t)
	f.token = "of-the-registry"
	busy := false
	f.answer = func(w http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method != http.MethodPost:
			return false
		case r.URL.Path == "/v0.1/auth/github-at" && string(body) == `{"github_token":"of-github"}`:
			fmt.Fprint(w, `{"registry_token":"of-the-registry","expires_at":1}`)
		case busy:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/v0.1/publish" && r.Header.Get("Authorization") == "Bearer of-the-registry":
			fmt.Fprintf(w, `{"server":%s,"_meta":{"%s":{"status":"active","isLatest":true}}}`, body, official)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"detail":"You have permission to publish: io.github.x/*"}`)
		}
		return true
	}
	server := []byte(with(`"version":"1.0.0"`))
	for token, want := range map[string]string{"": "needs a token with access: there is none", "wrong": "permission to publish: io.github.x/*", "of-the-registry": ""} {
		o := ClientOptions{}
		if token != "" {
			o.Token = fixedToken(token)
		}
		c, err := NewClient(f.URL, o)
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Publish(t.Context(), server)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || err == nil && (e.Server.Name != "io.github.x/server" || !e.IsLatest) {
			t.Errorf("with the token %q: %+v, %v", token, e, err)
		}
	}
	c, err := NewClient(f.URL, ClientOptions{Token: fixedToken("of-the-registry")})
	if err != nil {
		t.Fatal(err)
	}
	if token, err := c.LoginGitHub(t.Context(), "of-github"); err != nil || token != "of-the-registry" {
		t.Errorf("logged in with %q, %v", token, err)
	}
	f.questions()
	busy = true
	if _, err := c.Publish(t.Context(), server); err == nil || len(f.questions()) != 1 {
		t.Errorf("a busy registry: %v, and it was asked again", err)
	}
}

func TestARefusalNamesTheMember(t *testing.T) {
	for text, want := range map[string]string{
		`{"detail":"validation failed","errors":[{"message":"unexpected property","location":"body.status","value":"x"},{"message":"no"}]}`: ": validation failed; status: unexpected property; no",
		`{"errors":[{"location":"body.packages[0].version"},{"message":"m","location":"body"},{"location":7}]}`:                             ": packages[0].version:; m",
		`{"detail":"d","errors":"none"}`: ": d",
		`none`:                           "",
	} {
		if got := errorMessage([]byte(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestAnEmptyValueIsWrittenAgain(t *testing.T) {
	s, err := Parse([]byte(ofPackage(`"packageArguments":[{"type":"positional","value":""},{"type":"positional","valueHint":"x"}]`)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Encode(nil)
	if want := `"packageArguments":[{"type":"positional","value":""},{"type":"positional","valueHint":"x"}]`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("encoded %s, %v", text, err)
	}
}
