package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A packaging installs packages of one format below a folder, as a system does below /.
type packaging struct {
	format  string
	prepare func(t *testing.T, root string)
	install func(root, file string) []string // returns the command; it upgrades, too
	remove  func(root string) []string
	left    string // what a removal leaves of a changed configuration
}

// installed installs a package into a new folder, and returns the installed command.
func (p packaging) installed(t *testing.T, root, file string) []string {
	p.prepare(t, root)
	do(t, root, p.install(root, file)...)
	checkInstalled(t, root)
	return []string{filepath.Join(root, "usr/bin/junction")}
}

// debs returns what dpkg does.
func debs() packaging {
	dpkg := func(root string, args ...string) []string {
		return append([]string{"dpkg", "--root=" + root, "--force-not-root", "--force-bad-path", "--force-script-chrootless", "--force-confold", "--log=/dev/null"}, args...)
	}
	return packaging{
		"deb",
		func(t *testing.T, root string) {
			must(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg/updates"), 0o755))
			must(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg/info"), 0o755))
			must(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644))
		},
		func(root, file string) []string { return dpkg(root, "-i", file) },
		func(root string) []string { return dpkg(root, "--remove", "junction-mcp") },
		"etc/junction/mcp.json",
	}
}

// rpms returns what rpm does. It runs the scripts of a package below the folder.
func rpms() packaging {
	rpm := func(root string, args ...string) []string {
		mount := []string{"unshare", "-m", "sh", "-c", `mount -t proc proc $0/proc && exec "$@"`, root} // systemd-tmpfiles needs it
		return append(append(mount, "rpm", "--root", root, "--dbpath", "/rpm"), args...)
	}
	return packaging{
		"rpm",
		func(t *testing.T, root string) {
			if _, err := exec.LookPath("rpm"); err != nil {
				t.Skip("rpm is not installed")
			}
			if os.Getuid() != 0 {
				t.Skip("only root can change the root folder, as rpm does")
			}
			for _, program := range []string{"/bin/sh", "/usr/bin/systemd-sysusers", "/usr/bin/systemd-tmpfiles"} {
				copyProgram(t, root, program)
			}
			must(t, os.Mkdir(filepath.Join(root, "proc"), 0o755))
			must(t, os.Mkdir(filepath.Join(root, "dev"), 0o755))
			must(t, os.WriteFile(filepath.Join(root, "dev/null"), nil, 0o666))
		},
		func(root, file string) []string { return rpm(root, "-U", "--nodeps", file) },
		func(root string) []string { return rpm(root, "-e", "junction-mcp") },
		"etc/junction/mcp.json.rpmsave",
	}
}

// copyProgram copies a program and its libraries to the same paths below a folder. It does nothing
// if this machine lacks the program.
func copyProgram(t *testing.T, root, program string) {
	t.Helper()
	if _, err := os.Stat(program); err != nil {
		return
	}
	libraries, err := exec.CommandContext(t.Context(), "ldd", program).Output()
	must(t, err)
	for _, path := range append(regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1), program) {
		data, err := os.ReadFile(path)
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, path), data, 0o755))
	}
}

// checkInstalled checks what a package for Linux installs next to the binary: a service that starts
// this binary and is not enabled, its user, its folders, and its configuration.
func checkInstalled(t *testing.T, root string) {
	t.Helper()
	text := read(t, root, "usr/lib/systemd/system/junction.service")
	programs := regexp.MustCompile(`(?m)^Exec\w+=(\S+)`).FindAllStringSubmatch(text, -1)
	for _, found := range programs {
		if _, err := os.Stat(filepath.Join(root, found[1])); err != nil {
			t.Errorf("the service starts a program that the package does not install: %v", err)
		}
	}
	if len(programs) == 0 {
		t.Error("the service starts nothing")
	}
	if _, err := os.Stat(filepath.Join(root, "etc/systemd")); err == nil {
		t.Error("the installation enables the service")
	}
	if !strings.Contains(text, " --config /etc/junction/mcp.json") || !strings.Contains(read(t, root, "etc/junction/mcp.json"), `"mcpServers": {}`) {
		t.Error("the configuration of the service is missing")
	}
	if os.Getuid() != 0 {
		t.Log("only root can make the user of the service")
		return
	}
	if _, err := exec.LookPath("systemd-sysusers"); err == nil && !strings.Contains("\n"+read(t, root, "etc/passwd"), "\njunction:") {
		t.Errorf("the user of the service is missing: %s", read(t, root, "etc/passwd"))
	}
	if _, err := exec.LookPath("systemd-tmpfiles"); err == nil {
		if info, err := os.Stat(filepath.Join(root, "var/lib/junction")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder of the service: %v, %v", info, err)
		}
	}
}

// read returns the text of a file below a folder.
func read(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	must(t, err)
	return string(text)
}

// earlier makes packages of an earlier version, with a small program and a different configuration.
func earlier(t *testing.T) (folder string) {
	t.Helper()
	own := platforms()[slices.IndexFunc(platforms(), func(p platform) bool { return p.os == "linux" && p.arch == runtime.GOARCH })]
	r := small(t, "1600000000", own)
	r.version = "0.0.9"
	r.texts["mcp.json"] = []byte("// of an earlier version\n{\"mcpServers\": {}}\n")
	must(t, r.linuxPackages(t.Context()))
	return r.out
}

// checkUpgrades installs packages of an earlier version, upgrades them to those of a release, and
// removes them. The changed configuration and the data of the service stay.
func checkUpgrades(t *testing.T, folder string) {
	old := earlier(t)
	for _, p := range []packaging{debs(), rpms()} {
		t.Run(p.format, func(t *testing.T) {
			if os.Getuid() != 0 {
				t.Skip("only root can give files to the user of the service")
			}
			for _, edited := range []bool{false, true} {
				root, config := t.TempDir(), "etc/junction/mcp.json"
				p.prepare(t, root)
				do(t, root, p.install(root, one(t, old, "*."+p.format))...)
				checkInstalled(t, root)
				const own = "{\"mcpServers\": {\"a\": {\"url\": \"https://a.example.com\"}}}\n"
				if edited {
					must(t, os.WriteFile(filepath.Join(root, config), []byte(own), 0o644))
				}
				must(t, os.MkdirAll(filepath.Join(root, "var/lib/junction"), 0o700))
				must(t, os.WriteFile(filepath.Join(root, "var/lib/junction/keys.json"), []byte("{}"), 0o600))

				do(t, root, p.install(root, one(t, folder, "*."+p.format))...)
				if kept := read(t, root, config); edited != (kept == own) || strings.Contains(kept, "an earlier version") {
					t.Errorf("edited %t: after the upgrade the configuration is %s", edited, kept)
				}
				if strings.HasPrefix(read(t, root, "usr/bin/junction"), "#!") {
					t.Error("the upgrade left the program of the earlier version")
				}

				printed := do(t, root, p.remove(root)...)
				if want := "/var/lib/junction stays, with the user junction; to delete it: rm -r /var/lib/junction"; !strings.Contains(printed, want) {
					t.Errorf("the removal does not print %q: %s", want, printed)
				}
				if read(t, root, "var/lib/junction/keys.json") != "{}" {
					t.Error("the removal deleted the keys")
				}
				if edited && read(t, root, p.left) != own {
					t.Errorf("the removal changed the configuration: %s", read(t, root, p.left))
				}
				if _, err := os.Stat(filepath.Join(root, "usr/bin/junction")); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the removal left the binary: %v", err)
				}
			}
		})
	}
}
