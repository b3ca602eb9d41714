package main

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

// makeRelease makes the release for this platform in a new folder, with a signature by a new key.
func makeRelease(t *testing.T) (folder string, public minisign.PublicKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	must(t, err)
	text, err := private.MarshalText()
	must(t, err)
	key := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(key, text, 0o600))
	folder = filepath.Join(t.TempDir(), "files")
	must(t, run(t.Context(), folder, runtime.GOOS+"_"+runtime.GOARCH, key, "1700000000"))
	return folder, public
}

// A way is one way to install Junction from a file of a release.
type way struct {
	name    string
	file    string                                                  // pattern of the file's name
	install func(t *testing.T, folder, file string) (args []string) // returns the installed command
}

func ways() []way {
	return []way{
		{"archive", "junction_*_linux_*.tar.xz", func(t *testing.T, folder, file string) []string {
			do(t, folder, "tar", "-xf", file)
			return []string{filepath.Join(folder, "junction")}
		}},
		{"deb", "*.deb", func(t *testing.T, folder, file string) []string {
			must(t, os.MkdirAll(filepath.Join(folder, "var/lib/dpkg/updates"), 0o755))
			must(t, os.MkdirAll(filepath.Join(folder, "var/lib/dpkg/info"), 0o755))
			must(t, os.WriteFile(filepath.Join(folder, "var/lib/dpkg/status"), nil, 0o644))
			do(t, folder, "dpkg", "--root="+folder, "--force-not-root", "--force-bad-path", "--log=/dev/null", "-i", file)
			checkService(t, folder)
			return []string{filepath.Join(folder, "usr/bin/junction")}
		}},
		{"rpm", "*.rpm", func(t *testing.T, folder, file string) []string {
			if _, err := exec.LookPath("rpm"); err != nil {
				t.Skip("rpm is not installed")
			}
			do(t, folder, "rpm", "--root", folder, "--dbpath", "/rpm", "-i", "--nodeps", file)
			checkService(t, folder)
			return []string{filepath.Join(folder, "usr/bin/junction")}
		}},
		{"npm", "junction-mcp-[0-9]*.tgz", func(t *testing.T, folder, file string) []string {
			do(t, folder, "npm", "install", "--offline", "--no-audit", "--no-fund", "--cache", filepath.Join(folder, "cache"), file, one(t, filepath.Dir(file), "junction-mcp-linux-*.tgz"))
			return []string{filepath.Join(folder, "node_modules/.bin/junction-mcp")}
		}},
		{"wheel", "*.whl", func(t *testing.T, folder, file string) []string {
			do(t, folder, "python3", "-m", "venv", folder)
			do(t, folder, filepath.Join(folder, "bin/pip"), "install", "--no-index", "--no-cache-dir", file)
			return []string{filepath.Join(folder, "bin/junction-mcp")}
		}},
		{"bundle", "*.mcpb", func(t *testing.T, folder, file string) []string {
			unzip(t, folder, file)
			text, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
			must(t, err)
			var manifest struct {
				Server struct {
					Config struct {
						Command string   `json:"command"`
						Args    []string `json:"args"`
					} `json:"mcp_config"`
				} `json:"server"`
			}
			must(t, json.Unmarshal(text, &manifest))
			if got := strings.Join(manifest.Server.Config.Args, " "); got != "up --stdio" {
				t.Errorf("the bundle starts junction with %q", got)
			}
			return []string{strings.ReplaceAll(manifest.Server.Config.Command, "${__dirname}", folder)}
		}},
	}
}

// checkService checks that the service for systemd starts programs that the package installs.
func checkService(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "usr/lib/systemd/system/junction.service"))
	must(t, err)
	found := 0
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if !strings.HasPrefix(name, "Exec") {
			continue
		}
		found++
		program, _, _ := strings.Cut(value, " ")
		if _, err := os.Stat(filepath.Join(folder, program)); err != nil {
			t.Errorf("%s of the service starts a program that the package does not install: %v", name, err)
		}
	}
	if found == 0 {
		t.Error("the service starts nothing")
	}
}

// TestAReleaseIsInstalled makes a release, installs it in each way from its file, and makes a call
// with it on a machine without a network.
func TestAReleaseIsInstalled(t *testing.T) {
	folder, public := makeRelease(t)
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	must(t, err)
	signature, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS.minisig"))
	must(t, err)
	if !minisign.Verify(public, sums, signature) {
		t.Error("the signature of SHA256SUMS is wrong")
	}
	do(t, folder, "sha256sum", "--check", "--strict", "SHA256SUMS")
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			file := one(t, folder, w.file)
			command := w.install(t, t.TempDir(), file)
			if got := call(t, command); got != "hello" {
				t.Errorf("echo returned %q", got)
			}
		})
	}
}

// TestAReleaseIsTheSameTwice needs minutes, so only the nightly run has it.
func TestAReleaseIsTheSameTwice(t *testing.T) {
	if os.Getenv("JUNCTION_INTEGRATION_MATRIX") == "" {
		t.Skip("JUNCTION_INTEGRATION_MATRIX is not set")
	}
	var first string
	for range 2 {
		folder := filepath.Join(t.TempDir(), "files")
		must(t, run(t.Context(), folder, "", "", "1700000000"))
		sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
		must(t, err)
		if lines := strings.Count(string(sums), "\n"); lines < 30 {
			t.Errorf("the release has %d files", lines)
		}
		if first != "" && first != string(sums) {
			t.Errorf("two releases of one commit differ:\n%s\n%s", first, sums)
		}
		first = string(sums)
	}
}

// call calls the tool echo of the server that Junction ships with, in a namespace without a network where the system has them.
func call(t *testing.T, args []string) string {
	t.Helper()
	home, began := t.TempDir(), time.Now()
	args = append(args, "up", "--stdio")
	if alone := []string{"unshare", "--map-root-user", "--net", "--"}; exec.CommandContext(t.Context(), alone[0], append(alone[1:], "true")...).Run() == nil {
		args = append(alone, args...)
	} else {
		t.Log("with the network of this machine: it allows no namespaces")
	}
	program := command.New(args[0], args[1:]...)
	program.Env, program.Dir = []string{"HOME=" + home}, home
	c, err := mcp.Dial(t.Context(), program)
	must(t, err)
	defer c.Close()
	result, err := c.CallTool(t.Context(), "everything__echo", map[string]any{"message": "hello"})
	must(t, err)
	t.Logf("from start to the result of a call: %v", time.Since(began).Round(time.Millisecond))
	return result.Text()
}

// one returns the only file that matches a pattern.
func one(t *testing.T, folder, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("%d files match %s", len(found), pattern)
	}
	return found[0]
}

// do runs a command in a folder.
func do(t *testing.T, folder string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
}

// unzip extracts a zip file, as hosts extract bundles.
func unzip(t *testing.T, folder, file string) {
	t.Helper()
	z, err := zip.OpenReader(file)
	must(t, err)
	defer z.Close()
	for _, f := range z.File {
		to := filepath.Join(folder, f.Name)
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		from, err := f.Open()
		must(t, err)
		data, err := io.ReadAll(from)
		must(t, err)
		must(t, os.WriteFile(to, data, f.Mode().Perm()))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", t.Name(), err))
	}
}
