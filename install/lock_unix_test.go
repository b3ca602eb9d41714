//go:build unix

package install

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestLocksMustBeFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, link, device := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "device")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{link: pipe, device: "/dev/zero"} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{pipe, link, device, dir} {
		ended := make(chan error, 1)
		go func() {
			_, err := ReadLock(path)
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil || !strings.HasSuffix(err.Error(), "is not a file") {
				t.Errorf("%s: error %v", path, err)
			}
		case <-time.After(2 * time.Minute):
			t.Errorf("%s is waited for", path)
		}
	}
}
