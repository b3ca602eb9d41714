//go:build amd64 || arm64

package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// childEnv makes the test binary play the child that it names.
const childEnv = "WATCH_TEST_CHILD"

func TestMain(m *testing.M) {
	switch child := os.Getenv(childEnv); {
	case child == "":
		os.Exit(m.Run())
	case child == "launch":
		launch()
	default:
		if err := children[child](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, child+":", err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

// launch watches itself and becomes the program of its arguments.
func launch() {
	runtime.LockOSThread()
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "launch:", err)
			os.Exit(99)
		}
	}
	program, err := exec.LookPath(os.Args[1])
	fail(err)
	fail(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	unix.CloseOnExec(3)
	scope := Looks
	if text := os.Getenv(childEnv + "_SCOPE"); text != "" {
		number, err := strconv.Atoi(text)
		fail(err)
		scope = Scope(number)
	}
	listener, err := Install(scope)
	fail(err)
	fail(unix.Sendmsg(3, []byte{0}, unix.UnixRights(listener), nil, 0))
	unix.Close(listener)
	os.Setenv(childEnv, os.Getenv(childEnv+"_THEN"))
	fail(syscall.Exec(program, os.Args[1:], os.Environ()))
}

// watched is a watched program that was started.
type watched struct {
	cmd      *exec.Cmd
	listener *os.File
	in       io.WriteCloser
	out      strings.Builder
}

// start starts a program with a listener that has no Watcher yet.
func start(t testing.TB, child string, args ...string) *watched {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "")
	defer unix.Close(pair[0])
	w := &watched{cmd: exec.Command(os.Args[0], args...)}
	w.cmd.Env = append(os.Environ(), childEnv+"=launch", childEnv+"_THEN="+child, "GORACE=atexit_sleep_ms=0")
	w.cmd.ExtraFiles = []*os.File{theirs}
	w.cmd.Stdout, w.cmd.Stderr = &w.out, &w.out
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.cmd.Process.Kill(); w.cmd.Wait() })
	theirs.Close()
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		t.Fatalf("the launcher sent no listener: %v; it says %q", err, w.wait())
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil {
		t.Fatal(err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	w.listener = os.NewFile(uintptr(fds[0]), "listener")
	return w
}

func (w *watched) ask(t *testing.T) {
	t.Helper()
	if _, err := w.in.Write([]byte{0}); err != nil {
		t.Error(err)
	}
}

func (w *watched) wait() string { w.cmd.Wait(); return w.out.String() }

// run watches a program to its end.
func run(t testing.TB, o Options, child string, args ...string) (*Watcher, []Access) {
	t.Helper()
	w := start(t, child, args...)
	var accesses []Access
	if o.See == nil {
		o.See = func(a Access) { accesses = append(accesses, a) }
	}
	watcher := New(w.listener, o)
	if err := watcher.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, w.out.String())
	}
	return watcher, accesses
}

// path returns an argument of a system call.
func path(p string) uintptr {
	b, err := unix.BytePtrFromString(p)
	if err != nil {
		panic(err)
	}
	return uintptr(unsafe.Pointer(b))
}

// children maps names to the actions of watched programs.
var children = map[string]func(args []string) error{
	"uses everything": func(args []string) error {
		dir := args[0]
		if err := os.Chdir(dir); err != nil {
			return err
		}
		folder, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		at, sys := uintptr(folder), func(number uintptr, a ...uintptr) {
			a = append(a, make([]uintptr, 6)...)
			unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		}
		here := ^uintptr(99) // AT_FDCWD
		sys(unix.SYS_OPENAT, here, path("read"), unix.O_RDONLY)
		sys(unix.SYS_OPENAT, at, path("sub/../write"), unix.O_WRONLY)
		sys(unix.SYS_OPENAT, here, path(dir+"//both"), unix.O_RDWR)
		sys(unix.SYS_OPENAT, here, path("create"), unix.O_RDONLY|unix.O_CREAT, 0o600)
		sys(unix.SYS_OPENAT, here, path("path"), unix.O_PATH|unix.O_RDWR)
		how := unix.OpenHow{Flags: unix.O_WRONLY}
		sys(unix.SYS_OPENAT2, here, path("how"), uintptr(unsafe.Pointer(&how)), unix.SizeofOpenHow)
		sys(unix.SYS_STATX, here, path("statx"), 0, 0, 0)
		sys(unix.SYS_FACCESSAT, here, path("faccessat"), 0)
		sys(unix.SYS_READLINKAT, here, path("readlinkat"), 0, 0)
		sys(unix.SYS_UNLINKAT, here, path("unlinkat"), 0)
		sys(unix.SYS_MKDIRAT, at, path("mkdirat"), 0o700)
		sys(unix.SYS_SYMLINKAT, path("/target"), here, path("symlinkat"))
		sys(unix.SYS_LINKAT, at, path("link from"), here, path("link to"), 0)
		sys(unix.SYS_RENAMEAT2, at, path("rename from"), here, path("rename to"), 0)
		sys(unix.SYS_TRUNCATE, path("truncate"), 0)
		sys(unix.SYS_FCHMODAT, here, path("fchmodat"), 0o600)
		sys(unix.SYS_EXECVE, path("execve"), 0, 0)
		net.Dial("unix", "socket")
		net.Dial("tcp", "127.0.0.1:9")
		net.Dial("tcp", "[::1]:9")
		// Calls without a name, or with an unreadable one.
		sys(unix.SYS_OPENAT, here, 1, 0)
		sys(unix.SYS_OPENAT, here, path(strings.Repeat("x", 5000)), 0)
		sys(unix.SYS_OPENAT, at, path(""), 0)
		sys(unix.SYS_STATX, at, path(""), unix.AT_EMPTY_PATH, 0, 0)
		sys(unix.SYS_OPENAT, 999, path("no such folder"), 0)
		return nil
	},
	"opens many": func(args []string) error {
		n, _ := strconv.Atoi(args[1])
		for i := range n {
			os.Open(filepath.Join(args[0], strconv.Itoa(i)))
		}
		return nil
	},
	"waits": func([]string) error {
		fmt.Println("waits")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	},
	"opens when asked": func(args []string) error {
		b := make([]byte, 1)
		for {
			if _, err := os.Stdin.Read(b); err != nil {
				return nil
			}
			_, err := os.Open(args[0])
			fmt.Println(errors.Is(err, unix.ENOSYS))
		}
	},
	"has threads": func(args []string) error {
		var all sync.WaitGroup
		for thread := range 8 {
			all.Go(func() {
				runtime.LockOSThread()
				for i := range 100 {
					os.Open(filepath.Join(args[0], strconv.Itoa(thread), strconv.Itoa(i)))
				}
			})
		}
		all.Wait()
		return nil
	},
}

func TestEachCallThatNamesAFileOrAnAddressIsSeen(t *testing.T) {
	dir := t.TempDir()
	watcher, accesses := run(t, Options{}, "uses everything", os.Args[0], dir)
	var got []string
	for _, a := range accesses {
		if rest, ok := strings.CutPrefix(a.Path, dir+"/"); ok {
			got = append(got, a.Kind.String()+" "+rest)
		} else if a.Address != "" {
			got = append(got, a.Kind.String()+" "+a.Address)
		}
	}
	want := []string{
		"read read", "write write", "write both", "write create", "look path", "write how",
		"look statx", "look faccessat", "look readlinkat", "change unlinkat", "change mkdirat", "change symlinkat",
		"read link from", "change link to", "change rename from", "change rename to", "write truncate", "write fchmodat",
		"run execve", "connect socket", "connect 127.0.0.1:9", "connect [::1]:9",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if !slices.Contains(accesses, Access{Kind: Run, Path: os.Args[0]}) {
		t.Errorf("the start of the program itself was not seen: %v", accesses)
	}
	if watcher.Missed() != 1 { // the descriptor that is not a folder
		t.Errorf("%d calls were missed, want 1", watcher.Missed())
	}
}

func TestOnlyPathsInScopeAreAsked(t *testing.T) {
	for scope, want := range map[Scope]map[Kind]int{
		Opens:       {Look: 1, Read: 2, Write: 6, Change: 6, Run: 1, Connect: 3}, // an open may be a look, too
		Connections: {Connect: 3},
	} {
		dir := t.TempDir()
		t.Setenv(childEnv+"_SCOPE", strconv.Itoa(int(scope)))
		_, accesses := run(t, Options{}, "uses everything", os.Args[0], dir)
		kinds := map[Kind]int{}
		for _, a := range accesses {
			if strings.HasPrefix(a.Path, dir+"/") || a.Address != "" {
				kinds[a.Kind]++
			}
		}
		if !maps.Equal(kinds, want) {
			t.Errorf("scope %d: got %v, want %v", scope, kinds, want)
		}
	}
}

func TestAProgramOfManyThreadsIsSeenWhole(t *testing.T) {
	dir := t.TempDir()
	_, accesses := run(t, Options{}, "has threads", os.Args[0], dir)
	count := 0
	for _, a := range accesses {
		if strings.HasPrefix(a.Path, dir+"/") {
			count++
		}
	}
	if count != 800 {
		t.Errorf("%d of 800 were seen", count)
	}
}

func TestProgramsOfAShellAreSeen(t *testing.T) {
	dir := t.TempDir()
	_, accesses := run(t, Options{}, "", "/bin/sh", "-c", `cd "$0" && echo x >new && cat new >/dev/null && mv new old && rm old`, dir)
	var got []string
	for _, a := range accesses {
		if rest, ok := strings.CutPrefix(a.Path, dir+"/"); ok && a.Kind != Look {
			got = append(got, a.Kind.String()+" "+rest)
		}
	}
	want := []string{"write new", "read new", "change new", "change old"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestACallIsReportedBeforeItIsMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made meanwhile")
	w := start(t, "", "/bin/cat", path)
	watcher := New(w.listener, Options{See: func(a Access) {
		if a == (Access{Kind: Read, Path: path}) {
			if err := os.WriteFile(path, []byte("seen first"), 0o600); err != nil {
				t.Error(err)
			}
		}
	}})
	if err := watcher.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if said := w.wait(); said != "seen first" {
		t.Errorf("the program says %q", said)
	}
}

func TestSkippedAndKnownPathsAreNotReported(t *testing.T) {
	dir := t.TempDir()
	skip := func(a Access) bool {
		return a.Kind == Look || !strings.HasPrefix(a.Path, dir) || strings.HasSuffix(a.Path, "3")
	}
	_, accesses := run(t, Options{Skip: skip}, "", "/bin/sh", "-c", `cd "$0"; for i in 1 2 1 3 2 1; do cat $i; done 2>/dev/null; exit 0`, dir)
	want := []Access{{Kind: Read, Path: dir + "/1"}, {Kind: Read, Path: dir + "/2"}}
	if !slices.Equal(accesses, want) {
		t.Errorf("got %v, want %v", accesses, want)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	reported := 0
	watcher := (*Watcher)(nil)
	w := start(t, "opens many", os.Args[0], t.TempDir(), "1000")
	watcher = New(w.listener, Options{Remembered: 100, See: func(Access) {
		reported++
		if len(watcher.seen) > 100 {
			t.Errorf("%d are remembered", len(watcher.seen))
		}
	}})
	if err := watcher.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if reported < 1000 {
		t.Errorf("%d were reported of 1000", reported)
	}
}

func TestAFloodContinuesUnreported(t *testing.T) {
	watcher, accesses := run(t, Options{PerSecond: 50}, "opens many", os.Args[0], t.TempDir(), "5000")
	if missed := watcher.Missed(); missed < 1000 || len(accesses) == 0 {
		t.Errorf("%d were missed and %d seen of 5000, of which 50 a second are looked at", missed, len(accesses))
	}
}

func TestAnAbandonedProgramCanOpenNothing(t *testing.T) {
	dir := t.TempDir()
	w := start(t, "opens when asked", os.Args[0], dir)
	ctx, cancel := context.WithCancel(t.Context())
	watcher := New(w.listener, Options{See: func(a Access) {
		if a == (Access{Kind: Read, Path: dir}) {
			cancel()
		}
	}})
	w.ask(t)
	if err := watcher.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	w.ask(t)
	w.in.Close()
	if said := w.wait(); said != "false\ntrue\n" {
		t.Errorf("ENOSYS before and after: %q", said)
	}
}

func TestRunEndsWithAKilledCaller(t *testing.T) {
	w := start(t, "waits", os.Args[0])
	watcher := New(w.listener, Options{See: func(a Access) {
		if a.Kind == Run {
			w.cmd.Process.Kill()
		}
	}})
	if err := watcher.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFilterAllowsCallsWithoutAPath(t *testing.T) {
	vms := map[Scope]*bpf.VM{}
	for _, scope := range []Scope{Connections, Opens, Looks} {
		raw, err := filter(scope)
		if err != nil {
			t.Fatal(err)
		}
		instructions, whole := bpf.Disassemble(raw)
		if !whole {
			t.Fatal("the filter has unknown instructions")
		}
		if vms[scope], err = bpf.NewVM(instructions); err != nil {
			t.Fatal(err)
		}
	}
	const allow, ask = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_USER_NOTIF
	for _, c := range []struct {
		what   string
		scope  Scope
		number int
		arch   uint32
		arg    int // argument with the flags
		flags  uint32
		want   int
	}{
		{"read", Looks, unix.SYS_READ, auditArch, 0, 0, allow},
		{"write", Looks, unix.SYS_WRITE, auditArch, 0, 0, allow},
		{"recvfrom", Looks, unix.SYS_RECVFROM, auditArch, 0, 0, allow},
		{"fstat", Looks, unix.SYS_FSTAT, auditArch, 0, 0, allow},
		{"openat", Looks, unix.SYS_OPENAT, auditArch, 0, 0, ask},
		{"openat of another architecture", Looks, unix.SYS_OPENAT, unix.AUDIT_ARCH_PARISC, 0, 0, allow},
		{"connect", Looks, unix.SYS_CONNECT, auditArch, 0, 0, ask},
		{"statx", Looks, unix.SYS_STATX, auditArch, 0, 0, ask},
		{"statx of an open file", Looks, unix.SYS_STATX, auditArch, 2, unix.AT_EMPTY_PATH, allow},
		{"fstatat of an open file", Looks, fstatat, auditArch, 3, unix.AT_EMPTY_PATH, allow},
		{"fstatat", Looks, fstatat, auditArch, 2, unix.AT_EMPTY_PATH, ask},
		{"statx, of opens", Opens, unix.SYS_STATX, auditArch, 0, 0, allow},
		{"openat to read, of opens", Opens, unix.SYS_OPENAT, auditArch, 2, unix.O_CLOEXEC, ask},
		{"execve, of opens", Opens, unix.SYS_EXECVE, auditArch, 0, 0, ask},
		{"openat to create, of connections", Connections, unix.SYS_OPENAT, auditArch, 2, unix.O_CREAT | unix.O_RDWR, allow},
		{"connect, of connections", Connections, unix.SYS_CONNECT, auditArch, 0, 0, ask},
	} {
		data := make([]byte, 64) // big-endian, because this VM reads network byte order
		be := func(at int, v uint32) {
			data[at], data[at+1], data[at+2], data[at+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
		}
		be(dataNumber, uint32(c.number))
		be(dataArch, c.arch)
		be(dataArgs+8*c.arg, c.flags)
		if got, err := vms[c.scope].Run(data); err != nil || got != c.want {
			t.Errorf("%s: got %#x, %v; want %#x", c.what, got, err, c.want)
		}
	}
}

func BenchmarkAnOpen(b *testing.B) {
	for _, isWatched := range []bool{false, true} {
		b.Run(fmt.Sprintf("watched=%v", isWatched), func(b *testing.B) {
			dir := b.TempDir()
			n := strconv.Itoa(b.N)
			began := time.Now()
			if isWatched {
				run(b, Options{See: func(Access) {}, PerSecond: 1 << 30}, "opens many", os.Args[0], dir, n)
			} else {
				cmd := exec.Command(os.Args[0], dir, n)
				cmd.Env = append(os.Environ(), childEnv+"=opens many")
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatal(err, string(out))
				}
			}
			b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(b.N), "ns/open")
		})
	}
}
