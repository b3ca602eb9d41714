// Package picture determines the type and size of pictures from their headers.
package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"net/http"
)

const (
	// MaxBytes is the maximum size of a picture that is sent to a model. Encoded in base64 it is 5
	// MiB, the lowest limit of all supported providers (Anthropic and Groq).
	MaxBytes = 15 << 18
	// MaxSide is the maximum width and height of such a picture in pixels. Anthropic, Gemini,
	// Mistral and xAI accept this size.
	MaxSide = 8_000
)

// Kinds lists the supported types of pictures, for messages.
const Kinds = "PNG, JPEG, GIF or WebP"

var kinds = map[string]string{"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}

// A Picture contains the data that Read finds in a picture's header.
type Picture struct {
	Type          string // MIME type
	Width, Height int
	Bytes         int
}

// String returns the size in pixels and bytes.
func (p Picture) String() string {
	size := fmt.Sprintf("%d bytes", p.Bytes)
	switch {
	case p.Bytes >= 999_500:
		size = fmt.Sprintf("%.1f MB", float64(p.Bytes)/1e6)
	case p.Bytes >= 1_000:
		size = fmt.Sprintf("%d KB", (p.Bytes+500)/1_000)
	}
	return fmt.Sprintf("%dx%d, %s", p.Width, p.Height, size)
}

// Is reports whether data begins like a picture of a supported type.
func Is(data []byte) bool { return kinds[http.DetectContentType(data)] != "" }

// Read reads a picture's header. If the picture cannot be sent to a model, the error contains the
// reason.
func Read(data []byte) (Picture, error) {
	mime := http.DetectContentType(data)
	if kinds[mime] == "" {
		return Picture{}, errors.New("is no picture: " + Kinds + " can be sent")
	}
	if len(data) > MaxBytes {
		return Picture{}, fmt.Errorf("is a picture of more than %.2f MiB, which no model is sent: make it smaller", float64(MaxBytes)/(1<<20))
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if mime == "image/webp" {
		size, err = webp(data)
	}
	if err != nil || size.Width <= 0 || size.Height <= 0 {
		return Picture{}, fmt.Errorf("begins as a %s picture, and is damaged", kinds[mime])
	}
	if size.Width > MaxSide || size.Height > MaxSide {
		return Picture{}, fmt.Errorf("is a picture of %dx%d pixels, but each side may have at most %d: make it smaller", size.Width, size.Height, MaxSide)
	}
	return Picture{mime, size.Width, size.Height, len(data)}, nil
}

// webp reads the size from the first chunk of a WebP file. There are three types of chunks: lossy,
// lossless, and extended (RFC 9649).
func webp(data []byte) (c image.Config, err error) {
	if len(data) < 30 {
		return c, image.ErrFormat
	}
	body := data[20:]
	switch chunk := string(data[12:16]); {
	case chunk == "VP8 " && string(body[3:6]) == "\x9d\x01\x2a":
		c.Width = int(binary.LittleEndian.Uint16(body[6:]) & 0x3fff)
		c.Height = int(binary.LittleEndian.Uint16(body[8:]) & 0x3fff)
	case chunk == "VP8L" && body[0] == 0x2f:
		bits := binary.LittleEndian.Uint32(body[1:])
		c.Width, c.Height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	case chunk == "VP8X":
		c.Width = 1 + int(body[4]) + int(body[5])<<8 + int(body[6])<<16
		c.Height = 1 + int(body[7]) + int(body[8])<<8 + int(body[9])<<16
	default:
		return c, image.ErrFormat
	}
	return c, nil
}
