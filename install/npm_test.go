package install

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lockText returns a package-lock.json with one package, with old replaced by new.
func lockText(old, new string) []byte {
	const text = `{"name":"n","lockfileVersion":3,"requires":true,"packages":{
		"":{"dependencies":{"@a/server":"latest"}},
		"node_modules/@a/server":{"version":"1.0.0","resolved":"https://registry.example.com/x.tgz","integrity":"sha512-AA==","license":"MIT","bin":{"server":"dist/index.js"},"dependencies":{"sharp":"1"},"bundleDependencies":["x"]},
		"node_modules/sharp":{"version":"2.0.0","integrity":"sha512-BB==","hasInstallScript":true},
		"node_modules/@a/server/node_modules/sharp":{"version":"1.0.0","integrity":"sha512-CC==","hasInstallScript":true},
		"node_modules/@a/server/node_modules/x":{"name":"real-name","version":"3.0.0","inBundle":true,"hasInstallScript":true}}}`
	return []byte(strings.Replace(text, old, new, 1))
}

func TestTheLockOfNPMBecomesOurs(t *testing.T) {
	l, err := lockNPM(Package{Type: NPM, Name: "@a/server", Version: "latest"}, lockText("", ""))
	if err != nil {
		t.Fatal(err)
	}
	if l.Version != "1.0.0" || l.Integrity != "sha512-AA==" || !slices.Equal(l.Program, []string{"node", "./node_modules/@a/server/dist/index.js"}) {
		t.Errorf("locked is %+v", l)
	}
	if want := []string{"real-name@3.0.0", "sharp@1.0.0", "sharp@2.0.0"}; !slices.Equal(l.WantScripts, want) {
		t.Errorf("packages with scripts are %q, want %q", l.WantScripts, want)
	}
	if text := string(l.Dependencies); strings.Contains(text, "example.com") || strings.Contains(text, "latest") || strings.Contains(text, "MIT") {
		t.Errorf("where the package came from, or what it was called, is in the lock: %s", text)
	}
	again, err := lockNPM(Package{Type: NPM, Name: "@a/server", Version: "1.0.0"}, l.Dependencies)
	if err != nil || string(again.Dependencies) != string(l.Dependencies) {
		t.Errorf("read again it is %s, %v", again.Dependencies, err)
	}
}

// A package names an optional dependency that was never published: npm install skips it, and npm ci
// reports that the lock lacks it.
func TestMissingOptionalDependenciesAreSkipped(t *testing.T) {
	l, err := lockNPM(Package{Type: NPM, Name: "@a/server"}, lockText(`"dependencies":{"sharp":"1"}`, `"dependencies":{"gone":"1"},"optionalDependencies":{"sharp":"1","x":"3","gone":"0.1.7"}`))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(l.Dependencies); !strings.Contains(text, `"optionalDependencies":{"sharp":"1","x":"3"}`) || !strings.Contains(text, `"dependencies":{"gone":"1"}`) {
		t.Errorf("locked is %s", text)
	}
	atTop := lockText(`"hasInstallScript":true}`, `"optionalDependencies":{"sharp":"9","gone":"1"}}`)
	if l, err = lockNPM(Package{Type: NPM, Name: "@a/server"}, atTop); err != nil {
		t.Fatal(err)
	}
	if text := string(l.Dependencies); !strings.Contains(text, `"optionalDependencies":{"sharp":"9"}`) {
		t.Errorf("of one at the top: locked is %s", text)
	}
}

func TestALockThatSaysNotEnoughIsRefused(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{`"lockfileVersion":3`, `"lockfileVersion":1`, "npm's lock has version 1, expected 3: use npm 7 or later"},
		{`"integrity":"sha512-BB=="`, `"resolved":"git+ssh://git@example.com/x"`, "its dependency sharp comes from git+ssh://git@example.com/x, without a hash: only packages from a registry can be locked"},
		{`"integrity":"sha512-BB=="`, `"link":true,"integrity":"sha512-BB=="`, "its dependency sharp comes from a folder, without a hash: only packages from a registry can be locked"},
		{`"node_modules/sharp"`, `"../sharp"`, `npm's lock has a package at "../sharp", which is outside of node_modules`},
		{`"node_modules/sharp"`, `"node_modules/../../sharp"`, `npm's lock has a package at "node_modules/../../sharp", which is outside of node_modules`},
		{`"bin":{"server":"dist/index.js"},`, ``, "has no program to start: it is a library"},
		{`dist/index.js`, `../../../../bin/sh`, `its program server lies at "../../../../bin/sh", outside of the package`},
		{`"integrity":"sha512-BB=="`, `"inBundle":true`, "its dependency sharp comes from a folder, without a hash: only packages from a registry can be locked"},
		{`"bundleDependencies":["x"]`, `"bundleDependencies":["y"]`, "its dependency real-name comes from a folder, without a hash: only packages from a registry can be locked"},
		{`"bundleDependencies":["x"]`, `"license":"x"`, "its dependency real-name comes from a folder, without a hash: only packages from a registry can be locked"},
		{`"integrity":"sha512-BB=="`, `"integrity":"sha1-BB=="`, `its dependency sharp has the hash "sha1-BB==": expected sha256, sha384 or sha512`},
		{`"integrity":"sha512-BB=="`, `"integrity":"sha512-!"`, `its dependency sharp has the hash "sha512-!": expected sha256, sha384 or sha512`},
		{`"integrity":"sha512-BB=="`, `"integrity":"sha"`, `its dependency sharp has the hash "sha": expected sha256, sha384 or sha512`},
		{`"version":"2.0.0"`, `"version":"https://example.com/x.tgz"`, `its dependency sharp has the version "https://example.com/x.tgz", which is not an exact one`},
		{`"version":"2.0.0"`, `"version":"^2.0.0"`, `its dependency sharp has the version "^2.0.0", which is not an exact one`},
		{`"version":"2.0.0"`, `"version":"2.0.0","name":"x@git+ssh://example.com/x"`, `its dependency at node_modules/sharp has the name "x@git+ssh://example.com/x", which is not that of an npm package`},
		{`"node_modules/sharp"`, `"node_modules/a b"`, `npm's lock has a package at "node_modules/a b", which is not the folder of a package`},
		{`"dependencies":{"sharp":"1"}`, `"dependencies":{"sharp":"github:a/b"}`, `its dependency @a/server requires sharp in the version "github:a/b": only packages from a registry can be locked`},
		{`"dependencies":{"sharp":"1"}`, `"optionalDependencies":{"sharp":"a/b"}`, `its dependency @a/server requires sharp in the version "a/b": only packages from a registry can be locked`},
		{`"dependencies":{"sharp":"1"}`, `"peerDependencies":{"sharp":"npm:sharp@https://example.com/x"}`, `its dependency @a/server requires sharp in the version "npm:sharp@https://example.com/x": only packages from a registry can be locked`},
		{`"version":"2.0.0"`, `"version":2`, "npm's lock: node_modules/sharp: json: cannot unmarshal number into Go struct field npmEntry.version of type string"},
		{`{"name"`, `["name"`, "npm's lock: invalid character ':' after array element"},
	} {
		if _, err := lockNPM(Package{Type: NPM, Name: "@a/server"}, lockText(test.old, test.new)); err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, want %s", test.new, err, test.want)
		}
	}
}

func TestALockWithoutThePackageIsRefused(t *testing.T) {
	if _, err := lockNPM(Package{Type: NPM, Name: "@a/other"}, lockText("", "")); err == nil || err.Error() != "npm's lock has no node_modules/@a/other" {
		t.Errorf("error %v", err)
	}
}

func TestBundledDependenciesNeedNoHash(t *testing.T) {
	const text = `{"lockfileVersion":3,"packages":{
		"node_modules/a":{"version":"1.0.0","integrity":"sha512-AA==","bin":{"a":"a.js"},"bundleDependencies":["b"],"dependencies":{"w-cjs":"npm:@s/w@^4.2.0","b":"1"}},
		"node_modules/a/node_modules/b":{"version":"1.0.0","inBundle":true,"dependencies":{"c":"1","up":"1"}},
		"node_modules/a/node_modules/b/node_modules/deep":{"version":"1.0.0","inBundle":true},
		"node_modules/a/node_modules/c":{"version":"1.0.0","inBundle":true},
		"node_modules/up":{"version":"1.0.0","integrity":"sha512-AA=="},
		"node_modules/w-cjs":{"name":"@s/w","version":"4.2.0","integrity":"sha512-AA=="}}}`
	if _, err := lockNPM(Package{Type: NPM, Name: "a"}, []byte(text)); err != nil {
		t.Error(err)
	}
	// A package above the folder of the bundle is downloaded.
	above := strings.Replace(text, `"node_modules/up":{"version":"1.0.0","integrity":"sha512-AA=="}`, `"node_modules/up":{"version":"1.0.0","inBundle":true}`, 1)
	if _, err := lockNPM(Package{Type: NPM, Name: "a"}, []byte(above)); err == nil || !strings.Contains(err.Error(), "its dependency up comes from a folder, without a hash") {
		t.Errorf("error %v", err)
	}
}

func TestNPMInstallsTheResolvedVersions(t *testing.T) {
	fakePrograms(t, "node", "npm")
	for _, test := range []struct {
		p    Package
		want string
	}{
		{Package{Name: "a@x/b", Version: "1.0.0"}, "is not the name of an npm package"},
		{Package{Name: "a", Version: "latest"}, "has no exact version in the lock"},
		{Package{Name: "a", Version: "1.0.0", Registry: "http://example.com"}, "is not https"},
		{Package{Name: "a", Version: "1.0.0", Registry: "https://me:secret@example.com"}, "contains a password"},
	} {
		test.p.Type = NPM
		l := &Locked{Package: test.p, Integrity: "sha512-AA==", Program: []string{"node", "./x.js"},
			Dependencies: json.RawMessage(`{"lockfileVersion":3,"packages":{"node_modules/a":{"version":"` + test.p.Version + `","integrity":"sha512-AA=="}}}`)}
		if _, err := newStore(t).Install(t.Context(), l); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want one with %s", test.p, err, test.want)
		}
	}
}

func TestOfSeveralProgramsThatOfNpxIsChosen(t *testing.T) {
	for _, test := range []struct {
		name, bin  string
		bins       map[string]string
		want, fail string
	}{
		{"a", "", map[string]string{"other": "./o.js"}, "o.js", ""},
		{"a", "", map[string]string{"a": "a.js", "b": "b.js"}, "a.js", ""},
		{"@s/a", "", map[string]string{"a": "a.js", "b": "b.js"}, "a.js", ""},
		{"@s/x", "", map[string]string{"a": "same.js", "b": "same.js"}, "same.js", ""},
		{"@s/x", "", map[string]string{"a": "a.js", "b": "b.js"}, "", "has several programs, and none with its own name: choose one of a, b"},
		{"@s/x", "b", map[string]string{"a": "a.js", "b": "b.js"}, "b.js", ""},
		{"a", "c", map[string]string{"a": "a.js", "b": "b.js"}, "", `has no program "c": it has a, b`},
		{"a", "", nil, "", "has no program to start: it is a library"},
	} {
		got, err := chooseBin(Package{Name: test.name, Bin: test.bin}, test.bins)
		if said := ""; got != test.want || (err != nil) != (test.fail != "") {
			t.Errorf("%s %s of %v: %q, %v", test.name, test.bin, test.bins, got, err)
		} else if err != nil && err.Error() != test.fail {
			t.Errorf("%s %s of %v: error %v, want %s%s", test.name, test.bin, test.bins, err, test.fail, said)
		}
	}
}

func TestInterpretersOfPrograms(t *testing.T) {
	path := fakePrograms(t, "node", "bun")
	dir := t.TempDir()
	for line, want := range map[string][]string{
		"console.log(1)":      {"node"},
		"#!/usr/bin/env node": {"node"},
		"#!/usr/bin/env -S node --no-warnings --enable-x": {"node", "--no-warnings", "--enable-x"},
		"#!/usr/local/bin/node --harmony":                 {"node", "--harmony"},
		"#!/usr/bin/env bun":                              {"bun"},
		"#!/usr/bin/env node\r":                           {"node"},
		"#!/usr/bin/env FOO=1 node":                       {"node"},
		"#!":                                              {"node"},
		"#!/usr/bin/env -S node " + strings.Repeat("x ", 1000): {"node"},
	} {
		file := filepath.Join(dir, "index.js")
		if err := os.WriteFile(file, []byte(line+"\nmore"), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(slices.Clone(want), file)
		want[0] = filepath.Join(path, want[0])
		p, err := programIn([]string{"node", "./index.js"}, dir)
		if err != nil || !slices.Equal(p.Argv, want) {
			t.Errorf("%.60s: %q, %v, want %q", line, p.Argv, err, want)
		}
	}
	for _, words := range [][]string{nil, {"node", "./gone.js"}, {"node", "./../x"}} {
		if _, err := programIn(words, dir); !errors.Is(err, ErrNotInstalled) {
			t.Errorf("%q: error %v", words, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "index.js"), []byte("#!/usr/bin/env deno\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := programIn([]string{"node", "./index.js"}, dir); !errors.Is(err, ErrRuntime) {
		t.Errorf("error %v, want that deno is missing", err)
	}
}

func TestGarbageOfNPMIsAnError(t *testing.T) {
	fakeProgram(t, "node", "exit 0")
	l := &Locked{Package: Package{Type: NPM, Name: "a", Version: "1.0.0"}, Integrity: "sha512-AA==", Program: []string{"node", "./node_modules/a/x.js"},
		Dependencies: json.RawMessage(`{"lockfileVersion":3,"packages":{"node_modules/a":{"version":"1.0.0","integrity":"sha512-AA=="}}}`)}
	for name, test := range map[string]struct{ script, resolve, install, advice, audit string }{
		"nothing": {"exit 0", "no such file", "the installed package lacks its program, node ./node_modules/a/x.js", "npm view: unexpected end of JSON input", "could not be audited by npm audit: <nil>: the registry may have no endpoint for audits"},
		"no JSON": {"echo '<html>'; exit 0", "no such file", "the installed package lacks its program, node ./node_modules/a/x.js", "npm view: invalid character '<'", "could not be audited"},
		"a failure in JSON": {`printf '{\n  "error": {"code": "ECONNREFUSED", "summary": "connect \\u001b[31m refused"}}'; exit 1`,
			`npm install exited with status 1: ECONNREFUSED: connect \x1b[31m refused`, "npm ci exited with status 1: ECONNREFUSED", "npm view exited with status 1: ECONNREFUSED", `could not be audited by npm audit: connect \x1b[31m refused`},
		"gone":                 {`printf '{\n  "error": {"code": "E404", "summary": "gone"}}'; exit 1`, "is not in the registry: gone", "was pulled, it or one of its dependencies, since it was locked", "", ""},
		"no such version":      {`printf '{\n  "error": {"code": "ETARGET", "summary": "No matching version found for a@9."}}'; exit 1`, "npm:a: is not in the registry: No matching version found for a@9.", "was pulled", "", ""},
		"a dependency is gone": {`printf '{\n  "error": {"code": "ETARGET", "summary": "No matching version found for ab@^9."}}'; exit 1`, "npm:a: it needs a package that is not in the registry: No matching version found for ab@^9.", "was pulled", "", ""},
		"changed":              {`printf '{\n  "error": {"code": "EINTEGRITY", "summary": "sha512 wanted x"}}'; exit 1`, "has other contents than the lock: sha512 wanted x", "has other contents than the lock", "has other contents", ""},
		"a failure, no JSON":   {"echo 'npm broke' >&2; exit 7", "npm install exited with status 7: npm broke", "npm broke", "npm broke", "npm broke"},
		"a lock of a folder":   {"mkdir package-lock.json", "is a directory", "File exists", "", ""},
		"a lock of much text":  {"head -c 5000000 /dev/zero >package-lock.json", "has more than 4194304 bytes", "the installed package lacks its program, node ./node_modules/a/x.js", "", ""},
		"another version":      {`echo '{"version":"1.0.0","dist.integrity":"sha512-XX==","versions":["1.0.0"],"dist-tags":{"latest":"1.0.0"}}'`, "", "", "has other contents than the lock: the registry now has sha512-XX==", ""},
	} {
		t.Run(name, func(t *testing.T) {
			fakeProgram(t, "npm", test.script)
			s := newStore(t)
			check := func(what string, err error, want string) {
				t.Helper()
				if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s: error %v, want one with %s", what, err, want)
				}
			}
			_, err := s.Resolve(t.Context(), Package{Type: NPM, Name: "a"})
			check("resolve", err, test.resolve)
			_, err = s.Install(t.Context(), l)
			check("install", err, test.install)
			if got := holds(t, s); len(got) != 0 {
				t.Errorf("the store holds %q", got)
			}
			_, err = s.Advice(t.Context(), l)
			check("advice", err, test.advice)
			_, err = s.Audit(t.Context(), l)
			check("audit", err, test.audit)
		})
	}
}

func TestVersionsOfNPMAreQueriedQuickly(t *testing.T) {
	fakeProgram(t, "node", "exit 0")
	fakeProgram(t, "npm", `echo "$@" >&2; exit 1`)
	for command, want := range map[string]bool{"view": true, "audit": true, "install": false, "ci": false} {
		_, err := runNPM(t.Context(), Package{Type: NPM, Name: "a"}, t.TempDir(), command)
		if err == nil || strings.Contains(err.Error(), "--fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=1000 --cache=") != want {
			t.Errorf("%s: %v, want few retries and a cache of its own: %v", command, err, want)
		}
	}
}

func TestTheAuditOfNPMIsRead(t *testing.T) {
	fakeProgram(t, "npm", `cat <<'END'
{"auditReportVersion": 2, "vulnerabilities": {
  "b": {"name": "b", "severity": "high", "via": ["a"], "nodes": ["node_modules/b"]},
  "a": {"name": "a", "severity": "high", "via": [
    {"source": 1, "name": "a", "title": "Prototype\npollution", "url": "https://example.com/advisories/GHSA-x", "severity": "high", "range": ">=1.0.0 <1.0.5"},
    {"source": 1097, "title": "Another", "severity": "low", "range": "<=2.0.0"}], "nodes": ["node_modules/a", "node_modules/b/node_modules/a"]}}}
END
exit 1`)
	l := &Locked{Package: Package{Type: NPM, Name: "a", Version: "1.0.0"}, Dependencies: json.RawMessage(`{"lockfileVersion":3,"packages":{
		"node_modules/a":{"version":"1.0.0","integrity":"sha512-AA=="},"node_modules/b":{"version":"1.0.0","integrity":"sha512-AA=="},"node_modules/b/node_modules/a":{"version":"1.0.1","integrity":"sha512-AA=="}}}`)}
	got, err := newStore(t).Audit(t.Context(), l)
	want := []Vulnerability{
		{Package: "a", Version: "1.0.0, 1.0.1", ID: "GHSA-x", Severity: "high", Title: "Prototype pollution", FixedIn: "1.0.5"},
		{Package: "a", Version: "1.0.0, 1.0.1", ID: "1097", Severity: "low", Title: "Another"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestTheNewestVersionIsNoPreview(t *testing.T) {
	for _, test := range []struct {
		v    npmView
		want string
	}{
		{npmView{Tags: map[string]string{"latest": "2.0.0", "next": "3.0.0-beta"}, Versions: []string{"1.0.0", "2.0.0"}}, "2.0.0"},
		{npmView{Tags: map[string]string{"latest": "2.0.0-rc"}, Versions: []string{"1.0.0", "1.5.0", "2.0.0-rc"}}, "1.5.0"},
		{npmView{Tags: map[string]string{"latest": "2.0.0-rc"}, Versions: []string{"2.0.0-rc"}}, "2.0.0-rc"},
		{npmView{}, ""},
	} {
		if got := newestNPM(test.v); got != test.want {
			t.Errorf("%+v: %q, want %q", test.v, got, test.want)
		}
	}
	if got := newestNuGet([]string{"0.9.0", "1.10.0", "1.9.0", "2.0.0-preview"}); got != "1.10.0" {
		t.Errorf("of NuGet it is %q", got)
	}
}
