package filesystem

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

func TestNamesThatLookTheSame(t *testing.T) {
	for _, tt := range []struct{ about, name, asked string }{
		{"narrow space", "Screenshot at 9.22\u202fPM.txt", "Screenshot at 9.22 PM.txt"},
		{"no-break space", "a\u00a0b.txt", "a b.txt"},
		{"decomposed accents", norm.NFD.String("Résumé.txt"), "Résumé.txt"},
		{"composed accents", "Résumé.txt", norm.NFD.String("Résumé.txt")},
		{"curly quote", "Ann\u2019s.txt", "Ann's.txt"},
		{"en dash", "2025\u20132026.txt", "2025-2026.txt"},
		{"invisible letter", "a\u200bb.txt", "ab.txt"},
		{"folder", "a\u00a0b/c\u202fd.txt", "a b/c d.txt"},
	} {
		f := serve(t, Options{Write: true})
		f.put(f.work, tt.name, "found")
		if a := f.call("read-file", args{"path": "work/" + tt.asked}); a.IsError || !strings.Contains(a.text(), "found") {
			t.Errorf("%s: read: %s", tt.about, a.text())
		}
		if a := f.call("write-file", args{"path": "work/" + tt.asked, "content": "x"}); !a.IsError || !strings.Contains(a.text(), "exists") {
			t.Errorf("%s: a second file that looks the same: %s", tt.about, a.text())
		}
		if a := f.call("move", args{"from": "work/" + tt.asked, "to": "work/" + tt.asked}); a.IsError {
			t.Errorf("%s: rename to the name as asked: %s", tt.about, a.text())
		}
		if got, err := os.ReadFile(filepath.Join(f.work, tt.asked)); err != nil || string(got) != "found" {
			t.Errorf("%s: after the rename: %q, %v", tt.about, got, err)
		}
	}
	f := serve(t, Options{})
	f.put(f.work, "a\u00a0b", "1")
	f.put(f.work, "a\u202fb", "2")
	if a := f.call("read-file", args{"path": "work/a b"}); !a.IsError || !strings.Contains(a.text(), `"a\u00a0b" "a\u202fb"`) {
		t.Errorf("two that look the same: %s", a.text())
	}
	f.put(f.work, "c d", "3")
	f.put(f.work, "c\u00a0d", "4")
	if a := f.call("read-file", args{"path": "work/c d"}); a.IsError || !strings.Contains(a.text(), "3") {
		t.Errorf("the exact name comes first: %s", a.text())
	}
	if a := f.call("read-file", args{"path": "work/none"}); !a.IsError || !strings.Contains(a.text(), "list-folder") {
		t.Errorf("no such name: %s", a.text())
	}
}
