package sandbox

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/junction-mcp/junction/internal/process/processtest"

	"golang.org/x/sys/unix"
)

// hostile makes the test binary a hostile program, which tries the escape it names.
const hostile = "SANDBOX_TEST_ESCAPE"

// A world holds the targets of a hostile program.
type world struct {
	Home, Secret, Project string // a folder; files
	Write, Read           string // folders of the profile
	TCP, TCP6, Own, UDP   string // services on this machine
	Socket, Abstract      string
	Shared                string // a file in /dev/shm
	Victim                int    // a process
	Queue, Semaphores     int    // of System V
	Memory                int
}

// theSecret is in all outside files, variables and services.
const theSecret = "S3CRET-of-the-person"

func TestNoEscapeSucceeds(t *testing.T) {
	escapesFail(t, false, false)
}

// Accesses that the log does not report any more are still refused.
func TestNoEscapeSucceedsOnceAProfileFits(t *testing.T) {
	escapesFail(t, false, true)
}

// The same holds on a system without namespaces.
func TestNoEscapeSucceedsWithoutNamespaces(t *testing.T) {
	escapesFail(t, true, false)
}

// named maps escapes that can be detected to the beginning of their line in the log.
var named = map[string]string{
	"read the person's SSH key":                                   "refused to read ",
	"read another project":                                        "refused to read ",
	"read the passwords of the machine":                           "refused to read /etc/shadow: ",
	"read the key through ..":                                     "refused to read ",
	"read the key by a hard link":                                 "refused to read ",
	"write next to what it may write":                             "refused to keep what it writes to ",
	"write where it may only read":                                "refused to write ",
	"reach shared memory of others":                               "refused to read /dev/shm/",
	"connect to a service of the machine":                         "refused to connect to 127.0.0.1:",
	"connect to a service of the machine over IPv6":               "refused to connect to ",
	"connect to the admin port of the gateway by an allowed name": "refused to connect to api.example.com:",
	"connect to the metadata service":                             "refused to connect to 169.254.169.254:80: ",
	"connect to the internet without a name":                      "refused to connect to 1.1.1.1:443: ",
	"connect to a host that its profile has not":                  "refused to look up evil.example: ",
	"carry data out in names":                                     "refused to look up c3rvbgvu.evil.example: ",
	"send datagrams":                                              "refused to connect to ",
}

// unwatched lists those of them that are not logged once the profile fits.
var unwatched = []string{"read the person's SSH key", "read another project", "read the passwords of the machine", "read the key through ..", "read the key by a hard link",
	"write where it may only read", "reach shared memory of others"}

// without lists escapes that only namespaces prevent, as State reports.
var without = []string{"see other processes", "connect to an address that an allowed name could have"}

// The same holds for a user who is not root, whose sandbox uses other means.
func TestNoEscapeOfAnOrdinaryUserSucceeds(t *testing.T) {
	if testing.Short() {
		t.Skip("all is done by other processes")
	}
	if os.Getuid() != 0 {
		t.Skip("this is what the test above does already")
	}
	dir := t.TempDir()
	for at := dir; at != "/tmp" && at != "/"; at = filepath.Dir(at) {
		os.Chmod(at, 0o755)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "sandbox.test")
	processtest.WriteProgram(t, program, self, 0o755)
	cmd := exec.Command(program, "-test.run=^TestNoEscapeSucceeds", "-test.v")
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=/tmp", "HOME=/nonexistent", "GORACE=atexit_sleep_ms=0"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "\n--- PASS: TestNoEscapeSucceeds") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}

func escapesFail(t *testing.T, bare, fits bool) {
	w := newWorld(t)
	about, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	// The program must not get files that Junction has open, even if they were opened carelessly.
	leaked, err := syscall.Open(w.Secret, syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leaked)
	t.Setenv("SECRET_OF_JUNCTION", theSecret)
	hosts := []string{"api.example.com"}
	if bare {
		hosts = nil
	}
	p := Profile{Read: []string{w.Read}, Write: []string{w.Write}, Hosts: hosts, Processes: 64, Memory: 512 << 20, Files: 256}
	if bare && os.Getuid() != 0 {
		p.Processes = 0 // another test covers an ordinary user, whose processes cannot be counted
	}
	try := func(t *testing.T, e escape) {
		var mu sync.Mutex
		refused := ""
		s, err := New(p, Options{Unwatched: fits, Refused: func(r Refusal) {
			mu.Lock()
			defer mu.Unlock()
			refused += r.String() + "\n"
		}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd := exec.Command("/proc/self/exe")
		cmd.Path, err = os.Readlink("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = out, out
		cmd.Env = append(p.Environ(os.Environ()), hostile+"="+e.name, "WORLD="+string(about), "GORACE=atexit_sleep_ms=0")
		start := s.Start
		if bare {
			start = s.startBare
		}
		ended, err := start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		timeout := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		timeout.Stop()
		ended()
		mu.Lock()
		defer mu.Unlock()
		if want := named[e.name]; !bare && !(fits && slices.Contains(unwatched, e.name)) && !strings.Contains(refused, want) {
			t.Errorf("%q is not in what was refused:\n%s", want, refused)
		}
		t.Log(refused)
		said, _ := os.ReadFile(out.Name())
		if text := string(said); !strings.HasSuffix(text, "stopped\n") && !(e.mayDie && !strings.Contains(text, "ESCAPED")) || strings.Contains(text, theSecret) {
			t.Errorf("it was not stopped: %s", text)
		} else {
			t.Logf("%s", text)
		}
	}
	t.Run("all", func(t *testing.T) {
		for _, e := range escapes {
			if bare && (slices.Contains(without, e.name) || e.name == "start without end" && p.Processes == 0) {
				continue
			}
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				try(t, e)
			})
		}
	})
	w.isUnharmed(t)
}

// startBare is like Start on a system without namespaces.
func (s *Sandbox) startBare(cmd *exec.Cmd) (func(), error) {
	o, err := s.orderFor(cmd)
	if err != nil {
		return nil, err
	}
	o, remove, err := s.bare(o, errNoNamespaces)
	if err != nil {
		return nil, err
	}
	ended, err := s.launch(cmd, o, &syscall.SysProcAttr{Setsid: true})
	return func() {
		ended()
		remove()
	}, err
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root := t.TempDir()
	w := &world{Home: filepath.Join(root, "home"), Write: filepath.Join(root, "home/write"), Read: filepath.Join(root, "home/read"), Abstract: "\x00" + root}
	w.Secret, w.Project = filepath.Join(w.Home, ".ssh/id_ed25519"), filepath.Join(w.Home, "other/source.go")
	for _, path := range []string{w.Secret, w.Project, filepath.Join(w.Write, "a"), filepath.Join(w.Read, "a")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text := theSecret
		if strings.HasSuffix(path, "/a") {
			text = "open"
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{w.Write, w.Read} {
		if err := os.Symlink(w.Secret, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", w.Home)
	w.Shared = fmt.Sprintf("/dev/shm/sandbox-test-%d", os.Getpid())
	if err := os.WriteFile(w.Shared, []byte(theSecret), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(w.Shared) })
	w.shares(t)
	w.Socket = filepath.Join(w.Home, "agent.sock")
	serve := func(network, address string) string {
		l, err := net.Listen(network, address)
		if err != nil {
			return "" // no IPv6 here
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				t.Errorf("%s %q was reached", network, address)
				conn.Write([]byte(theSecret))
				conn.Close()
			}
		}()
		return l.Addr().String()
	}
	w.TCP, w.TCP6 = serve("tcp", "127.0.0.1:0"), serve("tcp", "[::1]:0")
	serve("unix", w.Socket)
	for _, name := range []string{w.datagrams(), "@" + root + "/datagrams"} {
		heard, err := net.ListenPacket("unixgram", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { heard.Close() })
		go func() {
			if n, _, err := heard.ReadFrom(make([]byte, 100)); err == nil {
				t.Errorf("%q heard %d bytes", name, n)
			}
		}()
	}
	serve("unix", "@"+root)
	if own := ownAddress(); own != "" {
		w.Own = serve("tcp", net.JoinHostPort(own, "0"))
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { udp.Close() })
	go func() {
		buf := make([]byte, 100)
		if _, from, err := udp.ReadFrom(buf); err == nil {
			t.Errorf("UDP was reached")
			udp.WriteTo([]byte(theSecret), from)
		}
	}()
	w.UDP = udp.LocalAddr().String()
	victim := exec.Command("sleep", "1000")
	victim.Env = append(os.Environ(), "SECRET="+theSecret)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		victim.Process.Kill()
		victim.Wait()
	})
	w.Victim = victim.Process.Pid
	return w
}

// datagrams returns the path of a service for datagrams, like the log of the machine.
func (w *world) datagrams() string { return w.Socket[:len(w.Socket)-len(".sock")] + ".log" }

// shares makes System V objects that processes of one user share by number, which anyone can guess.
func (w *world) shares(t *testing.T) {
	t.Helper()
	const private, remove = 0, 0 // IPC_PRIVATE and IPC_RMID, the last argument of semctl
	get := func(number, controls uintptr, args ...uintptr) int {
		args = append(args, 0, 0)
		id, _, errno := unix.Syscall(number, private, args[0], args[1])
		if errno != 0 {
			t.Fatal(errno)
		}
		t.Cleanup(func() { unix.Syscall(controls, id, remove, 0) })
		return int(id)
	}
	w.Queue = get(unix.SYS_MSGGET, unix.SYS_MSGCTL, 0o600)
	w.Semaphores = get(unix.SYS_SEMGET, unix.SYS_SEMCTL, 1, 0o600)
	w.Memory = get(unix.SYS_SHMGET, unix.SYS_SHMCTL, 4096, 0o600)
	message := append(make([]byte, 8), theSecret...)
	message[0] = 1 // its kind
	if _, _, errno := unix.Syscall6(unix.SYS_MSGSND, uintptr(w.Queue), uintptr(unsafe.Pointer(&message[0])), uintptr(len(theSecret)), 0, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
}

// ownAddress returns an address of this machine that is not loopback, or "".
func ownAddress() string {
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return ""
}

// isUnharmed compares the world with its state before.
func (w *world) isUnharmed(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{w.Secret: theSecret, w.Project: theSecret, filepath.Join(w.Read, "a"): "open", w.Shared: theSecret} {
		if got, err := os.ReadFile(path); string(got) != want {
			t.Errorf("%s is now %q, %v", path, got, err)
		}
	}
	if names, _ := filepath.Glob(w.Home + "/*"); len(names) != 6 {
		t.Errorf("in the home folder is now %q", names)
	}
	if err := unix.Kill(w.Victim, 0); err != nil {
		t.Errorf("the victim: %v", err)
	}
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.Victim)); err != nil || strings.Contains(string(stat), ") Z ") {
		t.Errorf("the victim died: %s, %v", stat, err)
	}
	var now unix.Stat_t
	if err := unix.Stat(w.Secret, &now); err != nil || now.Nlink != 1 {
		t.Errorf("the secret has %d links, %v", now.Nlink, err)
	}
}
