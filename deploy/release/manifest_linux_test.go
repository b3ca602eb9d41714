package main

import (
	"encoding/json"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/deploy/internal/product"
)

// checkFormula evaluates the formula for Homebrew for each platform that the release has an archive
// for. It installs the one for this platform if install is set, without Homebrew.
func checkFormula(t *testing.T, folder string, install bool) {
	if len(product.Summary) > 80 || regexp.MustCompile(`(?i)^(an?|the|junction)\b|\.$`).MatchString(product.Summary) {
		t.Errorf("Homebrew allows no such description: %s", product.Summary)
	}
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Skip("ruby is not installed")
	}
	script, err := filepath.Abs("testdata/formula.rb")
	must(t, err)
	formula := filepath.Join(folder, "junction.rb")
	sums := read(t, folder, "SHA256SUMS")
	for _, p := range platforms() {
		found, err := filepath.Glob(filepath.Join(folder, "junction_*_"+p.String()+".tar.xz"))
		must(t, err)
		if len(found) == 0 {
			continue
		}
		args := []string{ruby, script, formula, p.os, p.arch}
		if install && p.os == runtime.GOOS && p.arch == runtime.GOARCH {
			args = append(args, found[0], t.TempDir())
		}
		printed := strings.Fields(do(t, folder, args...))
		if len(printed) != 2 || path.Base(printed[0]) != filepath.Base(found[0]) || !strings.Contains(sums, printed[1]+"  "+filepath.Base(found[0])) {
			t.Errorf("on %s Homebrew downloads %v", p, printed)
		}
	}
	if rubocop, err := exec.LookPath("rubocop"); err == nil {
		config, err := filepath.Abs("testdata/rubocop.yml")
		must(t, err)
		do(t, folder, rubocop, "--config", config, "--cache", "false", formula)
	}
}

// A scoopManifest has the members that Scoop reads of a manifest, and that Junction uses.
type scoopManifest struct {
	Version      string                                `json:"version"`
	Description  string                                `json:"description"`
	Homepage     string                                `json:"homepage"`
	License      string                                `json:"license"`
	Architecture map[string]struct{ URL, Hash string } `json:"architecture"`
	Bin          string                                `json:"bin"`
	CheckVersion string                                `json:"checkver"`
	AutoUpdate   struct {
		Architecture map[string]struct {
			URL string `json:"url"`
		} `json:"architecture"`
		Hash struct {
			URL string `json:"url"`
		} `json:"hash"`
	} `json:"autoupdate"`
}

// checkScoop checks the manifest for Scoop: its archives and their sums, and that an update by
// itself finds those of the same names.
func checkScoop(t *testing.T, folder string) {
	var m scoopManifest
	d := json.NewDecoder(strings.NewReader(read(t, folder, "junction.json")))
	d.DisallowUnknownFields()
	must(t, d.Decode(&m))
	sums := read(t, folder, "SHA256SUMS")
	if m.Version == "" || m.Description != product.Summary || m.Homepage != product.Homepage || m.License != product.License || m.Bin != "junction.exe" || m.AutoUpdate.Hash.URL != "$baseurl/SHA256SUMS" {
		t.Errorf("the manifest is %+v", m)
	}
	for _, p := range platforms() {
		if p.os != "windows" {
			continue
		}
		arch := map[string]string{"amd64": "64bit", "arm64": "arm64"}[p.arch]
		now := m.Architecture[arch]
		if !strings.Contains(sums, now.Hash+"  "+path.Base(now.URL)) || !strings.HasSuffix(now.URL, p.String()+".zip") {
			t.Errorf("for %s Scoop downloads %+v", p, now)
		}
		if next := strings.ReplaceAll(m.AutoUpdate.Architecture[arch].URL, "$version", m.Version); next != now.URL {
			t.Errorf("for %s an update downloads %s, and this version is at %s", p, next, now.URL)
		}
	}
}
