package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// mcpb installs bundles: zip archives with a manifest.json, from an address or a file.
type mcpb struct {
	web   *http.Client
	blobs string // a folder for archives between Resolve and Install, named by their hashes
}

func (k mcpb) resolve(ctx context.Context, p Package, dir string) (*Locked, error) {
	p.SHA256 = strings.ToLower(p.SHA256)
	if p.SHA256 != "" && !hexHash.MatchString(p.SHA256) {
		return nil, fmt.Errorf("has the SHA-256 %.100q, which is not one", p.SHA256)
	}
	if !strings.Contains(p.Name, "://") {
		path, err := filepath.Abs(p.Name)
		if err != nil {
			return nil, err
		}
		p.Name = path
	}
	hash, err := k.fetch(ctx, p.Name, dir)
	if err != nil {
		return nil, err
	}
	if p.SHA256 != "" && hash != p.SHA256 {
		return nil, errors.Join(fmt.Errorf("%w: its SHA-256 should be %s and is %s", ErrIntegrity, p.SHA256, hash), os.Remove(k.blob(hash)))
	}
	l := &Locked{Package: p, Integrity: "sha256:" + hash}
	err = withBundle(k.blobs, hash, func(b *bundle) error {
		m, err := b.manifest()
		if err == nil {
			l.Version, l.Program = m.Version, m.words()
		}
		return err
	})
	return l, err
}

func (k mcpb) blob(hash string) string { return filepath.Join(k.blobs, hash) }

// fetch gets an archive and keeps it under its hash.
func (k mcpb) fetch(ctx context.Context, from, dir string) (hash string, err error) {
	var in io.ReadCloser
	if strings.Contains(from, "://") {
		if err := checkAddress(from); err != nil {
			return "", err
		}
		response, err := get(ctx, k.web, from, "")
		if err != nil {
			return "", err
		}
		in = response.Body
	} else if in, err = os.Open(from); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	defer in.Close()
	return keep(in, dir, k.blobs)
}

// manifest reads the manifest.json of a bundle, and sees whether the file that it starts is there.
func (b *bundle) manifest() (*manifest, error) {
	f, err := b.Open("manifest.json")
	if err != nil {
		return nil, errors.New("the archive has no manifest.json: is it an mcpb bundle?")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	m, err := readManifest(text)
	if err != nil {
		return nil, err
	}
	if entry, err := b.Open(strings.TrimPrefix(m.Server.EntryPoint, "./")); err != nil {
		return nil, fmt.Errorf("manifest.json has the entry_point %.100q, which the archive has not", m.Server.EntryPoint)
	} else {
		_ = entry.Close()
	}
	return m, nil
}

func (k mcpb) install(ctx context.Context, l *Locked, dir string) error {
	want, ok := strings.CutPrefix(l.Integrity, "sha256:")
	if !ok || !hexHash.MatchString(want) {
		return fmt.Errorf("the lock has the hash %.100q, which is not a SHA-256", l.Integrity)
	}
	archive, err := openOrGet(k.blobs, want, func() (string, error) { return k.fetch(ctx, l.Name, dir) })
	if err != nil {
		return err
	}
	defer os.Remove(k.blob(want))
	defer archive.Close()
	m, err := archive.manifest()
	if err != nil {
		return err
	}
	if err := unpack(ctx, archive.Reader, archive.size, dir); err != nil {
		return err
	}
	return m.makeExecutable(dir)
}

func (mcpb) program(l *Locked, dir string) (*Program, error) {
	text, err := readLimited(filepath.Join(dir, "manifest.json"), maxManifest)
	if err != nil {
		return nil, ErrNotInstalled
	}
	m, err := readManifest(text)
	if err != nil {
		return nil, err
	}
	return m.programOf(l, dir)
}

// advice only knows whether the same archive is still there: a bundle has no registry of its own.
func (k mcpb) advice(ctx context.Context, l *Locked, dir string) (Advice, error) {
	hash, err := k.fetch(ctx, l.Name, dir)
	if errors.Is(err, ErrNotFound) {
		return Advice{Pulled: true}, nil
	}
	if err != nil {
		return Advice{}, err
	}
	if "sha256:"+hash != l.Integrity {
		err = fmt.Errorf("%w: %s was locked, and there is sha256:%s now", ErrIntegrity, l.Integrity, hash)
	}
	return Advice{Newest: l.Version}, errors.Join(err, os.Remove(k.blob(hash)))
}

func (mcpb) audit(context.Context, *Locked, string) ([]Vulnerability, error) {
	return nil, fmt.Errorf("%w: nobody lists the vulnerabilities of bundles", ErrNoAudit)
}
