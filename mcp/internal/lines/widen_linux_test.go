package lines

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A response that fits in a pipe is written in one turn; a larger pipe keeps its capacity.
func TestAPipeToAClientHasRoomForALongList(t *testing.T) {
	for _, has := range []uintptr{64 << 10, 1 << 20} {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		defer out.Close()
		if room := fcntl(t, out, syscall.F_SETPIPE_SZ, has); room != has {
			t.Skipf("the system gives a pipe %d bytes", room)
		}
		e, err := edge.New(mcp.NewServer("s", "1"), edge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := Serve(context.Background(), e, strings.NewReader(""), out, nil, mcp.ServeOptions{}); err != nil {
			t.Fatal(err)
		}
		if room := fcntl(t, out, syscall.F_GETPIPE_SZ, 0); room != max(has, pipeRoom) {
			t.Errorf("a pipe with room for %d bytes has room for %d", has, room)
		}
	}
	widen(io.Discard)
	regular, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	widen(regular)
	regular.Close()
	widen(regular)
}

func fcntl(t *testing.T, f *os.File, command, argument uintptr) (result uintptr) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { result, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, command, argument) })
	return result
}
