package integration

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/replay"
)

// firstKeys is how many keys the first answer may take, in addition to the question itself.
const firstKeys = 12

// A day at the screen with eight real servers: forty questions, a window of other
// sizes, a crash in the middle of a call, the conversation resumed, rewound and
// carried on by the other provider, a plan and a sub-agent. The model refuses a
// history that its provider would not take.
func TestADayOnTheScreenLeavesAHistoryThatBothProvidersTake(t *testing.T) {
	t.Parallel()
	wires := [][]string{{"--model", "recorded"}, {"--model", "anthropic:recorded", "--key-env", "RECORDED_KEY"}}
	for i, name := range []string{"chat completions", "Anthropic's messages"} {
		t.Run(name, func(t *testing.T) {
			d := newDay(t)
			s := d.screen(t, wires[i])
			d.first(s)
			d.forty(s)
			d.plans(s)
			d.delegates(s)
			s = d.crashes(t, s, wires[i])
			d.rewinds(s)
			d.leave(s)
			other := d.screen(t, wires[1-i], "--resume")
			other.see("This is answer 78.", "ask something")
			other.enter("Say 99.")
			other.see("This is answer 99.")
			d.leave(other)
		})
	}
}

// A day is the folder, the servers and the model of one person.
type day struct {
	*chat
	dir string
	url string
}

func newDay(t *testing.T) *day {
	t.Helper()
	servers := map[string][]string{}
	d := &day{}
	for _, s := range realServers(t) {
		if slices.Contains([]string{"filesystem", "memory", "git", "time", "playwright", "mysql", "commander", "thinking"}, s.name) {
			servers[s.name] = s.argv(t)
		}
		if s.name == "filesystem" {
			d.dir = servers[s.name][len(servers[s.name])-1]
		}
	}
	endpoint := httptest.NewServer(replay.HandlerFunc(d.says))
	t.Cleanup(endpoint.Close)
	d.url = endpoint.URL + "/v1"
	d.chat = newChat(t, servers, nil, "--base-url", d.url, "--theme", "mono", "--tool-budget", "-1")
	d.env = append(d.env, "RECORDED_KEY=k")
	return d
}

var doStep = regexp.MustCompile(`Do step (\d+) now`)

// says is what the model answers: the first words of the person choose it.
func (d *day) says(role, text string) replay.Turn {
	path := func(name string) string { return filepath.Join(d.dir, name) }
	begins := func(with string) bool { return strings.HasPrefix(text, with) }
	switch {
	case role == "tool":
		return replay.Turn{Text: "The tool said: " + strings.Fields(text + " nothing")[0] + "."}
	case begins("Make a plan"):
		return replay.Turn{Text: "1. Look at the file\n2. Write the report\n3. Tell me"}
	case begins("The plan for") && doStep.FindStringSubmatch(text)[1] == "2":
		return replay.Turn{Calls: callOf("write_file", object{"path": path("report.md"), "content": "# Report\n"})}
	case begins("The plan for"):
		return replay.Turn{Text: "Step " + doStep.FindStringSubmatch(text)[1] + " went well."}
	case begins("Read the greeting"):
		return replay.Turn{Calls: callOf("read_text_file", object{"path": path("hello.txt")})}
	case begins("Write the list"):
		return replay.Turn{Calls: callOf("write_file", object{"path": path("list.txt"), "content": "milk\n"})}
	case begins("Delegate"):
		return replay.Turn{Calls: callOf("task", object{"task": "Read the greeting.", "name": "reader"})}
	case begins("Wait long"):
		return replay.Turn{Calls: callOf("start_process", object{"command": "sleep 300", "timeout_ms": 300_000})}
	case begins("Say "):
		return replay.Turn{Text: "This is **answer** " + strings.TrimPrefix(text, "Say ") + " 世界 " + strings.Repeat("word ", 60)}
	}
	return replay.Turn{Text: "They said numbers, and read a greeting."} // a summary
}

func (d *day) screen(t *testing.T, wire []string, more ...string) *screen {
	t.Helper()
	return d.onScreen(t, append(slices.Clone(wire), more...)...)
}

// first goes from nothing to the first answer.
func (d *day) first(s *screen) {
	s.t.Helper()
	keys := 0
	press := func(key string) { s.press(key); keys++ }
	s.see("8 to review") // all have started: what one offers that comes later is asked about in the middle of what follows
	s.do("send-keys", "-l", "Read the greeting.")
	s.see("Read the greeting.")
	press("Enter")
	s.answer("A", "new servers: let the model use them?")
	keys++
	time.Sleep(soon)
	s.until("the answer, or what is left to approve", func(shown string) bool {
		if strings.Contains(shown, "y approve ·") {
			press("y")
			time.Sleep(soon)
		}
		return strings.Contains(words(shown), "The tool said: hello.")
	})
	s.t.Logf("%d keys to the first answer, without those of the question", keys)
	if keys > firstKeys {
		s.t.Errorf("it took %d keys, want at most %d", keys, firstKeys)
	}
}

// forty asks forty questions while the window changes its size.
func (d *day) forty(s *screen) {
	s.t.Helper()
	sizes := [][2]string{{"120", "40"}, {"40", "12"}, {"80", "24"}}
	for i := range 40 {
		size := sizes[i%len(sizes)]
		if i%8 == 3 {
			s.do("resize-window", "-x", size[0], "-y", size[1])
		}
		if i%10 == 5 {
			s.enter(fmt.Sprintf("Read the greeting. (%d)", i))
			s.see("The tool said: hello.")
			continue
		}
		s.enter(fmt.Sprintf("Say %d.", i))
		s.see(fmt.Sprintf("This is answer %d.", i))
	}
	s.do("resize-window", "-x", "80", "-y", "24")
	s.enter("Write the list.")
	s.answer("y", "may this call run?")
	s.see("The tool said: Successfully.")
	for _, text := range []string{"This is answer 0.", "This is answer 39.", "Say 20."} {
		if !strings.Contains(words(s.history()), text) {
			s.t.Errorf("%q is not in what was printed", text)
		}
	}
}

// plans has a plan made, changed and carried out.
func (d *day) plans(s *screen) {
	s.t.Helper()
	s.enter("/plan a report")
	s.see("/plan do", "Look at the file")
	s.press("Enter")
	s.answer("y", "may this call run?", "report.md")
	s.see("Step 3 went well.", "The plan is done.")
	if _, err := os.Stat(filepath.Join(d.dir, "report.md")); err != nil {
		s.t.Error(err)
	}
}

// delegates gives work to a sub-agent.
func (d *day) delegates(s *screen) {
	s.t.Helper()
	s.enter("Delegate it.")
	s.answer("y", "may this call run?", "sub-agent: reader") // what was read before is taken into account
	s.see("The tool said: The.")
}

// crashes ends the program in the middle of a call, and resumes the conversation.
func (d *day) crashes(t *testing.T, s *screen, wire []string) *screen {
	t.Helper()
	s.enter("Wait long.")
	s.answer("y", "may this call run?")
	s.see("a call is running")
	for _, pid := range descendants(t, s.pid()) {
		if program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); program == junction(t) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code := s.ended(); code != 137 {
		t.Errorf("the exit code is %d", code)
	}
	resumed := d.screen(t, wire, "--resume")
	resumed.see("Wait long.", "ask something")
	resumed.enter("Say 77.")
	resumed.see("This is answer 77.", "ask something")
	return resumed
}

// rewinds goes on from before the last question.
func (d *day) rewinds(s *screen) {
	s.t.Helper()
	s.enter("/rewind")
	s.see("continue from before which question?", "Say 77.")
	s.press("Enter")
	s.see("Went back to before")
	s.press("C-u")
	s.enter("Say 78.")
	s.see("This is answer 78.")
}

// leave ends the program. If its last run has not quite ended, it wants the keys twice.
func (d *day) leave(s *screen) {
	s.t.Helper()
	s.press("C-d")
	s.until("the program to end", func(shown string) bool {
		if strings.Contains(shown, "Press Ctrl+D again to quit") && !strings.Contains(shown, "exit code") {
			s.press("C-d")
		}
		return strings.Contains(shown, "exit code")
	})
	if code := s.ended(); code != 0 {
		s.t.Errorf("the exit code is %d", code)
	}
}
