package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// checkAction installs Junction by the script of the GitHub action, from a server with the files of
// a release.
func checkAction(t *testing.T, folder string) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	script, err := filepath.Abs("../../.github/actions/junction-test/install.sh")
	must(t, err)
	archive := one(t, folder, "junction_*_linux_*.tar.xz")
	_, version, _ := strings.Cut(filepath.Base(archive), "_")
	version, _, _ = strings.Cut(version, "_")

	changed := t.TempDir() // a release with a changed archive
	must(t, os.CopyFS(changed, os.DirFS(folder)))
	must(t, os.WriteFile(filepath.Join(changed, filepath.Base(archive)), []byte("changed"), 0o644))
	mux := http.NewServeMux()
	mux.Handle("/latest/download/", http.StripPrefix("/latest/download/", http.FileServer(http.Dir(folder))))
	mux.Handle("/download/v"+version+"/", http.StripPrefix("/download/v"+version+"/", http.FileServer(http.Dir(folder))))
	mux.Handle("/download/v6.6.6/", http.StripPrefix("/download/v6.6.6/", http.FileServer(http.Dir(changed))))
	server := httptest.NewServer(mux)
	defer server.Close()

	arch := map[string]string{"amd64": "X64", "arm64": "ARM64"}[runtime.GOARCH]
	for _, test := range []struct{ version, os, arch, prints string }{
		{"latest", "Linux", arch, ""},
		{version, "Linux", arch, ""},
		{"v" + version, "Linux", arch, ""},
		{"6.6.6", "Linux", arch, "differs from its sum in SHA256SUMS"},
		{"9.9.9", "Linux", arch, "/download/v9.9.9/SHA256SUMS cannot be downloaded"},
		{"../latest", "Linux", arch, "expected latest or a version such as 0.1.0"},
		{"latest", "Windows", arch, "has no archive for windows_"},
		{"latest", "Linux", "X86", "there is no release for X86"},
	} {
		t.Run(test.version+" "+test.os+" "+test.arch, func(t *testing.T) {
			temp := t.TempDir()
			paths := filepath.Join(temp, "paths")
			must(t, os.WriteFile(paths, nil, 0o600))
			cmd := exec.CommandContext(t.Context(), script)
			cmd.Dir = temp
			cmd.Env = []string{"PATH=/usr/bin:/bin", "VERSION=" + test.version, "RELEASES=" + server.URL, "RUNNER_OS=" + test.os, "RUNNER_ARCH=" + test.arch, "RUNNER_TEMP=" + temp, "GITHUB_PATH=" + paths}
			out, err := cmd.CombinedOutput()
			added := strings.TrimSpace(read(t, temp, "paths"))
			if test.prints != "" {
				if err == nil || added != "" || !strings.Contains(string(out), test.prints) {
					t.Errorf("it adds %q, ends with %v, and prints no %q: %s", added, err, test.prints, out)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := do(t, temp, filepath.Join(added, "junction"), "version"); !strings.HasPrefix(got, "junction "+version) {
				t.Errorf("it installs %q", got)
			}
		})
	}
}
