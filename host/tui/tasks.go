package tui

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// maxByItself is how often the model goes on with what came of tasks before the person asks something again: a server
// could keep it going.
const maxByItself = 8

// watchTasks waits for the tasks of the conversation that is shown now, and of no other.
func (s *screen) watchTasks() {
	if s.unwatch != nil {
		s.unwatch()
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.unwatch, s.came = cancel, 0
	s.ui.work.Go(func() { s.session.Talk().WatchTasks(ctx) })
}

// tasks lists the calls that run as tasks, or does something with one of them.
func (s *screen) tasks(argument string) {
	verb, number, _ := strings.Cut(argument, " ")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case argument == "":
		s.panel = tasksPanel()
	case (verb != "cancel" && verb != "leave") || err != nil:
		s.hint = "expected /tasks, /tasks cancel NUMBER or /tasks leave NUMBER"
	default:
		s.toTask(verb, n)
	}
}

func (s *screen) toTask(verb string, n int) {
	s.change(func(ctx context.Context) (string, error) {
		if verb == "leave" {
			return fmt.Sprintf("the model goes on without task %d, and learns what comes of it", n), s.session.Talk().LeaveTask(n)
		}
		return fmt.Sprintf("the server is asked to cancel task %d", n), s.session.Talk().CancelTask(ctx, n)
	})
}

func tasksPanel() *roster {
	r := &roster{title: "tasks", none: "no call runs as a task", keys: []string{"c cancel", "l leave"}}
	r.rows = func(s *screen, width int) (rows [][]ink.Line) {
		for _, t := range s.session.Talk().Tasks() {
			rows = append(rows, taskLines(&t, s.now(), width))
		}
		return rows
	}
	var last time.Time
	r.act = func(s *screen, key string, at int) {
		verb := map[string]string{"c": "cancel", "l": "leave"}[key]
		all := s.session.Talk().Tasks()
		if verb == "" || at >= len(all) {
			return
		}
		held := s.now().Sub(last) < quietTime // or pressed once too often: the next row is another one
		if last = s.now(); !held {
			s.toTask(verb, all[at].Number)
		}
	}
	return r
}

// taskLines are a task's server, tool and status, since when it runs, and what it says of itself.
func taskLines(t *host.Task, now time.Time, width int) []ink.Line {
	line := ink.Line{ink.T(ink.Muted, "task "+strconv.Itoa(t.Number)+" "), ink.T(ink.Plain, toolName(oneLine(t.Server, 60), oneLine(t.Tool, 80)), ink.Bold)}
	status := strings.ReplaceAll(oneLine(t.Status, 40), "_", " ")
	if t.Agent != "" {
		status = "of sub-agent " + oneLine(t.Agent, 30) + ", " + status
	}
	since := t.Began.Format("15:04")
	if now.Sub(t.Began) > 12*time.Hour {
		since = t.Began.Format("2 Jan 15:04")
	}
	lasts := now.Sub(t.Began)
	took := seconds(lasts)
	if lasts >= time.Hour {
		took = fmt.Sprintf("%d h %d min", int(lasts.Hours()), int(lasts.Minutes())%60)
	}
	status += ", since " + since + " (" + took + ")"
	if !t.Left {
		status += ", a call waits for it"
	}
	lines := ink.Wrap(append(line, ink.T(ink.Muted, "  "+status)), width)
	if t.Message != "" {
		lines = append(lines, ink.Line{ink.T(ink.Plain, "  "+oneLine(t.Message, 200))}.Cut(width))
	}
	return lines
}

// taskReturned shows what came of a task that no call waited for, and has the model go on with it.
func (s *screen) taskReturned(r *host.Returned) {
	if s.run != nil {
		s.endText()
	}
	c := &call{Called: host.Called{CallID: r.CallID, Server: r.Server, Tool: r.Tool}, result: r, took: r.Duration}
	s.remember(c)
	s.print(append([]ink.Line{{ink.T(ink.Muted, fmt.Sprintf("task %d is over:", r.Task))}}, c.folded(s)...)...)
	for _, m := range r.Media {
		s.media(c, m)
	}
	s.came = r.Task
	s.alert("has what came of a task")
	s.goOnWithTask()
}

// goOnWithTask has the model go on with what came of a task, once there is nothing else to do.
func (s *screen) goOnWithTask() {
	if s.came == 0 || s.run != nil || s.quitting || len(s.waiting.texts) > 0 {
		return
	}
	if s.byItself >= maxByItself {
		s.say(ink.Muted, fmt.Sprintf("Task %d is over. The model went on by itself %d times since you asked something: ask it to go on.", s.came, s.byItself))
		s.came = 0
		return
	}
	s.byItself++
	said := fmt.Sprintf("Task %d is over; the model goes on with it.", s.came)
	s.say(ink.Muted, said)
	s.ask(host.Question{Text: "Go on with what came of the task: read it, and finish what was asked for.", Shown: said, Relayed: true})
}

// replayTask shows what happened to a task before.
func (s *screen) replayTask(t *host.TaskEntry) {
	switch {
	case t.Began != nil:
		for _, c := range s.past {
			if c.CallID == t.Began.CallID {
				c.task = t.Number
			}
		}
	case t.Came != nil:
		text := fmt.Sprintf("task %d is over", t.Number)
		if t.Came.Kept != nil {
			text += ": " + oneLine(t.Came.Kept.Text, 200)
		}
		s.say(ink.Muted, text)
	}
}
