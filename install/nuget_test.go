package install

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const toolSettings = `<?xml version="1.0" encoding="utf-8"?>
<DotNetCliTool Version="1"><Commands><Command Name="my-server" EntryPoint="My.Server.dll" Runner="dotnet" /></Commands></DotNetCliTool>`

// nugetRegistry serves one package in two versions and a preview. A test can change its responses.
func nugetRegistry(t *testing.T) (answers map[string]string, index string) {
	t.Helper()
	answers = map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	tool := string(archiveOf(t, member{name: "tools/net8.0/any/DotnetToolSettings.xml", text: strings.Replace(toolSettings, "My.Server.dll", "Old.dll", 1)}, member{name: "tools/net8.0/any/Old.dll"},
		member{name: "tools/net10.0/any/DotnetToolSettings.xml", text: toolSettings}, member{name: "tools/net10.0/any/My.Server.dll", text: "MZ"}))
	hash := sha512.Sum512([]byte(tool))
	answers["/v3/index.json"] = fmt.Sprintf(`{"resources":[{"@id":"%[1]s/flat/","@type":"PackageBaseAddress/3.0.0"},{"@id":"%[1]s/old","@type":"RegistrationsBaseUrl"},{"@id":"%[1]s/reg/","@type":"RegistrationsBaseUrl/3.6.0"}]}`, server.URL)
	answers["/flat/my.server/index.json"] = `{"versions":["1.0.0","1.10.0","2.0.0-preview.1"]}`
	answers["/flat/my.server/1.10.0/my.server.1.10.0.nupkg"] = tool
	answers["/reg/my.server/1.10.0.json"] = `{"listed":true,"catalogEntry":"` + server.URL + `/catalog/1"}`
	answers["/catalog/1"] = `{"packageHash":"` + base64.StdEncoding.EncodeToString(hash[:]) + `","packageHashAlgorithm":"SHA512","deprecation":{"reasons":["Legacy"]},"vulnerabilities":[{"advisoryUrl":"https://example.com/advisories/GHSA-1","severity":"2"}]}`
	return answers, server.URL + "/v3/index.json"
}

func TestAToolOfNuGetIsInstalledAndStartedByDotnet(t *testing.T) {
	path := fakePrograms(t, "dotnet")
	answers, index := nugetRegistry(t)
	s := newStore(t)
	l, err := s.Resolve(t.Context(), Package{Type: NuGet, Name: "My.Server", Registry: index})
	if err != nil {
		t.Fatal(err)
	}
	if l.Version != "1.10.0" || !slices.Equal(l.Program, []string{"dotnet", "exec", "./tools/net10.0/any/My.Server.dll"}) {
		t.Errorf("locked is %+v", l)
	}
	if a, err := s.Advice(t.Context(), l); err != nil || a != (Advice{Newest: "1.10.0", Deprecated: "Legacy"}) {
		t.Errorf("%+v, %v", a, err)
	}
	if found, err := s.Audit(t.Context(), l); err != nil || len(found) != 1 || found[0].ID != "GHSA-1" || found[0].Severity != "high" {
		t.Errorf("%+v, %v", found, err)
	}
	p, err := s.Install(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{filepath.Join(path, "dotnet"), "exec", filepath.Join(p.Dir, "tools", "net10.0", "any", "My.Server.dll")}; !slices.Equal(p.Argv, want) {
		t.Errorf("it is started by %q, want %q", p.Argv, want)
	}
	other := newStore(t)
	answers["/flat/my.server/1.10.0/my.server.1.10.0.nupkg"] += "x"
	if _, err := other.Install(t.Context(), l); !errors.Is(err, ErrIntegrity) {
		t.Errorf("with other bytes than the registry says: %v", err)
	}
	delete(answers, "/reg/my.server/1.10.0.json")
	if _, err := other.Install(t.Context(), l); !errors.Is(err, ErrIntegrity) {
		t.Errorf("with other bytes than were locked: %v", err)
	}
	delete(answers, "/flat/my.server/1.10.0/my.server.1.10.0.nupkg")
	if _, err := other.Install(t.Context(), l); !errors.Is(err, ErrPulled) {
		t.Errorf("once it is gone: %v", err)
	}
	answers["/flat/my.server/index.json"] = `{"versions":["1.0.0"]}`
	if a, err := other.Advice(t.Context(), l); err != nil || a != (Advice{Newest: "1.0.0", Pulled: true}) {
		t.Errorf("%+v, %v", a, err)
	}
	if got := holds(t, other); len(got) != 0 {
		t.Errorf("the store holds %q", got)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := s.Open(l); !errors.Is(err, ErrRuntime) || !strings.Contains(err.Error(), "dotnet is not on this machine: install .NET") {
		t.Errorf("without dotnet: %v", err)
	}
}

func TestGarbageOfNuGetIsAnError(t *testing.T) {
	for _, test := range []struct{ path, text, want string }{
		{"/v3/index.json", "<html>", "invalid character '<'"},
		{"/v3/index.json", `{"resources":[]}`, "is not the index of a NuGet registry: it names no PackageBaseAddress"},
		{"/v3/index.json", `{"resources":[{"@id":"http://example.com/flat","@type":"PackageBaseAddress/3.0.0"}]}`, "http://example.com/flat is not https"},
		{"/flat/my.server/index.json", `{"versions":[]}`, "is not in the registry: the registry has no version  of it"},
		{"/flat/my.server/index.json", `{"versions":["9.0.0"]}`, "is not in the registry: "},
		{"/flat/my.server/1.10.0/my.server.1.10.0.nupkg", "not a zip", "has other contents than the lock: the registry has"},
		{"/catalog/1", "[]", "cannot unmarshal array"},
	} {
		answers, index := nugetRegistry(t)
		answers[test.path] = test.text
		s := newStore(t)
		if _, err := s.Resolve(t.Context(), Package{Type: NuGet, Name: "My.Server", Registry: index}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s answers %s: error %v, want one with %s", test.path, test.text, err, test.want)
		}
		if got := holds(t, s); len(got) != 0 {
			t.Errorf("the store holds %q", got)
		}
	}
}

func TestNuGetPackagesWithoutAToolAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		files []member
		want  string
	}{
		"a library":          {[]member{{name: "lib/net8.0/x.dll"}}, "is not a .NET tool that runs on every platform"},
		"another runner":     {[]member{{name: "tools/net8.0/any/DotnetToolSettings.xml", text: strings.Replace(toolSettings, `"dotnet"`, `"executable"`, 1)}}, `is run by "executable", which is not dotnet`},
		"a program above it": {[]member{{name: "tools/net8.0/any/DotnetToolSettings.xml", text: strings.Replace(toolSettings, "My.Server.dll", "../../../x.dll", 1)}}, "which is not dotnet"},
		"no program":         {[]member{{name: "tools/net8.0/any/DotnetToolSettings.xml", text: "<DotNetCliTool/>"}}, `has no program "at all"`},
		"no XML":             {[]member{{name: "tools/net8.0/any/DotnetToolSettings.xml", text: "{}"}}, "tools/net8.0/any/DotnetToolSettings.xml: EOF"},
	} {
		blobs := t.TempDir()
		hash, err := keep(bytes.NewReader(archiveOf(t, test.files...)), t.TempDir(), blobs)
		if err != nil {
			t.Fatal(err)
		}
		b, err := openBundle(blobs, hash)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nugetProgram(b, ""); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %s", name, err, test.want)
		}
		_ = b.Close()
	}
}
