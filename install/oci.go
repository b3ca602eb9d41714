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
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/runner"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// oci runs images by digest with docker or podman. The engine stores them; the store only has a
// record that they are installed.
type oci struct{ web *http.Client }

const maxTags = 10_000 // number of an image's tags that are searched for a newer version

var (
	imageDigest = lazy.Regexp(`^sha256:[0-9a-f]{64}$`)
	imageName   = lazy.Regexp(`^[a-z0-9][A-Za-z0-9._-]*(?::[0-9]+)?(?:/[a-z0-9][a-z0-9._-]*)*$`)
	imageTag    = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
)

// splitImage splits an image's name as users type it: mcp/time, host:5000/name:tag, name@sha256:….
func splitImage(p Package) (image, reference string, err error) {
	image, digest, hasDigest := strings.Cut(p.Name, "@")
	if at := strings.LastIndexByte(image, ':'); at > strings.LastIndexByte(image, '/') {
		image, reference = image[:at], image[at+1:]
	}
	if p.Version != "" {
		reference = p.Version
	}
	if hasDigest {
		reference = digest
	}
	if reference == "" {
		reference = "latest"
	}
	if !imageTag().MatchString(reference) && !imageDigest().MatchString(reference) {
		return "", "", fmt.Errorf("has the tag or digest %.100q, which is not valid", reference)
	}
	if p.Registry != "" && !hasHost(image) {
		image = strings.TrimPrefix(strings.TrimPrefix(strings.TrimRight(p.Registry, "/"), "https://"), "http://") + "/" + image
	}
	return image, reference, nil
}

// hasHost reports whether an image's name begins with a registry, by the rules of container
// engines.
func hasHost(image string) bool {
	first, _, more := strings.Cut(image, "/")
	return more && (strings.ContainsAny(first, ".:") || first == "localhost")
}

// repository returns the repository of an image, with the user's logins for docker or podman.
func (k oci) repository(image string) (*remote.Repository, error) {
	full := image
	if !hasHost(image) { // Docker Hub; the library knows the address of its registry
		if !strings.Contains(image, "/") {
			full = "library/" + image
		}
		full = dockerHub + "/" + full
	}
	r, err := remote.NewRepository(full)
	if err != nil {
		return nil, fmt.Errorf("is not the name of an image: %w", err)
	}
	logins, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("the logins of docker: %w", err)
	}
	host, _, err := net.SplitHostPort(r.Reference.Registry)
	if err != nil {
		host = r.Reference.Registry
	}
	r.PlainHTTP = outside.IsHere(host) // HTTP for a registry on this machine, like docker
	r.Client = &auth.Client{Client: k.web, Cache: auth.NewCache(), Credential: credentials.Credential(logins)}
	return r, nil
}

// dockerHub is the default registry of image names without one.
const dockerHub = "docker.io"

func (k oci) resolve(ctx context.Context, p Package, _ string) (*Locked, error) {
	image, reference, err := splitImage(p)
	if err != nil {
		return nil, err
	}
	r, err := k.repository(image)
	if err != nil {
		return nil, err
	}
	found, err := r.Resolve(ctx, reference)
	if err != nil {
		return nil, explainOCI(err)
	}
	digest := found.Digest.String()
	if !imageDigest().MatchString(digest) {
		return nil, fmt.Errorf("the registry answers with the digest %.100q, which is not a SHA-256", digest)
	}
	p.Name, p.Version, p.Registry = image, reference, ""
	l := &Locked{Package: p, Integrity: digest}
	l.SetOptions(nil)
	return l, nil
}

// SetOptions sets the options of docker run for an image. They are part of the locked data.
// [Store.Open] refuses options that give the container additional rights.
func (l *Locked) SetOptions(options []string) {
	l.Program = runner.Package{Kind: l.Type, Name: l.Name + "@" + l.Integrity, Options: options}.Words()
}

// Options returns the options of docker run for an image.
func (l *Locked) Options() []string {
	k := runner.Of(l.Type)
	if n := len(k.Start); k.IsContainer && len(l.Program) > n && slices.Equal(l.Program[:n], k.Start) {
		return l.Program[n : len(l.Program)-1]
	}
	return nil
}

// checkOptions returns an error for options that give the container additional rights. It allows
// folders of this machine, because the user saw them when they agreed to the lock.
func checkOptions(l *Locked) error {
	options := l.Options()
	all, rest, err := runner.Container(options)
	if len(rest) > 0 {
		return fmt.Errorf("the lock has %q among the options of docker run, which docker would treat as the image", rest[0])
	}
	if err != nil && !errors.Is(err, runner.ErrNoImage) {
		return fmt.Errorf("the lock has options of docker run of which %w", err)
	}
	for _, o := range all {
		if o.Effect == runner.Rights || o.Effect == runner.Made {
			return fmt.Errorf("the lock passes %s to docker run, which junction never writes", o.Typed)
		}
	}
	return nil
}

func explainOCI(err error) error {
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound || errors.Is(err, errdef.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if errors.Is(err, auth.ErrBasicCredentialNotFound) || answer != nil && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden) {
		return fmt.Errorf("the registry reports that it does not exist, or that you have no access; if you do, log in with docker login: %w", err)
	}
	return err
}

// engine returns the path of docker, or of podman if only that is installed.
func engine() (string, error) {
	if !present("docker") && present("podman") {
		return lookUp("podman")
	}
	return lookUp("docker")
}

func (k oci) install(ctx context.Context, l *Locked, dir string) error {
	path, err := engine()
	if err != nil {
		return err
	}
	image, err := lockedImage(l)
	if err != nil {
		return err
	}
	// The engine verifies the digest.
	if _, err = run(ctx, command{name: path, args: []string{"pull", "--quiet", image}, dir: dir, time: installTime}); failedWith(err, "manifest unknown", "not found") {
		return fmt.Errorf("%w since it was locked: %w", ErrPulled, err)
	}
	return err
}

// lockedImage returns the name of the image with its digest. It returns an error if the engine
// could take it for a flag.
func lockedImage(l *Locked) (string, error) {
	if !imageName().MatchString(l.Name) || !imageDigest().MatchString(l.Integrity) {
		return "", fmt.Errorf("the lock has the image %.100q with the digest %.100q, which is not valid", l.Name, l.Integrity)
	}
	return l.Name + "@" + l.Integrity, nil
}

func (oci) program(l *Locked, dir string) (*Program, error) {
	image, err := lockedImage(l)
	if err != nil {
		return nil, err
	}
	if err := checkOptions(l); err != nil {
		return nil, err
	}
	path, err := engine()
	if err != nil {
		return nil, err
	}
	p := &Program{Dir: dir, Argv: slices.Concat([]string{path, "run", "-i", "--rm", "--pull=never"}, l.Options(), []string{image})}
	all, _, _ := runner.Container(l.Options()) // checkOptions parsed them without an error
	for _, o := range all {
		if o.Effect == runner.Variable && !strings.Contains(o.Value, "=") {
			p.Passed = append(p.Passed, o.Value)
		}
	}
	return p, nil
}

func (k oci) advice(ctx context.Context, l *Locked, _ string) (Advice, error) {
	r, err := k.repository(l.Name)
	if err != nil {
		return Advice{}, err
	}
	var a Advice
	if _, err := r.Resolve(ctx, l.Integrity); err != nil {
		if err = explainOCI(err); !errors.Is(err, ErrNotFound) {
			return a, err
		}
		a.Pulled = true
	}
	tags := 0
	errEnough := errors.New("enough")
	err = r.Tags(ctx, "", func(page []string) error {
		if tags += len(page); tags > maxTags {
			return errEnough
		}
		for _, tag := range page {
			if isNewerVersion(tag, a.Newest) {
				a.Newest = tag
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) || err != nil && errors.Is(explainOCI(err), ErrNotFound) {
		err = nil
	}
	if a.Newest == "" && err == nil && !a.Pulled {
		a.Newest = l.Version // no tag is a newer version
	}
	return a, err
}

func (oci) audit(_ context.Context, l *Locked, _ string) ([]Vulnerability, error) {
	return nil, fmt.Errorf("%w here: use an image scanner, for example trivy image %s@%s", ErrNoAudit, l.Name, l.Integrity)
}

var hexHash = lazy.Regexp(`^[0-9a-f]{64}$`)

const (
	signatureBegin = "MCPB_SIG_V1"
	signatureEnd   = "MCPB_SIG_END"
	maxSignature   = 1 << 20 // bytes of a signature at the end of an archive
)

// withBundle opens an archive that was just stored and calls look with it. If look fails, it
// removes the archive.
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

// keep stores the input in the folder blobs under its hash, and returns the hash. dir is for the
// temporary file.
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

// A bundle is an open archive, without its signature.
type bundle struct {
	*zip.Reader
	file *os.File
	size int64
}

func (b *bundle) Close() error { return b.file.Close() }

// openBundle opens the archive with a hash. All later reads use the hashed file, not its path,
// where another file could appear: an archive that Resolve stored may be days old. It ignores a
// signature after the archive, because anyone can make a certificate.
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

// openOrGet opens the archive with a hash. It downloads the archive if it is missing or was
// modified.
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

// unsignedSize returns the size of an archive without its signature, which consists of two marks
// around a length and a PKCS#7 block.
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
