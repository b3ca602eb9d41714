package integration

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A screen is a terminal of 80 columns and 24 lines in which a program runs: keys are sent
// to it, and what it shows is read, as a person would.
type screen struct {
	t      *testing.T
	tmux   string
	socket string
}

const tmuxConfig = "set -g history-limit 10000\nset -g default-terminal screen-256color\nset -g status off\nset -s escape-time 0\n"

// newScreen runs a program in a terminal until the test ends.
func newScreen(t *testing.T, env []string, dir string, argv ...string) *screen {
	t.Helper()
	folder, err := os.MkdirTemp("", "tmux-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t, program(t, "tmux"), filepath.Join(folder, "s")}
	config := filepath.Join(folder, "conf")
	if err := os.WriteFile(config, []byte(tmuxConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := append([]string{"-u", "-S", s.socket, "-f", config, "new-session", "-d", "-x", "80", "-y", "24", "-c", dir, "--",
		"sh", "-c", `"$@"; echo "exit code $?"; exec sleep 1000`, "sh"}, argv...)
	command := exec.Command(s.tmux, arguments...)
	command.Env = append(env, "TERM=xterm-256color", "TMUX=")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	pid := s.pid()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen at the end:\n%s", s.shown())
		}
		_ = exec.Command(s.tmux, "-S", s.socket, "kill-server").Run() // ends the program
		_ = syscall.Kill(-pid, syscall.SIGKILL)                       // it may have ended
		_ = os.RemoveAll(folder)
	})
	return s
}

// do runs a command of tmux.
func (s *screen) do(arguments ...string) string {
	s.t.Helper()
	out, err := exec.Command(s.tmux, append([]string{"-u", "-S", s.socket}, arguments...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v: %s", arguments, err, out)
	}
	return string(out)
}

// shown is what stands on the screen, without what scrolled away.
func (s *screen) shown() string { return s.do("capture-pane", "-p") }

// history is all that was written, as far as the terminal remembers.
func (s *screen) history() string { return s.do("capture-pane", "-p", "-S", "-") }

// press sends keys by their names: Enter, C-c, Down, y.
func (s *screen) press(keys ...string) { s.do(append([]string{"send-keys"}, keys...)...) }

// enter types a text and the Enter key behind it, once the text is on the screen.
func (s *screen) enter(text string) {
	s.t.Helper()
	s.do("send-keys", "-l", text)
	s.see(text)
	s.press("Enter")
}

// soon is longer than a card takes no keys: those that were meant for what was there before.
const soon = 900 * time.Millisecond

// answer waits for a card and presses keys, as soon as it takes some.
func (s *screen) answer(keys string, texts ...string) {
	s.t.Helper()
	s.see(texts...)
	time.Sleep(soon)
	s.press(keys)
}

// see waits until all texts are on the screen at once. A text may be wrapped.
func (s *screen) see(texts ...string) {
	s.t.Helper()
	s.until("to see "+strings.Join(texts, " and "), func(shown string) bool {
		for _, text := range texts {
			if !strings.Contains(words(shown), words(text)) {
				return false
			}
		}
		return true
	})
}

// gone waits until a text is not on the screen.
func (s *screen) gone(text string) {
	s.t.Helper()
	s.until("not to see "+text, func(shown string) bool { return !strings.Contains(words(shown), words(text)) })
}

// until waits until the screen is as it should be.
func (s *screen) until(what string, as func(shown string) bool) {
	s.t.Helper()
	var shown string
	for deadline := time.Now().Add(chatTime / 3); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if shown = s.shown(); as(shown) {
			return
		}
	}
	s.t.Fatalf("waited %v %s; the screen is\n%s", chatTime/3, what, shown)
}

// words are those of a text, whatever is between them.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// ended waits until the program has ended, and returns its exit code.
func (s *screen) ended() int {
	s.t.Helper()
	var code int
	s.until("the program to end", func(shown string) bool {
		_, status, found := strings.Cut(shown, "exit code ")
		if !found {
			return false
		}
		_, err := fmt.Sscan(status, &code)
		return err == nil
	})
	return code
}

// pid is the process that started the program.
func (s *screen) pid() int {
	s.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(s.do("display-message", "-p", "#{pane_pid}")))
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// A gate holds what a handler streams, in front of a word, until it is opened.
type gate struct {
	http.Handler
	word string
	once sync.Once
	open chan struct{}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.Handler.ServeHTTP(&gated{w, g, r}, r)
}

type gated struct {
	http.ResponseWriter
	gate    *gate
	request *http.Request
}

// Unwrap lets the handler flush.
func (w *gated) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *gated) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.gate.word) {
		w.gate.once.Do(func() {
			select {
			case <-w.gate.open:
			case <-w.request.Context().Done():
			}
		})
	}
	return w.ResponseWriter.Write(p)
}
