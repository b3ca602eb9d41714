package install

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

var hexHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

const (
	signatureBegin = "MCPB_SIG_V1"
	signatureEnd   = "MCPB_SIG_END"
	maxSignature   = 1 << 20 // bytes of a signature that is looked for at the end of a bundle
)

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
