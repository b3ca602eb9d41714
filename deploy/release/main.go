// Release makes all files of a release, from the sources of the checked out commit:
//
//	go run -C deploy ./release -out /tmp/release
//
// The files are archives, Debian and RPM packages, npm and PyPI packages, bundles for desktop
// hosts, a container image, manifests for Homebrew, Scoop and the registry of the Model Context
// Protocol, a bill of materials for each platform, and the sums of all. The flag -key adds a
// signature of the sums. The same commit and Go release make the same bytes.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/deploy/internal/compile"
	"github.com/junction-mcp/junction/deploy/internal/product"
)

// A platform is an operating system and an architecture, with the names that the kinds of packages
// have for them.
type platform struct {
	os, arch string
	node     string   // operating system in npm and in bundles
	cpu      string   // architecture in npm
	wheel    []string // tags of a wheel
}

func (p platform) String() string { return p.os + "_" + p.arch }

// program returns the file name of the binary.
func (p platform) program() string {
	if p.os == "windows" {
		return "junction.exe"
	}
	return "junction"
}

// platforms lists the platforms of a release.
func platforms() []platform {
	return []platform{
		{"linux", "amd64", "linux", "x64", []string{"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"}},
		{"linux", "arm64", "linux", "arm64", []string{"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"}},
		{"darwin", "amd64", "darwin", "x64", []string{"macosx_12_0_x86_64"}},
		{"darwin", "arm64", "darwin", "arm64", []string{"macosx_12_0_arm64"}},
		{"windows", "amd64", "win32", "x64", []string{"win_amd64"}},
		{"windows", "arm64", "win32", "arm64", []string{"win_arm64"}},
	}
}

// A release is a release while it is made.
type release struct {
	root      string // folder of the sources
	out       string // folder of the files
	work      string // folder of what is no file of the release
	version   string
	when      time.Time // time of all files in archives
	noCommit  bool      // set if the sources are not in a repository
	key       string    // file of the key that signs; empty without a signature
	platforms []platform
	binaries  map[string][]byte // by platform
	texts     map[string][]byte // files of the sources, by base name
	written   []written
}

// A written is a file of the release.
type written struct {
	name string
	size int
	sum  string // SHA-256, in hexadecimal digits
}

func main() {
	out := flag.String("out", "", "write the files to this `FOLDER`, which must not exist or be empty")
	only := flag.String("platforms", "", "make only these `PLATFORMS`, such as linux_amd64,darwin_arm64")
	key := flag.String("key", "", "sign the sums with the minisign key in this `FILE`; MINISIGN_PASSWORD holds its password")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *only, *key, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes a release, and prints a line for each file. epoch is the time of its files in seconds
// since 1970; if it is empty, the files have the time of the commit.
func run(ctx context.Context, out, only, key, epoch string) (err error) {
	r := &release{out: out, key: key, noCommit: epoch != "", platforms: platforms(), binaries: map[string][]byte{}, texts: map[string][]byte{}}
	if only != "" {
		names := strings.Split(only, ",")
		r.platforms = slices.DeleteFunc(r.platforms, func(p platform) bool { return !slices.Contains(names, p.String()) })
		if len(r.platforms) != len(names) {
			return fmt.Errorf("unknown platform among %s", only)
		}
	}
	if r.work, err = os.MkdirTemp("", "junction-release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"sources", func(ctx context.Context) error { return r.readSources(ctx, epoch) }},
		{"binaries", r.compile},
		{"archives", r.archives},
		{"packages for Linux", r.linuxPackages},
		{"packages for npm", r.npmPackages},
		{"wheels", r.wheels},
		{"bundles", r.bundles},
		{"image", r.image},
		{"manifests", r.manifests},
		{"bills of materials", r.materials},
		{"sums", r.sums},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	for _, w := range r.written {
		fmt.Printf("%s %9d %s\n", w.sum, w.size, w.name)
	}
	return nil
}

// versionLine is the line of the sources that contains the version.
var versionLine = regexp.MustCompile(`(?m)^const Version = "([^"]+)"$`)

// readSources finds the sources, their version and their time.
func (r *release) readSources(ctx context.Context, epoch string) error {
	root, err := output(ctx, ".", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/junction-mcp/junction")
	if err != nil {
		return fmt.Errorf("not found: run it in the folder deploy: %w", err)
	}
	r.root = root
	const app = "cmd/junction/internal/cli/app.go"
	names := []string{app, "README.md", "LICENSE"}
	for _, f := range serviceFiles {
		names = append(names, "deploy/systemd/"+f.source)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		r.texts[filepath.Base(name)] = text
	}
	found := versionLine.FindSubmatch(r.texts[filepath.Base(app)])
	if found == nil {
		return fmt.Errorf("%s has no line %s", app, versionLine)
	}
	r.version = string(found[1])
	if epoch == "" {
		if epoch, err = r.readCommit(ctx); err != nil {
			return fmt.Errorf("the commit, without SOURCE_DATE_EPOCH: %w", err)
		}
	}
	n, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("the time: %w", err)
	}
	r.when = time.Unix(n, 0).UTC()
	if left, err := os.ReadDir(r.out); err == nil && len(left) > 0 {
		return fmt.Errorf("%s is not empty", r.out)
	}
	return os.MkdirAll(r.out, 0o755)
}

// readCommit returns the time of the commit. The commit must have no tag but that of the version.
func (r *release) readCommit(ctx context.Context) (epoch string, err error) {
	tags, err := output(ctx, r.root, "git", "tag", "--points-at", "HEAD", "--list", "v*")
	if err != nil {
		return "", err
	}
	if names := strings.Fields(tags); len(names) > 0 && !slices.Contains(names, "v"+r.version) {
		return "", fmt.Errorf("it has the tag %s, and the sources have the version %s: change one of them", names[0], r.version)
	}
	return output(ctx, r.root, "git", "log", "-1", "--format=%ct")
}

// compile builds a static binary for each platform.
func (r *release) compile(ctx context.Context) error {
	for _, p := range r.platforms {
		to := filepath.Join(r.work, p.String(), p.program())
		if err := compile.Program(ctx, r.root, to, p.os, p.arch, !r.noCommit); err != nil {
			return err
		}
		binary, err := os.ReadFile(to)
		if err != nil {
			return err
		}
		r.binaries[p.String()] = binary
	}
	return nil
}

// write adds a file to the release.
func (r *release) write(name string, data []byte) error {
	r.written = append(r.written, written{name, len(data), sum(data)})
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// sum returns the SHA-256 of data in hexadecimal digits.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// sumOf returns the sum of a file that is already written, or an empty text.
func (r *release) sumOf(name string) string {
	i := slices.IndexFunc(r.written, func(w written) bool { return w.name == name })
	if i < 0 {
		return ""
	}
	return r.written[i].sum
}

// url returns the address of a file of the release.
func (r *release) url(name string) string {
	return product.Homepage + "/releases/download/v" + r.version + "/" + name
}

// output returns the trimmed output of a command.
func output(ctx context.Context, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}
