package install

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A member is a file of an archive in a test.
type member struct {
	name string
	text string
	mode fs.FileMode
}

func archiveOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if m.mode != 0 {
			h.SetMode(m.mode)
		}
		if m.text == "" { // each compressor clears 600 kB, too slow for 100,000 files
			h.Method = zip.Store
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(m.text))
		}
		if err != nil && m.text != "" {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpackInto opens and unpacks an archive like an installation.
func unpackInto(archive []byte, dir string) error {
	z, err := openZip(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return err
	}
	return unpack(context.Background(), z, int64(len(archive)), dir)
}

func TestAHarmfulArchiveIsRefusedBeforeWriting(t *testing.T) {
	plain := archiveOf(t, member{name: "a.txt", text: "a"})
	patched := func(offset int, value uint16) []byte { // in the list of files
		b := bytes.Clone(plain)
		at := bytes.Index(b, []byte("PK\x01\x02"))
		binary.LittleEndian.PutUint16(b[at+offset:], value)
		return b
	}
	many := make([]member, 100_000)
	for i := range many {
		many[i] = member{name: fmt.Sprint(i)}
	}
	long := make([]member, 20_000)
	for i := range long {
		long[i] = member{name: fmt.Sprintf("%06d%s", i, strings.Repeat("x", 500))}
	}
	for name, test := range map[string]struct {
		archive []byte
		want    string
	}{
		"a file above the folder":                {archiveOf(t, member{name: "../evil", text: "x"}), `"../evil" lies outside of the archive's folder`},
		"a file above it, in the middle":         {archiveOf(t, member{name: "a/../../evil", text: "x"}), "lies outside of the archive's folder"},
		"a way that is not straight":             {archiveOf(t, member{name: "a/./b", text: "x"}), "lies outside of the archive's folder"},
		"an absolute path":                       {archiveOf(t, member{name: "/etc/passwd", text: "x"}), "lies outside of the archive's folder"},
		"a path of Windows":                      {archiveOf(t, member{name: `..\evil`, text: "x"}), "has a name that some systems do not allow"},
		"a drive of Windows with a backslash":    {archiveOf(t, member{name: `C:\evil`, text: "x"}), "has a name that some systems do not allow"},
		"a name with a NUL":                      {archiveOf(t, member{name: "a\x00b", text: "x"}), "has a name that some systems do not allow"},
		"a name that is not UTF-8":               {archiveOf(t, member{name: "a\xffb", text: "x"}), "has a name that some systems do not allow"},
		"no name":                                {archiveOf(t, member{name: "/"}), "lies outside of the archive's folder"},
		"a symbolic link":                        {archiveOf(t, member{name: "link", text: "/etc/passwd", mode: fs.ModeSymlink | 0o777}), "links and devices are refused"},
		"a device":                               {archiveOf(t, member{name: "null", mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}), "links and devices are refused"},
		"a named pipe":                           {archiveOf(t, member{name: "pipe", mode: fs.ModeNamedPipe | 0o666}), "links and devices are refused"},
		"a program with the rights of its owner": {archiveOf(t, member{name: "su", text: "x", mode: fs.ModeSetuid | 0o755}), "links and devices are refused"},
		"a folder by its mode only":              {archiveOf(t, member{name: "d", mode: fs.ModeDir | 0o755}), "a file by its name and a folder by its mode"},
		"two files of one name":                  {archiveOf(t, member{name: "a", text: "1"}, member{name: "a", text: "2"}), `"a" and "a" are one file on some systems`},
		"names that differ in case":              {archiveOf(t, member{name: "manifest.json", text: "1"}, member{name: "MANIFEST.json", text: "2"}), "are one file on some systems"},
		"names that differ in their composition": {archiveOf(t, member{name: "é", text: "1"}, member{name: "e\u0301", text: "2"}), "are one file on some systems"},
		"a file that is a folder too":            {archiveOf(t, member{name: "a", text: "1"}, member{name: "a/", text: ""}), "are one file on some systems"},
		"an encrypted file":                      {patched(8, 1), "is encrypted"},
		"a method that is unknown":               {patched(10, 12), "is packed by method 12"},
		"100,000 files":                          {archiveOf(t, many...), "the archive has 100000 files, but the limit is 50000"},
		"a list of files of 10 MB":               {archiveOf(t, long...), "its list of files takes more than 8388608 bytes"},
		"a bomb":                                 {archiveOf(t, member{name: "zeros", text: string(make([]byte, 64<<20))}), "it may be made to fill the disk"},
		"a deep path":                            {archiveOf(t, member{name: strings.Repeat("d/", 49) + "f", text: "x"}), "has a path of more than"},
		"a long path":                            {archiveOf(t, member{name: strings.Repeat("n", 2000), text: "x"}), "has a path of more than"},
		"no archive":                             {[]byte("not a zip file at all, however long it is made"), "the archive: zip: not a valid zip file"},
		"nothing":                                {nil, "the archive: zip: not a valid zip file"},
	} {
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			dir := filepath.Join(above, "in")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			err := unpackInto(test.archive, dir)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			for _, d := range []string{above, dir} {
				entries, err := os.ReadDir(d)
				if want := map[string]int{above: 1, dir: 0}[d]; err != nil || len(entries) != want {
					t.Errorf("%s holds %v, %v", d, entries, err)
				}
			}
		})
	}
}

func TestAFileThatIsLongerThanItSaysIsCutOff(t *testing.T) {
	archive := archiveOf(t, member{name: "a", text: strings.Repeat("abcdefgh", 1000)})
	at := bytes.Index(archive, []byte("PK\x01\x02"))
	for _, size := range []uint32{10, 9000} {
		b := bytes.Clone(archive)
		binary.LittleEndian.PutUint32(b[at+24:], size)
		dir := t.TempDir()
		if err := unpackInto(b, dir); err == nil {
			t.Errorf("a file of 8000 bytes that says it has %d is unpacked", size)
		}
		if info, err := os.Stat(filepath.Join(dir, "a")); err == nil && info.Size() > 8001 {
			t.Errorf("it wrote %d bytes", info.Size())
		}
	}
}

func TestAFileInTheWayIsNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "d")); err != nil {
		t.Skip(err)
	}
	if err := unpackInto(archiveOf(t, member{name: "d/f", text: "x"}), dir); err == nil {
		t.Error("it wrote through a link")
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("outside is %v", entries)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("there"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unpackInto(archiveOf(t, member{name: "f", text: "x"}), dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want that the file exists", err)
	}
}

func TestArchivesAreUnpacked(t *testing.T) {
	dir := t.TempDir()
	archive := archiveOf(t, member{name: "d/", mode: fs.ModeDir | 0o777}, member{name: "d/e/program", text: "#!", mode: 0o755}, member{name: "text", text: "ü", mode: 0o666}, member{name: "empty/", mode: fs.ModeDir | 0o700})
	if err := unpackInto(archive, dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"d/e/program": 0o700, "text": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", name, info, err, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "text")); err != nil || string(text) != "ü" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "empty")); err != nil || !info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
}

func TestUnpackingEndsWithItsContext(t *testing.T) {
	archive := archiveOf(t, member{name: "a", text: "x"})
	z, err := openZip(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := unpack(ctx, z, int64(len(archive)), t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// FuzzBundle reads any input as a bundle and unpacks it if possible. Nothing may be written outside
// the folder.
func FuzzBundle(f *testing.F) {
	f.Add(archiveOf(f, member{name: "manifest.json", text: goodManifest}, member{name: "server/index.js", text: "//"}))
	f.Add(append(archiveOf(f, member{name: "../a", text: "x"}), signatureBegin+"\x01\x00\x00\x00x"+signatureEnd...))
	f.Add([]byte(goodManifest))
	f.Fuzz(func(t *testing.T, data []byte) {
		above := t.TempDir()
		dir := filepath.Join(above, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = unpackInto(data, dir)
		if entries, err := os.ReadDir(above); err != nil || len(entries) != 1 {
			t.Fatalf("%v, %v", entries, err)
		}
		if m, err := readManifest(data); err == nil {
			p, err := m.program(dir)
			if err == nil {
				_ = p.Fill(nil)
			}
		}
	})
}

func TestUnpackedFilesAreTheHashedOnes(t *testing.T) {
	blobs, bundle := t.TempDir(), goodBundle(t)
	other := archiveOf(t, member{name: "manifest.json", text: goodManifest}, member{name: "server/index.js", text: "// another"})
	hash, err := keep(bytes.NewReader(bundle), t.TempDir(), blobs)
	if err != nil {
		t.Fatal(err)
	}
	b, err := openBundle(blobs, hash)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	swapped := filepath.Join(t.TempDir(), "other")
	if err := errors.Join(os.WriteFile(swapped, other, 0o600), os.Rename(swapped, filepath.Join(blobs, hash))); err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadFile(b, "server/index.js"); err != nil || string(text) != "// the server" {
		t.Errorf("read is %q, %v", text, err)
	}
	if _, err := openBundle(blobs, hash); !errors.Is(err, ErrIntegrity) {
		t.Errorf("opened again: %v", err)
	}
}
