package reach

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

const (
	// DefaultStart is how long a server may take to start, unless its entry says.
	DefaultStart = 2 * time.Minute
	// maxStart is how long one may take that a package runner is visibly working on.
	maxStart = 10 * time.Minute
	// lookTime is how often a start is looked at.
	lookTime = 2 * time.Second
	// restTime is how long a start must have shown no work to be taken for one that
	// only waits.
	restTime = 15 * time.Second
	// leastWork is the processor time within lookTime that counts as work.
	leastWork = 20 * time.Millisecond

	// LinesKept is how many lines of it are looked at.
	LinesKept = 40
)

// A StartWatch follows one start of a program: whether it works, and for how long
// it may.
type StartWatch struct {
	Start  starter
	Runner string // what a package runner does, such as "npx installs x"; empty for other programs
	Limit  time.Duration

	mu      sync.Mutex
	program *command.Program // nil until it was started
	Said    []string         // the last lines of its standard error
	skipped string           // the last line of its standard output that was no message
	lines   int
	worked  time.Time // when it was last seen to work
}

// A starter hears how a start goes: what it is doing, and that others need not wait
// for it.
type starter interface {
	Note(text string)
	Yield()
}

// DialWatched connects to a server. A program is given limit to start, or two
// minutes; a package runner longer while it visibly works. known says that the
// server was started before: nothing is installed any more.
func DialWatched(ctx context.Context, t mcp.Transport, o mcp.ClientOptions, start starter, limit time.Duration, known bool) (*mcp.Client, error) {
	c, ok := t.(*command.Command)
	if !ok {
		if limit > 0 {
			o.ConnectTimeout = limit
		}
		return mcp.DialWith(ctx, t, o)
	}
	w := &StartWatch{Start: start, Limit: StartLimit(limit), Runner: runner.Work(c.Name, c.Args, known)}
	c.Started = func(p command.Program) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.program = &p
	}
	c.Stderr, c.Skipped = w.Listen(c.Stderr), w.Skip(c.Skipped)
	o.ConnectTimeout = max(maxStart, w.Limit) + time.Minute // watch ends it before
	o.Starting = w.Installs
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.Watch(ctx, cancel, w.Seen)
	}()
	client, err := mcp.DialWith(ctx, c, o)
	cancel(nil)
	<-watched
	return client, err
}

// StartLimit is how long a server may take to start: what its entry says, or else the usual time.
func StartLimit(own time.Duration) time.Duration {
	if own > 0 {
		return own
	}
	return DefaultStart
}

// Installs reports whether a package runner was seen to work at one of the last two
// looks.
func (w *StartWatch) Installs() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Runner != "" && time.Since(w.worked) <= 2*lookTime
}

// Listen notes what the program writes to its standard error, and passes it on.
func (w *StartWatch) Listen(next func(string)) func(string) {
	return func(line string) {
		w.mu.Lock()
		w.lines++
		if strings.TrimSpace(line) != "" {
			w.Said = append(w.Said, plaintext.Line(line, cli.MaxSaid))
			w.Said = w.Said[max(0, len(w.Said)-LinesKept):]
		}
		w.mu.Unlock()
		if next != nil {
			next(line)
		}
	}
}

// Skip notes a line of standard output that is no message, and passes it on.
func (w *StartWatch) Skip(next func(string)) func(string) {
	return func(line string) {
		w.mu.Lock()
		w.skipped = line
		w.mu.Unlock()
		if next != nil {
			next(line)
		}
	}
}

// Seen returns what the program has done so far, and what it wrote, as a part of a sentence.
func (w *StartWatch) Seen() (used time.Duration, lines int, said string) {
	w.mu.Lock()
	p := w.program
	lines, said = w.lines, why.Line(w.Said)
	switch {
	case w.skipped != "":
		said = "its standard output has what is no message: " + w.skipped
	case said != "":
		said = "its standard error ends with: " + plaintext.Line(said, cli.MaxSaid)
	}
	w.mu.Unlock()
	if p != nil {
		used, _ = p.CPUTime()
	}
	return used, lines, said
}

// Watch looks at the start until ctx is done, and ends it when it takes too long.
func (w *StartWatch) Watch(ctx context.Context, end context.CancelCauseFunc, seen func() (used time.Duration, lines int, said string)) {
	ticker := time.NewTicker(lookTime)
	defer ticker.Stop()
	began := time.Now()
	worked, before, linesBefore := began, time.Duration(0), 0
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		used, lines, said := seen()
		if used-before >= leastWork || used < before || lines > linesBefore {
			worked = time.Now()
			w.mu.Lock()
			w.worked = worked
			w.mu.Unlock()
		}
		before, linesBefore = used, lines
		resting := time.Since(worked) >= restTime
		if resting {
			w.Start.Yield()
		}
		switch {
		case w.Runner != "" && resting:
			w.Start.Note("it shows no work")
		case w.Runner != "":
			w.Start.Note(w.Runner)
		}
		took := time.Since(began)
		if took >= w.Limit && (w.Runner == "" || resting || took >= max(maxStart, w.Limit)) {
			end(TooLong(took, said))
			return
		}
	}
}

// errSlowStart is why a start ends that takes too long.
var errSlowStart error = slowStart{}

// A slowStart is an end of a time, as [context.DeadlineExceeded] is: commands have the exit code of that.
type slowStart struct{}

func (slowStart) Error() string { return "no handshake within" }

// Is implements the interface of [errors.Is].
func (slowStart) Is(target error) bool { return target == context.DeadlineExceeded }

func TooLong(took time.Duration, said string) error {
	const format = `%w %v%s; "startTimeout" in its entry gives it longer`
	if said == "" {
		return fmt.Errorf(format, errSlowStart, took.Round(time.Second), "")
	}
	return &mcp.PrivateError{Err: fmt.Errorf(format, errSlowStart, took.Round(time.Second), "; "+said), Private: said, Public: "the log of whoever runs it says more"}
}
