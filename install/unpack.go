package install

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/junction-mcp/junction/internal/process"
)

const (
	maxArchive      = 512 << 20 // bytes of an archive
	maxDirectory    = 8 << 20   // bytes of the list of files in an archive
	maxArchiveFiles = 50_000    // files and folders in an archive
	maxUnpacked     = 2 << 30   // bytes of all files of an archive
	maxRatio        = 200       // times that the files of an archive may be larger than it, from freeRatio bytes on
	freeRatio       = 16 << 20
	maxFilePath     = 1 << 10 // bytes of the path of a file in an archive
	maxFileDepth    = 48      // folders around a file in an archive
)

// errDirectory says that the list of files alone is too large.
var errDirectory = fmt.Errorf("its list of files takes more than %d bytes", maxDirectory)

// directoryReader lets zip.NewReader read so much and no more: it makes an entry in memory of every 46 bytes.
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

// openZip reads the list of files of an archive, and checks that all of them can be unpacked.
func openZip(archive io.ReaderAt, size int64) (*zip.Reader, error) {
	if size > maxArchive {
		return nil, fmt.Errorf("the archive has more than %d bytes", maxArchive)
	}
	limited := &directoryReader{archive, maxDirectory + 1<<17, true} // its end is searched for in the last 64 KiB
	z, err := zip.NewReader(limited, size)
	if limited.left < 0 {
		return nil, errDirectory
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // which checkFiles finds and names
		return nil, fmt.Errorf("the archive: %w", err)
	}
	limited.limited = false
	return z, checkFiles(z.File, size)
}

// checkFiles refuses an archive before anything of it is written.
func checkFiles(files []*zip.File, size int64) error {
	if len(files) > maxArchiveFiles {
		return fmt.Errorf("the archive has %d files, and %d are the limit", len(files), maxArchiveFiles)
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
		return fmt.Errorf("the archive of %d bytes holds %d, more than %d times as many: it is made to fill the disk", size, sum, maxRatio)
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

// unpack writes the files of an archive that openZip checked into a folder, which is empty.
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
	n, err := io.CopyBuffer(out, io.LimitReader(in, int64(f.UncompressedSize64)+1), buffer) // one more: what is longer than it says fails its checksum
	if err == nil && uint64(n) != f.UncompressedSize64 {
		err = fmt.Errorf("is said to have %d bytes, and has others", f.UncompressedSize64)
	}
	return uint64(n), err
}

// writtenAtOnce is how many bytes of a file are written while no server can start.
const writtenAtOnce = 1 << 20

// A closedFile is open only while it is written to, and no server starts meanwhile: a program in it can be started at once.
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
