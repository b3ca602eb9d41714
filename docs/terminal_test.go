package docs_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// commandTime is how long a command may take, or until one that goes on has printed what
// the page says.
const commandTime = time.Minute

// A terminal is where a person follows a section of a page.
type terminal struct {
	home, bin string            // the home folder, and where junction is
	dir       string            // the working folder
	env       []string          // further variables
	port      string            // a free one in place of up's own
	local     *strings.Replacer // makes of the addresses on the page free ones that only this machine reaches
	jobs      []func()          // end the commands that go on, in their order
}

// newTerminal returns a terminal in an empty home folder.
func newTerminal(t *testing.T, bin string) *terminal {
	t.Helper()
	home, err := os.MkdirTemp("", "junction") // that of the test is too long for a socket in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	c := &terminal{home: home, dir: home, bin: bin, port: freePort(t)}
	c.local = strings.NewReplacer("0.0.0.0", "127.0.0.1", ":7717", c.port, ":7718", freePort(t), ":9464", freePort(t), ":8181", freePort(t))
	return c
}

// save writes a file that a page shows.
func (c *terminal) save(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(c.local.Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// follow does what a section says, and ends what that left running.
func follow(t *testing.T, section []block, bin string) {
	t.Helper()
	for _, program := range []string{"curl", "openssl"} {
		if _, err := exec.LookPath(program); err != nil && slices.ContainsFunc(section, func(b block) bool { return strings.Contains("\n"+b.text, "\n$ "+program+" ") }) {
			t.Skipf("%s is not installed", program)
		}
	}
	c := newTerminal(t, bin)
	for _, b := range slices.Backward(section) { // so that the first text of each file is there from the start
		c.write(t, b)
	}
	for _, b := range section {
		if c.write(t, b); b.kind == "console" {
			c.followBlock(t, b)
		}
	}
}

// job matches the command that ends a command that goes on.
var job = regexp.MustCompile(`^kill %(\d+)$`)

// followBlock runs the commands of an example and compares what they print.
func (c *terminal) followBlock(t *testing.T, b block) {
	t.Helper()
	for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		line, want, _ := strings.Cut(part, "\n")
		for strings.HasSuffix(line, `\`) || strings.HasPrefix(want, "> ") {
			var more string
			more, want, _ = strings.Cut(want, "\n")
			line += "\n" + strings.TrimPrefix(more, "> ")
		}
		if number := job.FindStringSubmatch(line); number != nil {
			n, err := strconv.Atoi(number[1])
			if err != nil || n < 1 || n > len(c.jobs) {
				t.Fatalf("%s:%d: %s: %d commands go on", b.page, b.line, line, len(c.jobs))
			}
			c.jobs[n-1]()
			continue
		}
		want = c.local.Replace(want)
		if got := c.run(t, line, want); !fits(got, want) {
			t.Errorf("%s:%d: $ %s\nprinted\n%s\nand the page says\n%s", b.page, b.line, line, got, want)
		}
	}
}

// write writes the file that a block shows.
func (c *terminal) write(t *testing.T, b block) {
	t.Helper()
	if b.kind == "console" || b.label == "" {
		return
	}
	path := filepath.Join(c.home, b.file())
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a line and returns what it printed: until it ended, or, if it is to go on, until that is what the page says.
func (c *terminal) run(t *testing.T, line, want string) string {
	t.Helper()
	line = strings.ReplaceAll(c.local.Replace(line), "go run ./cmd/junction", "junction")
	line, goesOn := strings.CutSuffix(line, " &")
	before, after, isUp := strings.Cut(line+" ", "junction up ")
	if isUp && (goesOn || strings.Contains(line, " --check")) && !strings.Contains(line, "--http") { // a check listens, too
		line = before + "junction up --http 127.0.0.1" + c.port + " " + after
	}
	if goesOn {
		line = "exec " + line // so that it is the process that is ended
	}
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	command := exec.Command("sh", "-c", line)
	command.Dir = c.dir
	command.Env = append([]string{"PATH=" + c.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + c.home, "COLUMNS=80", "JUNCTION_BROWSER=" + filepath.Join(c.bin, browserName)}, c.env...)
	command.WaitDelay = time.Second // a program that it left behind may hold its output
	out := &output{wrote: make(chan struct{}, 1)}
	command.Stdout, command.Stderr = out, out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // the exit code is shown where it matters
	}()
	stop := func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = command.Process.Kill()
			<-ended
		}
	}
	for {
		select {
		case <-ended:
			return out.String()
		case <-ctx.Done():
			stop()
			t.Errorf("$ %s: it did not end, or did not print what the page says, within %s", line, commandTime)
			return out.String()
		case <-out.wrote:
			if text := out.String(); goesOn && fits(text, want) {
				stop = sync.OnceFunc(stop)
				t.Cleanup(stop)
				c.jobs = append(c.jobs, stop)
				return text
			}
		}
	}
}

// output is what a command printed so far.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{} // something was printed
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.wrote <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// freePort is the end of an address of loopback that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return ":" + port
}
