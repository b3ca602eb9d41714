package install

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/process"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	maxArchive      = 512 << 20 // bytes of an archive
	maxDirectory    = 8 << 20   // bytes of the list of files in an archive
	maxArchiveFiles = 50_000    // files and folders in an archive
	maxUnpacked     = 2 << 30   // bytes of all files of an archive
	maxRatio        = 200       // ratio of unpacked to packed size, checked from freeRatio bytes on
	freeRatio       = 16 << 20
	maxFilePath     = 1 << 10 // bytes of the path of a file in an archive
	maxFileDepth    = 48      // folders above a file
)

// errDirectory reports that an archive's list of files is too large.
var errDirectory = fmt.Errorf("its list of files takes more than %d bytes", maxDirectory)

// directoryReader limits the bytes that zip.NewReader may read, because it makes an entry in memory
// for every 46 bytes.
type directoryReader struct {
	io.ReaderAt
	left    int
	limited bool
}

func (r *directoryReader) ReadAt(b []byte, at int64) (int, error) {
	if r.limited {
		if r.left -= len(b); r.left < 0 {
			return 0, errDirectory
		}
	}
	return r.ReaderAt.ReadAt(b, at)
}

// openZip reads the list of files of an archive and checks that all files can be unpacked.
func openZip(archive io.ReaderAt, size int64) (*zip.Reader, error) {
	if size > maxArchive {
		return nil, fmt.Errorf("the archive has more than %d bytes", maxArchive)
	}
	limited := &directoryReader{archive, maxDirectory + 1<<17, true} // plus the last 64 KiB, which are searched for the end of the list
	z, err := zip.NewReader(limited, size)
	if limited.left < 0 {
		return nil, errDirectory
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // checkFiles reports insecure paths, with their names
		return nil, fmt.Errorf("the archive: %w", err)
	}
	limited.limited = false
	return z, checkFiles(z.File, size)
}

// checkFiles checks the files of an archive before any of them is written.
func checkFiles(files []*zip.File, size int64) error {
	if len(files) > maxArchiveFiles {
		return fmt.Errorf("the archive has %d files, but the limit is %d", len(files), maxArchiveFiles)
	}
	fold := cases.Fold()
	seen := make(map[string]string, len(files))
	var sum uint64
	for _, f := range files {
		if err := checkFile(f); err != nil {
			return fmt.Errorf("the archive's file %.200q %w", f.Name, err)
		}
		same := fold.String(norm.NFC.String(strings.TrimSuffix(f.Name, "/")))
		if before, ok := seen[same]; ok {
			return fmt.Errorf("the archive's files %.200q and %.200q are one file on some systems", before, f.Name)
		}
		seen[same] = f.Name
		if f.UncompressedSize64 > maxUnpacked {
			return errTooLarge
		}
		sum += f.UncompressedSize64
	}
	return checkSize(sum, size)
}

var errTooLarge = fmt.Errorf("the archive's files have more than %d bytes", maxUnpacked)

func checkSize(sum uint64, size int64) error {
	if sum > maxUnpacked {
		return errTooLarge
	}
	if sum > freeRatio && sum/maxRatio > uint64(size) {
		return fmt.Errorf("the archive of %d bytes unpacks to %d, more than %d times as many: it may be made to fill the disk", size, sum, maxRatio)
	}
	return nil
}

func checkFile(f *zip.File) error {
	name := strings.TrimSuffix(f.Name, "/")
	switch mode := f.Mode(); {
	case len(name) > maxFilePath || strings.Count(name, "/") > maxFileDepth:
		return fmt.Errorf("has a path of more than %d bytes or %d folders", maxFilePath, maxFileDepth)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.Contains(name, `\`):
		return errors.New("has a name that some systems do not allow")
	case strings.HasPrefix(name, "/") || !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || runtime.GOOS == "windows" && strings.Contains(name, ":"):
		return errors.New("lies outside of the archive's folder")
	case mode&^(os.ModePerm|os.ModeDir) != 0:
		return fmt.Errorf("is neither a file nor a folder (%s): links and devices are refused", mode.Type())
	case mode.IsDir() != strings.HasSuffix(f.Name, "/"):
		return errors.New("is a file by its name and a folder by its mode, or the other way round")
	case f.Flags&1 != 0:
		return errors.New("is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Errorf("is packed by method %d, which is neither deflate nor none", f.Method)
	}
	return nil
}

// unpack writes the files of an archive into an empty folder. openZip must have checked the
// archive.
func unpack(ctx context.Context, z *zip.Reader, size int64, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var sum uint64
	for _, f := range z.File {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		name := filepath.FromSlash(strings.TrimSuffix(f.Name, "/"))
		folder := name
		if !f.Mode().IsDir() {
			folder = filepath.Dir(name)
		}
		if err := root.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if f.Mode().IsDir() {
			continue
		}
		n, err := unpackFile(root, f, name)
		if err != nil {
			return fmt.Errorf("the archive's file %.200q: %w", f.Name, err)
		}
		sum += n
		if err := checkSize(sum, size); err != nil {
			return err
		}
	}
	return nil
}

func unpackFile(root *os.Root, f *zip.File, name string) (uint64, error) {
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out := &closedFile{root: root, name: name, flags: os.O_CREATE | os.O_EXCL, mode: 0o600 | f.Mode()&0o100}
	if _, err := out.Write(nil); err != nil {
		return 0, err
	}
	buffer := make([]byte, min(f.UncompressedSize64+1, writtenAtOnce))
	n, err := io.CopyBuffer(out, io.LimitReader(in, int64(f.UncompressedSize64)+1), buffer) // one byte more, so that a longer file fails its checksum
	if err == nil && uint64(n) != f.UncompressedSize64 {
		err = fmt.Errorf("does not have the listed size of %d bytes", f.UncompressedSize64)
	}
	return uint64(n), err
}

// writtenAtOnce is the number of bytes written at a time. No server can be started during a write.
const writtenAtOnce = 1 << 20

// A closedFile opens its file only for each write, during which no server can be started. A forked
// process would otherwise inherit the open file, and starting the new program would fail.
type closedFile struct {
	root  *os.Root
	name  string
	flags int
	mode  os.FileMode
}

func (f *closedFile) Write(b []byte) (n int, err error) {
	err = process.WithoutStarts(func() error {
		file, err := f.root.OpenFile(f.name, os.O_WRONLY|f.flags, f.mode)
		if err != nil {
			return err
		}
		f.flags = os.O_APPEND
		n, err = file.Write(b)
		return errors.Join(err, file.Close())
	})
	return n, err
}

// mcpb installs bundles: zip archives with a manifest.json, from a URL or a file.
type mcpb struct {
	web   *http.Client
	blobs string // folder for archives between Resolve and Install; file names are hashes
}

func (k mcpb) resolve(ctx context.Context, p Package, dir string) (*Locked, error) {
	p.SHA256 = strings.ToLower(p.SHA256)
	if p.SHA256 != "" && !hexHash().MatchString(p.SHA256) {
		return nil, fmt.Errorf("has the SHA-256 %.100q, which is not valid", p.SHA256)
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

// fetch downloads or copies an archive and stores it under its hash.
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

// manifest returns the manifest.json of a bundle. It checks that the file to start exists.
func (b *bundle) manifest() (*manifest, error) {
	f, err := b.Open("manifest.json")
	if err != nil {
		return nil, errors.New("the archive has no manifest.json, so it is not an mcpb bundle")
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
		return nil, fmt.Errorf("manifest.json has the entry_point %.100q, which the archive lacks", m.Server.EntryPoint)
	} else {
		_ = entry.Close()
	}
	return m, nil
}

func (k mcpb) install(ctx context.Context, l *Locked, dir string) error {
	want, ok := strings.CutPrefix(l.Integrity, "sha256:")
	if !ok || !hexHash().MatchString(want) {
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

// advice reports whether the same archive is still available. Bundles have no registry that could
// report more.
func (k mcpb) advice(ctx context.Context, l *Locked, dir string) (Advice, error) {
	hash, err := k.fetch(ctx, l.Name, dir)
	if errors.Is(err, ErrNotFound) {
		return Advice{Pulled: true}, nil
	}
	if err != nil {
		return Advice{}, err
	}
	if "sha256:"+hash != l.Integrity {
		err = fmt.Errorf("%w: the lock has %s, but the file now has sha256:%s", ErrIntegrity, l.Integrity, hash)
	}
	return Advice{Newest: l.Version}, errors.Join(err, os.Remove(k.blob(hash)))
}

func (mcpb) audit(context.Context, *Locked, string) ([]Vulnerability, error) {
	return nil, fmt.Errorf("%w: there is no list of vulnerabilities in bundles", ErrNoAudit)
}
