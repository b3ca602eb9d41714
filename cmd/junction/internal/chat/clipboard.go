package chat

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"runtime"
	"time"

	"github.com/junction-mcp/junction/internal/picture"
	"github.com/junction-mcp/junction/internal/place"
)

// clipboardTime is the time limit for the program that reads the clipboard. That program waits for
// another one, which owns the picture.
const clipboardTime = 5 * time.Second

var (
	errNoClipboard = errors.New("the clipboard cannot be read here: that needs wl-paste (Wayland), xclip (X11) or macOS; drop the picture's file on the terminal, or name it as @PATH")
	errNoPicture   = errors.New("there is no picture in the clipboard; to paste text, use the terminal's own key")
)

// ClipboardPicture returns the picture in the clipboard. It runs a program of the desktop, because
// a terminal can paste only text.
func ClipboardPicture(ctx context.Context, p place.Place) ([]byte, error) {
	words := ClipboardCommand(runtime.GOOS, p.Getenv)
	if words == nil {
		return nil, errNoClipboard
	}
	program, err := p.LookPath(words[0])
	if err != nil {
		return nil, errNoClipboard
	}
	ctx, cancel := context.WithTimeout(ctx, clipboardTime)
	defer cancel()
	out := cutWriter{room: 2*picture.MaxBytes + 1<<10} // macOS writes two hexadecimal digits for each byte
	command := p.Command(ctx, program, words[1:]...)
	command.Stdout = &out
	command.WaitDelay = time.Second
	if err := command.Run(); err != nil || out.kept.Len() == 0 {
		if ctx.Err() != nil {
			return nil, errors.New("the clipboard did not deliver the picture in time")
		}
		return nil, errNoPicture
	}
	data := out.kept.Bytes()
	if digits, isAppleScript := bytes.CutPrefix(bytes.TrimSpace(data), []byte("«data PNGf")); isAppleScript {
		data = make([]byte, hex.DecodedLen(len(digits)))
		n, _ := hex.Decode(data, digits) // decodes up to the closing quote
		data = data[:n]
	}
	if !picture.Is(data) {
		return nil, errNoPicture
	}
	return data, nil
}

// ClipboardCommand returns the command that writes the picture in the clipboard to standard output,
// or nil if there is none. Desktops provide every picture as PNG.
func ClipboardCommand(system string, getenv func(string) string) []string {
	switch {
	case system == "darwin":
		return []string{"osascript", "-e", "get the clipboard as «class PNGf»"}
	case system == "windows":
		return nil
	case getenv("WAYLAND_DISPLAY") != "":
		return []string{"wl-paste", "--no-newline", "--type", "image/png"}
	case getenv("DISPLAY") != "":
		return []string{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"}
	}
	return nil
}

// A cutWriter stores the first room bytes and drops all others. If a picture is too large, the
// stored bytes are enough to detect that.
type cutWriter struct {
	kept bytes.Buffer
	room int
}

// Write implements [io.Writer].
func (w *cutWriter) Write(p []byte) (int, error) {
	w.kept.Write(p[:min(len(p), w.room-w.kept.Len())])
	return len(p), nil
}
