//go:build unix

package filesystem

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	f := serve(t, Options{Write: true})
	if err := syscall.Mkfifo(filepath.Join(f.work, "pipe"), 0o644); err != nil {
		t.Skip("no named pipes here:", err)
	}
	socket, err := net.Listen("unix", filepath.Join(f.work, "socket"))
	if err != nil {
		t.Skip("no sockets here:", err)
	}
	defer socket.Close()
	for _, name := range []string{"work/pipe", "work/socket"} {
		f.refused("read-file", args{"path": name}, "not a regular file")
		f.refused("edit-file", args{"path": name, "edits": []args{{"old": "a", "new": "b"}}}, "not a regular file")
		f.refused("write-file", args{"path": name, "content": "x", "overwrite": true}, "not a regular file")
	}
	if got := f.text("tree", args{"path": "work"}); got != "work/\n  pipe (not a regular file)\n  socket (not a regular file)\n" {
		t.Errorf("tree: %s", got)
	}
	if out := must[searchOutput](f, "search", args{"path": "work", "text": "x"}); len(out.Matches) != 0 {
		t.Errorf("search: %+v", out)
	}
	if out := must[infoOutput](f, "file-info", args{"path": "work/pipe"}); out.Kind != kindOther {
		t.Errorf("info: %+v", out)
	}
}

func TestDevicesAreNotOpened(t *testing.T) {
	f := serve(t, Options{Roots: []string{"/dev"}})
	f.refused("read-file", args{"path": "dev/zero"}, "not a regular file")
	if a := f.call("read-files", args{"paths": []string{"dev/zero"}}); !strings.Contains(a.text(), "not a regular file") {
		t.Errorf("got %s", a.text())
	}
}
