package clitest

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Write creates files in the test's current folder.
func Write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = In(t, name)
		if err := os.MkdirAll(In(t, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(In(t, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Painted returns a PNG image of the given size.
func Painted(t testing.TB, width, height int) string {
	t.Helper()
	var b strings.Builder
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
