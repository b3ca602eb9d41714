package install

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mcpb installs bundles: zip archives with a manifest.json, from an address or a file.
type mcpb struct {
	web   *http.Client
	blobs string // a folder for archives between Resolve and Install, named by their hashes
}

var hexHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

const (
	signatureBegin = "MCPB_SIG_V1"
	signatureEnd   = "MCPB_SIG_END"
	maxSignature   = 1 << 20 // bytes of a signature that is looked for at the end of a bundle
)

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

// withBundle opens an archive that was just kept; where it is not what was expected, it is kept no longer.
func withBundle(blobs, hash string, look func(*bundle) error) error {
	b, err := openBundle(blobs, hash)
	if err == nil {
		err = errors.Join(look(b), b.Close())
	}
	if err != nil {
		return errors.Join(err, os.Remove(filepath.Join(blobs, hash)))
	}
	return nil
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

// keep writes what is read into a folder, under its hash.
func keep(in io.Reader, dir, blobs string) (hash string, err error) {
	path := filepath.Join(dir, "archive")
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(in, maxArchive+1))
	if err == nil && n > maxArchive {
		err = fmt.Errorf("has more than %d bytes", maxArchive)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	hash = hex.EncodeToString(sum.Sum(nil))
	return hash, os.Rename(path, filepath.Join(blobs, hash))
}

// A bundle is an archive that was opened, without its signature.
type bundle struct {
	*zip.Reader
	file *os.File
	size int64
}

func (b *bundle) Close() error { return b.file.Close() }

// openBundle opens the archive with this hash. What is read of it comes from the file that was hashed, and not once more from its path, where by
// then another one could lie; and what Resolve left there may be days old. A signature after its end says who made it, in a certificate that
// anybody can make: it is not looked at.
func openBundle(blobs, want string) (*bundle, error) {
	f, err := os.Open(filepath.Join(blobs, want))
	if err != nil {
		return nil, err
	}
	b := &bundle{file: f}
	sum := sha256.New()
	_, err = io.Copy(sum, io.LimitReader(f, maxArchive+1))
	if hash := hex.EncodeToString(sum.Sum(nil)); err == nil && hash != want {
		err = fmt.Errorf("%w: its SHA-256 was %s and is %s", ErrIntegrity, want, hash)
	}
	if err == nil {
		b.size, err = unsignedSize(f)
	}
	if err == nil {
		b.Reader, err = openZip(io.NewSectionReader(f, 0, b.size), b.size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return b, nil
}

// openOrGet opens the archive with this hash, and gets it where it is not there or no longer what it was.
func openOrGet(blobs, want string, get func() (hash string, err error)) (*bundle, error) {
	if b, err := openBundle(blobs, want); err == nil {
		return b, nil
	}
	hash, err := get()
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, fmt.Errorf("%w since it was locked: %w", ErrPulled, err)
	case err != nil:
		return nil, err
	case hash != want:
		return nil, errors.Join(fmt.Errorf("%w: its SHA-256 was %s and is %s", ErrIntegrity, want, hash), os.Remove(filepath.Join(blobs, hash)))
	}
	return openBundle(blobs, want)
}

// unsignedSize is the size of an archive without the signature that may follow it: the two marks around a length and a PKCS#7 block.
func unsignedSize(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	tail := make([]byte, min(size, maxSignature))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return 0, err
	}
	if at := bytes.LastIndex(tail, []byte(signatureBegin)); at >= 0 && bytes.HasSuffix(tail, []byte(signatureEnd)) {
		return size - int64(len(tail)-at), nil
	}
	return size, nil
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
