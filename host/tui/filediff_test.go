package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
)

// aFile is where a file of ten lines and no other is.
func aFile(t *testing.T) (path string, onDisk func(string) (string, bool)) {
	path = filepath.Join(t.TempDir(), "a.txt")
	return path, func(asked string) (string, bool) {
		return "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n", asked == path
	}
}

func TestTheCardComparesAWholeFileWithTheDisk(t *testing.T) {
	path, onDisk := aFile(t)
	session := &scripted{}
	play(t, session, 120+len(path), 60, func(st *stage) {
		session.ask = func(ctx context.Context, _ host.Question) error {
			_, err := st.ui.Consent(ctx, host.ApprovalCard{CallID: "1", Server: "files", Tool: "write_file", Arguments: object(
				`{"path":` + quoted(path) + `,"content":"one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\nseven\neight\nnine\nten\n"}`)})
			return err
		}
		st.keys("x<enter>")
		st.wait(time.Second)
		st.holds(path + ` is on this disk (10 lines, 49 bytes). If the call replaces all of it, this changes:
│ … 3 lines stay
│   four
│   five
│   six
│ + SEVEN
│   seven
│   eight
│   nine
│ … 1 line stays
arguments:
  path: "` + path + `"
  content: 11 lines, 55 bytes
  │ one
  │ two
  │ three
  │ four
  │ five
  │ six
  │ SEVEN
  │ seven
  │ eight
  │ nine
  │ ten`)
		st.keys("n")
	}, func(o *Options) { o.OnDisk = onDisk })
}

func quoted(text string) string { return `"` + strings.ReplaceAll(text, `\`, `\\`) + `"` }

// What is not known to be a whole file that a call writes is compared with none. The arguments are
// always shown in full.
func TestComparisonWithTheDisk(t *testing.T) {
	path, onDisk := aFile(t)
	at := `"path":` + quoted(path)
	for _, test := range []struct {
		name, tool, arguments, want string
	}{
		{"a whole file", "write_file", `{` + at + `,"content":"x\n"}`, "│ - ten\n│ + x\n"},
		{"that may be overwritten", "write-file", `{` + at + `,"content":"x\n","overwrite":true}`, "│ + x\n"},
		{"that may not", "write-file", `{` + at + `,"content":"x\n","overwrite":false}`, ""},
		{"by other names", "CreateFile", `{"file_text":"x\n","file_path":` + quoted(path) + `}`, "│ + x\n"},
		{"no break after the last line", "save", `{` + at + `,"content":"x"}`, "Line endings change. If"},
		{"what it holds already", "write_file", `{` + at + `,"content":"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"}`, "It already holds this text."},
		{"what is added at the end", "append_file", `{` + at + `,"content":"x"}`, ""},
		{"a tool that reads", "search_file", `{` + at + `,"text":"x"}`, ""},
		{"more arguments, which may say how", "write_file", `{` + at + `,"content":"x","mode":"append"}`, ""},
		{"one of them twice", "write_file", `{` + at + `,"content":"x","content":"y"}`, ""},
		{"two paths", "write_file", `{` + at + `,"file":` + quoted(path) + `}`, ""},
		{"no text", "write_file", `{` + at + `,"content":{"x":1}}`, ""},
		{"a path that begins elsewhere", "write_file", `{"path":"a.txt","content":"x"}`, ""},
		{"another file", "write_file", `{"path":` + quoted(path+"2") + `,"content":"x"}`, ""},
		{"an invisible character", "write_file", `{` + at + `,"content":"x\u202e\n"}`, ""},
		{"a file of thousands of other lines", "write_file", `{` + at + `,"content":"` + strings.Repeat(`b\n`, maxDiffCells/10+1) + `"}`, ""},
		{"no JSON", "write_file", `{` + at, ""},
	} {
		card := host.ApprovalCard{Server: "files", Tool: test.tool, Arguments: object(test.arguments)}
		shown, without := cardText(card, 400, onDisk), cardText(card, 400, nil)
		if compares := shown != without; compares != (test.want != "") || !strings.Contains(shown, test.want) || strings.Contains(shown, "\x1b") {
			t.Errorf("%s: %.2000s", test.name, shown)
		}
		if _, arguments, _ := strings.Cut(without, "arguments:"); !strings.HasSuffix(shown, arguments) {
			t.Errorf("%s: the arguments are not shown as they are", test.name)
		}
	}
	if shown := cardText(host.ApprovalCard{Tool: "write", Resource: path, Arguments: object(`{` + at + `,"content":"x"}`)}, 80, func(string) (string, bool) { t.Error("a file is read"); return "", true }); shown == "" {
		t.Error("nothing is shown of a resource")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there, so the test shows nothing")
	}
}
