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
		{"deb", "*.deb", debs().installed},
		{"rpm", "*.rpm", rpms().installed},
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
	t.Run("first call", func(t *testing.T) { checkFirstCall(t, folder) })
	t.Run("first connection of a host", func(t *testing.T) { checkFirstConnect(t, folder) })
	t.Run("image", func(t *testing.T) { checkImage(t, folder) })
	t.Run("formula", func(t *testing.T) { checkFormula(t, folder, true) })
	t.Run("action", func(t *testing.T) { checkAction(t, folder) })
	t.Run("upgrade", func(t *testing.T) { checkUpgrades(t, folder) })
}

// TestAReleaseIsTheSameTwice makes a release for all platforms twice, and checks the files that this
// platform cannot install. It needs minutes, so only the nightly run has it.
func TestAReleaseIsTheSameTwice(t *testing.T) {
	if os.Getenv("JUNCTION_INTEGRATION_MATRIX") == "" {
		t.Skip("JUNCTION_INTEGRATION_MATRIX is not set")
	}
	var first, folder string
	for range 2 {
		folder = filepath.Join(t.TempDir(), "files")
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
	for _, p := range platforms() {
		program := checkArchive(t, folder, p)
		if p.os == "darwin" {
			if err := checkSignature(program, p.arch == "arm64"); err != nil {
				t.Errorf("the program for %s: %v", p, err)
			}
		}
	}
	checkImages(t, folder, "amd64", "arm64")
	checkFormula(t, folder, true)
	t.Run("windows", func(t *testing.T) { checkWindows(t, folder) })
}

// call calls the tool echo of the server that Junction ships with, in a namespace without a network
// where the system has them, and with an empty home folder.
func call(t *testing.T, args []string) string {
	t.Helper()
	return callWith(t, append(args, "up", "--stdio"), []string{"HOME=" + t.TempDir()})
}

// callWith is call with a whole command line and its variables.
func callWith(t *testing.T, args, env []string) string {
	t.Helper()
	alone := []string{"unshare", "--map-root-user", "--net", "--"}
	if os.Getuid() == 0 { // the users of an image must be there
		alone = []string{"unshare", "--net", "--"}
	}
	if exec.CommandContext(t.Context(), alone[0], append(alone[1:], "true")...).Run() == nil {
		args = append(alone, args...)
	} else {
		t.Log("with the network of this machine: it allows no namespaces")
	}
	began := time.Now()
	program := command.New(args[0], args[1:]...)
	program.Env, program.Dir = env, t.TempDir()
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

// do runs a command in a folder, and returns what it prints.
func do(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return string(out)
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
