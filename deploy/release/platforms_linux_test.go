package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/macho"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// small returns a release after the step that compiles, whose programs are small scripts.
func small(t *testing.T, epoch string, of ...platform) *release {
	t.Helper()
	r := &release{out: t.TempDir(), work: t.TempDir(), platforms: of, binaries: map[string][]byte{}, texts: map[string][]byte{}}
	must(t, r.readSources(t.Context(), epoch))
	for _, p := range of {
		program := []byte("#!/bin/sh\necho junction " + p.String() + "\n")
		r.binaries[p.String()] = program
		must(t, os.Mkdir(filepath.Join(r.work, p.String()), 0o755))
		must(t, os.WriteFile(filepath.Join(r.work, p.String(), p.program()), program, 0o755))
	}
	return r
}

// TestPackagesOfAllPlatformsAreTheSameTwice makes all files of a release but the bills of materials
// from small programs, twice.
func TestPackagesOfAllPlatformsAreTheSameTwice(t *testing.T) {
	t.Parallel()
	var folders []string
	for range 2 {
		r := small(t, "1700000000", platforms()...)
		for _, step := range []func(context.Context) error{r.archives, r.linuxPackages, r.npmPackages, r.wheels, r.bundles, r.image, r.manifests, r.sums} {
			must(t, step(t.Context()))
		}
		folders = append(folders, r.out)
	}
	first, second := read(t, folders[0], "SHA256SUMS"), read(t, folders[1], "SHA256SUMS")
	if first != second || strings.Count(first, "\n") < 30 {
		t.Errorf("two releases of the same programs:\n%s\n%s", first, second)
	}
	for _, p := range platforms() {
		checkArchive(t, folders[0], p)
	}
	checkScoop(t, folders[0])
	checkFormula(t, folders[0], false)
	checkImages(t, folders[0], "amd64", "arm64")
}

// checkArchive checks the archive of a platform, and returns its program.
func checkArchive(t *testing.T, folder string, p platform) (program []byte) {
	t.Helper()
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
		t.Fatalf("the archive for %s has %q, not %q", p, got, want)
	}
	return all[0].data
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
