package picture

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

// drawn returns a picture of a size, encoded by the standard library.
func drawn(t *testing.T, kind string, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	img := image.NewGray(image.Rect(0, 0, width, height))
	switch kind {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, nil)
	case "gif":
		err = gif.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func webpOf(chunk string, body ...byte) []byte {
	return append([]byte("RIFF\x00\x00\x00\x00WEBP"+chunk+"\x00\x00\x00\x00"), body...)
}

func TestPicturesAreRecognizedByTheirContent(t *testing.T) {
	t.Parallel()
	// 1x1, lossless, by cwebp
	cwebp, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"png":              {drawn(t, "png", 640, 480), "image/png 640x480"},
		"jpeg":             {drawn(t, "jpeg", 33, 17), "image/jpeg 33x17"},
		"gif":              {drawn(t, "gif", 3, 5), "image/gif 3x5"},
		"webp, lossy":      {webpOf("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 0x80, 0x42, 0xe0, 0x41), "image/webp 640x480"},
		"webp, lossless":   {cwebp, "image/webp 1x1"},
		"webp, extended":   {webpOf("VP8X", 0, 0, 0, 0, 0x7f, 2, 0, 0xdf, 1, 0), "image/webp 640x480"},
		"text":             {[]byte("GIF or PNG?"), "is no picture"},
		"nothing":          {nil, "is no picture"},
		"webp of no kind":  {webpOf("VPX ", make([]byte, 10)...), "begins as a WebP picture, and is damaged"},
		"webp cut off":     {webpOf("VP8X", 0, 0), "damaged"},
		"webp, bad lossy":  {webpOf("VP8 ", make([]byte, 10)...), "damaged"},
		"png cut off":      {drawn(t, "png", 9, 9)[:20], "begins as a PNG picture, and is damaged"},
		"jpeg cut off":     {drawn(t, "jpeg", 9, 9)[:20], "begins as a JPEG picture, and is damaged"},
		"too many bytes":   {append(drawn(t, "png", 9, 9), make([]byte, MaxBytes)...), "more than 3.75 MiB"},
		"too wide":         {drawn(t, "png", MaxSide+1, 1), "8001x1 pixels, but each side may have at most 8000"},
		"as wide as it is": {drawn(t, "gif", MaxSide, 1), "image/gif 8000x1"},
	} {
		p, err := Read(test.data)
		got := p.Type + " " + strings.Split(p.String(), ",")[0]
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
		if Is(test.data) == strings.Contains(got, "is no picture") {
			t.Errorf("%s: recognized: %v, and %s", name, Is(test.data), got)
		}
	}
}

func TestASizeIsShort(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]string{68: "3x4, 68 bytes", 12_300: "3x4, 12 KB", 999_499: "3x4, 999 KB", 3_400_000: "3x4, 3.4 MB"} {
		if got := (Picture{Width: 3, Height: 4, Bytes: bytes}).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Any input is a picture or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Add(webpOf("VP8X", 0, 0, 0, 0, 1, 0, 0, 1, 0, 0))
	f.Add([]byte("\xff\xd8\xff\xe0"))
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := Read(data); err == nil && (p.Width < 1 || p.Width > MaxSide || p.Height < 1 || p.Height > MaxSide || p.Type == "") {
			t.Errorf("%+v", p)
		}
	})
}
