//go:build unix

package install

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A process that is forked while a file is open for writing holds it open until it executes
// (go.dev/issue/22315).
func TestAnUnpackedProgramCanStartDuringOtherStarts(t *testing.T) {
	archive := archiveOf(t, member{name: "program", text: "#!/bin/sh\nexit 0\n" + strings.Repeat("#", 3*writtenAtOnce), mode: 0o700})
	ctx, cancel := context.WithCancel(t.Context())
	var starting sync.WaitGroup
	defer starting.Wait()
	defer cancel()
	for range 8 {
		starting.Go(func() {
			for ctx.Err() == nil {
				if err := exec.Command("/bin/sh", "-c", "exit 0").Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 30 {
		dir := t.TempDir()
		if err := unpackInto(archive, dir); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(filepath.Join(dir, "program")).Run(); err != nil {
			t.Fatal(err)
		}
	}
}
