package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/macho"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"testing"
)

// checkPlatforms checks the files of a release with all platforms, as far as Linux can.
func checkPlatforms(t *testing.T, folder string) {
	t.Run("archives", func(t *testing.T) { checkArchives(t, folder) })
	t.Run("image", func(t *testing.T) { checkImage(t, folder, "amd64", "arm64") })
	t.Run("formula", func(t *testing.T) { checkFormula(t, folder, true) })
	t.Run("windows", func(t *testing.T) { checkWindows(t, folder) })
}

// checkArchives checks what the archive of each platform contains, and that the kernel of macOS runs
// its program.
func checkArchives(t *testing.T, folder string) {
	for _, p := range platforms() {
		ending, list := ".tar.xz", tarEntries
		if p.os == "windows" {
			ending, list = ".zip", zipEntries
		}
		all := list(t, one(t, folder, "junction_*_"+p.String()+ending))
		var got []string
		for _, e := range all {
			got = append(got, e.name+" "+fs.FileMode(e.mode()).String())
		}
		if want := p.program() + " -rwxr-xr-x LICENSE -rw-r--r-- README.md -rw-r--r--"; strings.Join(got, " ") != want {
			t.Errorf("the archive for %s has %q, not %q", p, got, want)
		}
		if p.os == "darwin" {
			if err := checkSignature(all[0].data, p.arch == "arm64"); err != nil {
				t.Errorf("the program for %s: %v", p, err)
			}
		}
	}
}

// tarEntries returns the regular files of a tar archive that xz compressed.
func tarEntries(t *testing.T, file string) (all []entry) {
	t.Helper()
	plain, err := exec.CommandContext(t.Context(), "xz", "--decompress", "--stdout", file).Output()
	must(t, err)
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, err)
		if h.Typeflag != tar.TypeReg || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s: %+v", file, h)
		}
		all = append(all, entry{h.Name, data, h.Mode == 0o755})
	}
}

// zipEntries returns the files of a zip archive.
func zipEntries(t *testing.T, file string) (all []entry) {
	t.Helper()
	z, err := zip.OpenReader(file)
	must(t, err)
	defer z.Close()
	for _, f := range z.File {
		from, err := f.Open()
		must(t, err)
		data, err := io.ReadAll(from)
		must(t, err)
		all = append(all, entry{f.Name, data, f.Mode().Perm() == 0o755})
	}
	return all
}

// Parts of the signature of a program for macOS, in the order of bytes of a network.
const (
	loadSignature = 0x1d // command that names the place of the signature
	superBlob     = 0xfade0cc0
	codeDirectory = 0xfade0c02
	adHoc         = 2 // flag of a signature without a certificate
	hashSHA256    = 2
)

// checkSignature checks that a program for macOS has a signature, if it needs one, and that this
// signature fits each page of the program. macOS runs programs for arm64 only with a signature; the
// linker of Go makes one without a certificate.
func checkSignature(program []byte, needed bool) error {
	f, err := macho.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	for _, l := range f.Loads {
		raw := l.Raw()
		if f.ByteOrder.Uint32(raw) != loadSignature {
			continue
		}
		at, size := f.ByteOrder.Uint32(raw[8:]), f.ByteOrder.Uint32(raw[12:])
		if uint64(at)+uint64(size) > uint64(len(program)) {
			return errors.New("the signature is outside of the program")
		}
		return checkPages(program[:at], program[at:at+size])
	}
	if needed {
		return errors.New("it has no signature")
	}
	return nil
}

// checkPages compares the pages of a program with its signature.
func checkPages(program, signature []byte) error {
	u32 := binary.BigEndian.Uint32
	if u32(signature) != superBlob || u32(signature[8:]) != 1 {
		return errors.New("its signature is not one blob")
	}
	d := signature[u32(signature[16:]):]
	if u32(d) != codeDirectory || u32(d[12:])&adHoc == 0 || d[36] != sha256.Size || d[37] != hashSHA256 {
		return errors.New("its signature is of an unknown kind")
	}
	hashes, count, limit, page := d[u32(d[16:]):], int(u32(d[28:])), int(u32(d[32:])), 1<<d[39]
	if limit != len(program) || count != (limit+page-1)/page {
		return errors.New("its signature covers another part of it")
	}
	for i := range count {
		sum := sha256.Sum256(program[i*page : min((i+1)*page, limit)])
		if !bytes.Equal(sum[:], hashes[i*sha256.Size:(i+1)*sha256.Size]) {
			return errors.New("its signature differs from its pages")
		}
	}
	return nil
}
