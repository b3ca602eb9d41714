package chat_test

import (
	"encoding/hex"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/internal/picture"
	"github.com/junction-mcp/junction/internal/process/processtest"
)

func TestEachDesktopHasItsCommandForTheClipboard(t *testing.T) {
	for _, test := range []struct {
		system, variable string
		want             string
	}{
		{"linux", "WAYLAND_DISPLAY", "wl-paste"}, {"freebsd", "DISPLAY", "xclip"}, {"linux", "", ""}, {"darwin", "", "osascript"}, {"windows", "DISPLAY", ""},
	} {
		words := chat.ClipboardCommand(test.system, func(name string) string {
			if name == test.variable {
				return "x"
			}
			return ""
		})
		if got := strings.Join(words[:min(1, len(words))], ""); got != test.want || got != "" && !slices.ContainsFunc(words, func(w string) bool { return w == "image/png" || strings.Contains(w, "PNGf") }) {
			t.Errorf("%s %s: %q", test.system, test.variable, words)
		}
	}
}

// The program that reads the clipboard is played by a script.
func TestAPictureIsReadFromTheClipboard(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the script plays wl-paste")
	}
	folder := t.TempDir()
	clitest.Setenv(t, "PATH", folder+string(filepath.ListSeparator)+clitest.PlaceOf(t).Getenv("PATH"))
	clitest.Setenv(t, "WAYLAND_DISPLAY", "wayland-0")
	cat := clitest.Painted(t, 3, 4)
	for what, test := range map[string]struct{ script, data, want, fault string }{
		"a picture":      {"cat " + folder + "/data", cat, cat, ""},
		"as macOS says":  {"cat " + folder + "/data", "«data PNGf" + strings.ToUpper(hex.EncodeToString([]byte(cat))) + "»\n", cat, ""},
		"no picture":     {"exit 1", "", "", "no picture in the clipboard"},
		"a text":         {"cat " + folder + "/data", "text", "", "no picture in the clipboard"},
		"nothing at all": {"exit 0", "", "", "no picture in the clipboard"},
		"too large":      {"cat " + folder + "/data", cat + strings.Repeat("x", 3*picture.MaxBytes), cat + strings.Repeat("x", 2*picture.MaxBytes+1<<10-len(cat)), ""},
	} {
		clitest.Write(t, map[string]string{folder + "/data": test.data})
		processtest.WriteProgram(t, folder+"/wl-paste", []byte("#!/bin/sh\n"+test.script+"\n"), 0o700)
		got, err := chat.ClipboardPicture(t.Context(), clitest.PlaceOf(t))
		if string(got) != test.want || (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
	clitest.Setenv(t, "PATH", t.TempDir())
	if _, err := chat.ClipboardPicture(t.Context(), clitest.PlaceOf(t)); err == nil || !strings.Contains(err.Error(), "wl-paste (Wayland), xclip (X11)") {
		t.Errorf("without the program: %v", err)
	}
}
