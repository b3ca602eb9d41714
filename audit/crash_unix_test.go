//go:build unix

package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain is the program that writes a log if a test starts it with a variable.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("AUDIT_WRITE") != "":
		writeUntilKilled(os.Getenv("AUDIT_WRITE"))
	case os.Getenv("AUDIT_FILL") != "":
		fill(os.Getenv("AUDIT_FILL"))
	}
	os.Exit(m.Run())
}

func programKey() *Key {
	k, err := NewKey([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		panic(err)
	}
	return k
}

// writeUntilKilled prints the name of each line that is on disk, like a server that sends a
// response.
func writeUntilKilled(dir string) {
	l, err := Open(dir, Options{Key: programKey(), NoSync: true, MaxFile: 50_000, Keep: 1 << 40})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	var out sync.Mutex
	for i := range 16 {
		go func() {
			for j := 0; ; j++ {
				name := fmt.Sprintf("%d-%d-%d", os.Getpid(), i, j)
				if err := l.Append(&Record{Kind: KindCall, Name: name}); err != nil {
					fmt.Println("error:", err)
					os.Exit(1)
				}
				out.Lock()
				fmt.Println(name)
				out.Unlock()
			}
		}()
	}
	select {}
}

// The log of a process that is killed at any moment has a line for every response. AUDIT_KILLS is
// the number of kills.
func TestKilledProcessesHaveLoggedTheirAnswers(t *testing.T) {
	kills := 12
	if n, err := strconv.Atoi(os.Getenv("AUDIT_KILLS")); err == nil {
		kills = n
	}
	dir := filepath.Join(t.TempDir(), "audit")
	answered := map[string]bool{}
	for range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "AUDIT_WRITE="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if lines.Scan() {
			answered[lines.Text()] = true // runs, and may be killed at any moment from here on
		}
		time.AfterFunc(time.Duration(rand.IntN(30_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		for lines.Scan() {
			answered[lines.Text()] = true
		}
		_ = cmd.Wait()
	}
	r, err := Verify(dir, testKey(t))
	if err != nil || r.Count != 0 {
		t.Fatalf("after %d kills: %+v, %v", kills, r, err)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for text := range bytes.Lines(data) {
			if _, rest, ok := strings.Cut(string(text), `"name":"`); ok {
				name, _, _ := strings.Cut(rest, `"`)
				delete(answered, name)
			}
		}
	}
	for name := range answered {
		t.Errorf("%s was answered and is not in the log", name)
	}
	t.Logf("%d kills, %d lines, %d files", kills, r.Lines, r.Files)
}

// fill writes until files may not grow any more, and then lets them grow again.
func fill(dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := func(n uint64) {
		var now syscall.Rlimit
		if err := errors.Join(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &now), syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: now.Max})); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	limit(20_000)
	l, err := Open(dir, Options{Key: programKey()})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	n := 0
	for ; err == nil; n++ {
		err = l.Append(&Record{Kind: KindCall, Name: fmt.Sprint("before ", n)})
	}
	fmt.Println(errors.Is(err, ErrUnavailable), l.Refused() != nil, err)
	for i := range 100 {
		_ = l.Note(&Record{Kind: KindCall, Name: fmt.Sprint("full ", i), Arguments: bytes.Repeat([]byte("1"), 1<<10)})
	}
	limit(1 << 40)
	fmt.Println(l.Refused(), l.Append(&Record{Kind: KindCall, Name: "after"}), l.Close(), n)
	os.Exit(0)
}

func TestAFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AUDIT_FILL="+dir)
	out, err := cmd.Output()
	first, second, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || !strings.HasPrefix(first, "true true the audit log cannot be written: write ") || !strings.HasPrefix(second, "<nil> <nil> <nil> ") {
		t.Fatalf("%v: %s", err, out)
	}
	if got := faults(t, dir); got != "" {
		t.Error(got)
	}
	_, lines := readLines(t, dir)
	n, _ := strconv.Atoi(second[strings.LastIndexByte(second, ' ')+1:])
	if got := bytes.Count(bytes.Join(lines, nil), []byte(`"kind":"call"`)); got != n+101 {
		t.Errorf("%d lines of %d", got, n+101)
	}
}
