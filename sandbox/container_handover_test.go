//go:build linux || darwin

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestVariablesAreHandedOverOnce reads like a container's engine: at once, late, a large text, or
// never.
func TestVariablesAreHandedOverOnce(t *testing.T) {
	for _, test := range []struct {
		name  string
		text  string
		pause time.Duration
		reads bool
	}{
		{"at once", "API_KEY=a\n", 0, true},
		{"late", "API_KEY=a\n", 100 * time.Millisecond, true},
		{"more than a pipe holds", "API_KEY=" + strings.Repeat("a", 1<<20) + "\n", 0, true},
		{"never", "API_KEY=a\n", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, ended, err := handOver(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeNamedPipe|0o600 {
				t.Errorf("%v, %v", info, err)
			}
			time.Sleep(test.pause)
			if test.reads {
				got, err := os.ReadFile(path)
				if err != nil || string(got) != test.text {
					t.Errorf("got %d bytes, want %d, %v", len(got), len(test.text), err)
				}
				for end := time.Now().Add(2 * time.Minute); exists(filepath.Dir(path)) && time.Now().Before(end); time.Sleep(time.Millisecond) {
				}
			} else {
				ended()
			}
			if exists(filepath.Dir(path)) {
				t.Errorf("%s is still there", path)
			}
			ended()
		})
	}
}

// TestAPipeThatIsReadInPartEnds has a reader that stops, like an engine that is killed.
func TestAPipeThatIsReadInPartEnds(t *testing.T) {
	path, ended, err := handOver(strings.Repeat("A=b\n", 1<<18))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	ended()
	f.Close()
	if exists(filepath.Dir(path)) {
		t.Errorf("%s is still there", path)
	}
}
