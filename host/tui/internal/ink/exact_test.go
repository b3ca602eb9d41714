package ink

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestNothingIsMissingInAFrame(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                    "plain",
		"日本 e\u0301 🇩🇪 👍🏽":         "日本 e\u0301 🇩🇪 👍🏽",
		"hi 👨\u200d👩\u200d👧 b":     `hi 👨\u200d👩\u200d👧 b`,
		"q 👩🏽\u200d💻 r":            `q 👩🏽\u200d💻 r`,
		"\u1100\u1100\u1100\uac00": `\u1100\u1100\u1100\uac00`,
	} {
		lines := Exact([]Line{Of(text)}, 80)
		if len(lines) != 1 || lines[0].String() != want {
			t.Errorf("%+q became %q, want %q", text, lines, want)
		}
	}
	family := strings.Repeat("👨\u200d👩\u200d👧", 12) // 24 cells where a terminal joins them
	var seen strings.Builder
	for _, line := range Exact([]Line{Of(family)}, 40) {
		text := line.String()
		if ansi.StringWidthWc(text) > 40 {
			t.Errorf("%q is wider than the frame", text)
		}
		for rest := text; rest != ""; {
			_, width, n, _ := ansi.DecodeSequenceWc(rest, 0, nil)
			if width < 1 || width > widestDrawn {
				t.Errorf("%q would not be drawn", rest[:n])
			}
			rest = rest[n:]
		}
		seen.WriteString(text)
	}
	if strings.ReplaceAll(seen.String(), `\u200d`, "\u200d") != family {
		t.Errorf("seen is %q", seen.String())
	}
}
