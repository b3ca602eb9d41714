package main

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

// inflated returns what compress/flate reads.
func inflated(t testing.TB, packed []byte) []byte {
	t.Helper()
	r := bytes.NewReader(packed)
	data, err := io.ReadAll(flate.NewReader(r))
	if err != nil || r.Len() > 0 {
		t.Fatalf("%v, and %d bytes are left", err, r.Len())
	}
	return data
}

func TestDeflate(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, chunkSize+5)
	_, _ = random.Read(noise)
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program = program[:min(len(program), 3*chunkSize+1)]
	for name, data := range map[string][]byte{
		"nothing":        nil,
		"a byte":         {7},
		"three bytes":    []byte("abc"),
		"zeros":          make([]byte, 2*chunkSize),
		"noise":          noise,
		"far copies":     bytes.Repeat(noise[:window], 3),
		"farther copies": bytes.Repeat(noise[:window+1], 3),
		"text":           bytes.Repeat([]byte("The same commit makes the same bytes. "), 10000),
		"a program":      program,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packed := deflate(data)
			if !bytes.Equal(inflated(t, packed), data) {
				t.Fatal("other data came back")
			}
			var plain bytes.Buffer
			w, _ := flate.NewWriter(&plain, flate.BestCompression)
			_, _ = w.Write(data)
			_ = w.Close()
			t.Logf("%d bytes: %d, and %d by compress/flate", len(data), len(packed), plain.Len())
			if len(packed) > plain.Len()+plain.Len()/200+100 {
				t.Errorf("%d bytes are more than the %d of compress/flate", len(packed), plain.Len())
			}
			if !bytes.Equal(deflate(data), packed) {
				t.Error("a second time makes other bytes")
			}
		})
	}
}

func TestGzipped(t *testing.T) {
	r, err := gzip.NewReader(bytes.NewReader(gzipped([]byte("text"))))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(r); err != nil || string(data) != "text" {
		t.Errorf("got %q, %v", data, err)
	}
}

func FuzzDeflate(f *testing.F) {
	f.Add([]byte("aaaaaaaaaaaabcabcabcabc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !bytes.Equal(inflated(t, deflate(data)), data) {
			t.Fatal("other data came back")
		}
	})
}
