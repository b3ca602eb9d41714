package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"github.com/junction-mcp/junction/deploy/internal/product"
)

//go:embed linux
var linuxScripts embed.FS

// serviceFiles are the files of deploy/systemd that a package contains.
var serviceFiles = []struct{ source, file string }{
	{"junction.service", "/usr/lib/systemd/system/junction.service"},
	{"junction.sysusers", "/usr/lib/sysusers.d/junction.conf"},
	{"junction.tmpfiles", "/usr/lib/tmpfiles.d/junction.conf"},
	{"mcp.json", "/etc/junction/mcp.json"},
}

// completions are the files by which shells complete the command.
var completions = []struct{ shell, file string }{
	{"bash", "/usr/share/bash-completion/completions/junction"},
	{"zsh", "/usr/share/zsh/vendor-completions/_junction"},
	{"fish", "/usr/share/fish/vendor_completions.d/junction.fish"},
}

// linuxPackages writes a Debian and an RPM package for each platform with Linux. The packages
// contain the service for systemd, which is not started, with its user, folders and configuration.
// An upgrade keeps the configuration, and a removal keeps the data of the service.
func (r *release) linuxPackages(ctx context.Context) error {
	var contents files.Contents
	add := func(to string, data []byte, kind string) error {
		from := filepath.Join(r.work, "linux", to)
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return err
		}
		contents = append(contents, &files.Content{Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: r.when}})
		return os.WriteFile(from, data, 0o644)
	}
	for _, f := range serviceFiles {
		// The service of the sources is for a binary that an administrator put into /usr/local.
		text := bytes.ReplaceAll(r.texts[f.source], []byte("/usr/local/bin/junction"), []byte("/usr/bin/junction"))
		kind := files.TypeFile
		if strings.HasPrefix(f.file, "/etc/") {
			kind = files.TypeConfigNoReplace
		}
		if err := add(f.file, text, kind); err != nil {
			return err
		}
	}
	if err := add("/usr/share/doc/junction/copyright", r.texts["LICENSE"], files.TypeFile); err != nil {
		return err
	}
	for _, c := range completions {
		text, err := r.completion(ctx, c.shell)
		if err != nil {
			return err
		}
		if err := add(c.file, text, files.TypeFile); err != nil {
			return err
		}
	}
	if err := os.CopyFS(filepath.Join(r.work, "scripts"), linuxScripts); err != nil {
		return err
	}
	script := func(name string) string { return filepath.Join(r.work, "scripts", "linux", name) }
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
				Section: "net", Priority: "optional", Maintainer: product.Author + " <junction-mcp@users.noreply.github.com>",
				Description: product.Summary, Homepage: product.Homepage, License: product.License,
				Overridables: nfpm.Overridables{
					Contents: append(files.Contents{binary}, contents...),
					Scripts:  nfpm.Scripts{PostInstall: script("postinstall.sh"), PreRemove: script("preremove.sh"), PostRemove: script("postremove.sh")},
					Deb:      nfpm.Deb{Compression: "zstd:best"},
					RPM:      nfpm.RPM{Compression: "zstd:best", BuildHost: "localhost", Summary: product.Summary},
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
