package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"time"
)

// An entry is a file in an archive.
type entry struct {
	name       string
	data       []byte
	executable bool
}

func (e entry) mode() int64 {
	if e.executable {
		return 0o755
	}
	return 0o644
}

// archives writes an archive of the binary for each platform: a zip file for Windows, and otherwise
// a tar archive.
func (r *release) archives(ctx context.Context) error {
	for _, p := range r.platforms {
		entries := []entry{
			{p.program(), r.binaries[p.String()], true},
			{"LICENSE", r.texts["LICENSE"], false},
			{"README.md", r.texts["README.md"], false},
		}
		var data []byte
		var err error
		if p.os == "windows" {
			data, err = zipped(entries, r.when)
		} else {
			data, err = tarXZ(ctx, entries, r.when)
		}
		if err != nil {
			return err
		}
		if err := r.write(r.archiveName(p), data); err != nil {
			return err
		}
	}
	return nil
}

// archiveName returns the file name of a platform's archive.
func (r *release) archiveName(p platform) string {
	ending := ".tar.xz"
	if p.os == "windows" {
		ending = ".zip"
	}
	return "junction_" + r.version + "_" + p.String() + ending
}

// tarXZ returns a tar archive, compressed by the program xz, which finds a fifth more than the
// libraries for Go.
func tarXZ(ctx context.Context, entries []entry, when time.Time) ([]byte, error) {
	var plain bytes.Buffer
	if err := tarInto(&plain, entries, when); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "xz", "-9", "--threads=1", "--stdout")
	cmd.Stdin = &plain
	packed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("xz, of the package xz-utils: %w", err)
	}
	return packed, nil
}

// tarGzip returns a tar archive, compressed with gzip.
func tarGzip(entries []entry, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := tarInto(w, entries, when); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// tarInto writes a tar archive to w.
func tarInto(w io.Writer, entries []entry, when time.Time) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode(), Size: int64(len(e.data)), ModTime: when, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.data); err != nil {
			return err
		}
	}
	return t.Close()
}

// zipped returns a zip file.
func zipped(entries []entry, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestCompression) })
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: when}
		h.SetMode(fs.FileMode(e.mode()))
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(e.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
