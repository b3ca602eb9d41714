package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// completions are the files by which shells complete the command.
var completions = []struct{ shell, file string }{
	{"bash", "/usr/share/bash-completion/completions/junction"},
	{"zsh", "/usr/share/zsh/vendor-completions/_junction"},
	{"fish", "/usr/share/fish/vendor_completions.d/junction.fish"},
}

// linuxPackages writes a Debian and an RPM package for each platform with Linux. The packages
// contain the service for systemd, which is not started.
func (r *release) linuxPackages(ctx context.Context) error {
	var contents files.Contents
	add := func(to string, data []byte, mode os.FileMode) error {
		from := filepath.Join(r.work, "linux", to)
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return err
		}
		contents = append(contents, &files.Content{Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.when}})
		return os.WriteFile(from, data, 0o644)
	}
	// The file of the sources is for a binary that an administrator put into /usr/local.
	service := bytes.ReplaceAll(r.texts["junction.service"], []byte("/usr/local/bin/junction"), []byte("/usr/bin/junction"))
	if err := add("/usr/lib/systemd/system/junction.service", service, 0o644); err != nil {
		return err
	}
	if err := add("/usr/share/doc/junction/copyright", r.texts["LICENSE"], 0o644); err != nil {
		return err
	}
	for _, c := range completions {
		text, err := r.completion(ctx, c.shell)
		if err != nil {
			return err
		}
		if err := add(c.file, text, 0o644); err != nil {
			return err
		}
	}
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		binary := &files.Content{Source: filepath.Join(r.work, p.String(), p.program()), Destination: "/usr/bin/junction", FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.when}}
		for _, format := range []string{"deb", "rpm"} {
			packager, err := nfpm.Get(format)
			if err != nil {
				return err
			}
			info := nfpm.WithDefaults(&nfpm.Info{
				Name: "junction-mcp", Arch: p.arch, Platform: "linux", Version: r.version, Release: "1", MTime: r.when,
				Section: "net", Priority: "optional", Maintainer: author + " <junction-mcp@users.noreply.github.com>",
				Description: summary, Homepage: homepage, License: license,
				Overridables: nfpm.Overridables{
					Contents: append(files.Contents{binary}, contents...),
					Deb:      nfpm.Deb{Compression: "xz"},
					RPM:      nfpm.RPM{Compression: "zstd", BuildHost: "localhost", Summary: summary},
				},
			})
			var b bytes.Buffer
			if err := packager.Package(info, &b); err != nil {
				return fmt.Errorf("%s for %s: %w", format, p, err)
			}
			if err := r.write(packager.ConventionalFileName(info), b.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// completion returns what the binary for this machine prints for a shell. It is built if the
// release has none.
func (r *release) completion(ctx context.Context, shell string) ([]byte, error) {
	binary := filepath.Join(r.work, runtime.GOOS+"_"+runtime.GOARCH, "junction")
	if _, err := os.Stat(binary); err != nil {
		if _, err := output(ctx, r.root, "go", "build", "-o", binary, "./cmd/junction"); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, binary, "completion", shell)
	cmd.Env = []string{"HOME=" + r.work}
	return cmd.Output()
}
