//go:build unix

package command

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childEnv makes the test binary play the server with that name.
const childEnv = "JUNCTION_TEST_SERVER"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		server, ok := servers[name]
		if !ok {
			os.Exit(99)
		}
		server(bufio.NewReader(os.Stdin))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// servers maps names to the functions of child processes.
var servers = map[string]func(*bufio.Reader){
	"answers": func(in *bufio.Reader) {
		fmt.Println("welcome")
		for id := 1; ; id++ {
			if _, err := in.ReadString('\n'); err != nil {
				fmt.Fprintln(os.Stderr, "goodbye")
				return
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", id)
		}
	},
	"fails": func(in *bufio.Reader) {
		in.ReadString('\n')
		fmt.Fprint(os.Stderr, "\x1b[31mno API key\x1b[0m\nset WEATHER_KEY\n")
		os.Exit(3)
	},
	"ends": func(in *bufio.Reader) { in.ReadString('\n') },
	"closes its output": func(in *bufio.Reader) {
		in.ReadString('\n')
		os.Stdout.Close()
		in.ReadString('\n')
	},
	"neither reads nor obeys": func(*bufio.Reader) {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println(`{"jsonrpc":"2.0","method":"ready"}`)
		<-time.After(time.Minute) // at most, if the test fails
	},
	"answers no call and does not obey": func(in *bufio.Reader) {
		signal.Ignore(syscall.SIGTERM)
		for {
			line, err := in.ReadString('\n')
			id := regexp.MustCompile(`"id":(\d+)`).FindStringSubmatch(line)
			switch {
			case err != nil || strings.Contains(line, `"tools/call"`):
				<-time.After(time.Minute)
			case strings.Contains(line, `"initialize"`):
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"a","version":"1"}}}`+"\n", id[1])
			case id != nil:
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`+"\n", id[1])
			}
		}
	},
	"says nothing": func(*bufio.Reader) { <-time.After(2 * time.Minute) },
	"waits elsewhere": func(*bufio.Reader) {
		fmt.Fprintln(os.Stderr, "listening on port 3333")
		<-time.After(2 * time.Minute)
	},
	"runs behind a wrapper": func(*bufio.Reader) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"=answers")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.Run()
	},
	"shows its environment": func(in *bufio.Reader) {
		in.ReadString('\n')
		dir, _ := os.Getwd()
		shown := strings.Join(append([]string{dir, os.Getenv("ADDED"), os.Getenv("INHERITED")}, os.Args[1:]...), "|")
		fmt.Printf(`{"jsonrpc":"2.0","id":1,"result":%q}`+"\n", shown)
		in.ReadString('\n')
	},
}

// server returns the Command of a server. The test fails if a connection leaves a process, a file
// or a goroutine behind.
func server(t *testing.T, name string, args ...string) *Command {
	t.Helper()
	c := New(os.Args[0], args...)
	c.Env = []string{childEnv + "=" + name, "GORACE=atexit_sleep_ms=0"}
	c.Grace = 300 * time.Millisecond
	files := openFiles(t)
	t.Cleanup(func() {
		if now := openFiles(t); now != files {
			t.Errorf("%d files open, %d before", now, files)
		}
		if left := children(t); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
		checkGoroutines(t)
	})
	return c
}

// openFiles returns the number of this process's descriptors, after the runtime has opened its own.
func openFiles(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// children returns the children of this process, including unreaped ones.
func children(t *testing.T) (found []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ") // state ppid …
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == fmt.Sprint(os.Getpid()) {
			found = append(found, entry.Name()+" "+fields[0])
		}
	}
	return found
}

func checkGoroutines(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; runtime.Gosched() {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !strings.Contains(string(stacks), "pipe.(*streams)") && !strings.Contains(string(stacks), "process.(*Process).") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutine left:\n%s", stacks)
		}
	}
}
