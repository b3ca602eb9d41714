package launch

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

const (
	// DefaultStart is the time limit for the start of a server whose entry has no startTimeout.
	DefaultStart = 2 * time.Minute
	// BriefStart is how long commands that ask many servers wait for one whose start shows no work.
	BriefStart = 20 * time.Second
	// maxStart is the time limit for the start of a package runner that keeps working.
	maxStart = 10 * time.Minute
	// maxSaid is the largest number of characters shown of a line of standard error.
	maxSaid = 200
	// lookTime is the interval between two checks of a start.
	lookTime = 2 * time.Second
	// restTime is how long a start must be without work to count as waiting.
	restTime = 15 * time.Second
	// leastWork is the processor time between two checks that counts as work.
	leastWork = 20 * time.Millisecond

	// MaxStartLines is the largest number of lines of standard error that a StartWatch keeps.
	MaxStartLines = 40
)

// A StartWatch observes the start of one program and ends the start if it takes too long.
type StartWatch struct {
	Start  Starter
	Runner string // description of a package runner's work, such as "npx installs x"; empty for other programs
	Limit  time.Duration
	Brief  time.Duration // after it, a start that shows no work ends; 0 means Limit

	mu      sync.Mutex
	program *command.Program // nil until the program has started
	Said    []string         // last lines of standard error
	skipped string           // last line of standard output that is not a message
	lines   int
	worked  time.Time // time of the last check that found work
}

// A Starter gets the state of a start. Note gets a description of the current work. Yield means
// that other starts need not wait for this one.
type Starter interface {
	Note(text string)
	Yield()
}

// unwatched is a Starter that ignores the state.
type unwatched struct{}

func (unwatched) Note(string) {}
func (unwatched) Yield()      {}

// Dial connects to a server. limit is the time that a program may take to start, or [DefaultStart]
// if it is 0. A package runner may take longer while it works. known reports that the server was
// started before, and therefore has nothing to install.
func Dial(ctx context.Context, t mcp.Transport, o mcp.ClientOptions, start Starter, limit time.Duration, known bool) (*mcp.Client, error) {
	return dial(ctx, t, o, start, limit, 0, known)
}

// DialBriefly connects as Dial does, for a command that asks many servers. Without a limit, it waits
// only [BriefStart] for a server that shows no work. start may be nil.
func DialBriefly(ctx context.Context, t mcp.Transport, o mcp.ClientOptions, start Starter, limit time.Duration) (*mcp.Client, error) {
	brief := BriefStart
	if limit > 0 {
		brief = 0
	}
	if start == nil {
		start = unwatched{}
	}
	return dial(ctx, t, o, start, limit, brief, false)
}

func dial(ctx context.Context, t mcp.Transport, o mcp.ClientOptions, start Starter, limit, brief time.Duration, known bool) (*mcp.Client, error) {
	c, ok := t.(*command.Command)
	if !ok {
		if limit = cmp.Or(limit, brief); limit > 0 {
			o.ConnectTimeout = limit
		}
		return mcp.DialWith(ctx, t, o)
	}
	w := &StartWatch{Start: start, Limit: StartLimit(limit), Brief: brief, Runner: runner.Work(c.Name, c.Args, known)}
	c.Started = func(p command.Program) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.program = &p
	}
	c.Stderr, c.Skipped = w.OnStderr(c.Stderr), w.OnSkipped(c.Skipped)
	o.ConnectTimeout = max(maxStart, w.Limit) + time.Minute // not reached: Watch ends the start earlier
	o.Starting = w.Installs
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.Watch(ctx, cancel, w.Progress)
	}()
	client, err := mcp.DialWith(ctx, c, o)
	cancel(nil)
	<-watched
	return client, err
}

// StartLimit returns own, the startTimeout of an entry, or [DefaultStart] if own is 0.
func StartLimit(own time.Duration) time.Duration { return cmp.Or(own, DefaultStart) }

// Installs reports whether the program is a package runner that worked at one of the last two
// checks.
func (w *StartWatch) Installs() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Runner != "" && time.Since(w.worked) <= 2*lookTime
}

// OnStderr returns a function that stores lines of standard error and passes them to next, which
// may be nil.
func (w *StartWatch) OnStderr(next func(string)) func(string) {
	return func(line string) {
		w.mu.Lock()
		w.lines++
		if strings.TrimSpace(line) != "" {
			w.Said = append(w.Said, plaintext.Line(line, maxSaid))
			w.Said = w.Said[max(0, len(w.Said)-MaxStartLines):]
		}
		w.mu.Unlock()
		if next != nil {
			next(line)
		}
	}
}

// OnSkipped returns a function that stores the last line of standard output that is not a message.
// It passes each such line to next, which may be nil.
func (w *StartWatch) OnSkipped(next func(string)) func(string) {
	return func(line string) {
		w.mu.Lock()
		w.skipped = line
		w.mu.Unlock()
		if next != nil {
			next(line)
		}
	}
}

// Progress returns the processor time that the program used, the number of lines that it wrote, and
// a clause that quotes its last line.
func (w *StartWatch) Progress() (used time.Duration, lines int, said string) {
	w.mu.Lock()
	p := w.program
	lines, said = w.lines, why.Line(w.Said)
	switch {
	case w.skipped != "":
		said = "its standard output has text that is not a message: " + w.skipped
	case said != "":
		said = "its standard error ends with: " + plaintext.Line(said, maxSaid)
	}
	w.mu.Unlock()
	if p != nil {
		used, _ = p.CPUTime()
	}
	return used, lines, said
}

// Watch checks the start until ctx is done, with seen for the program's progress. It calls end if
// the start takes too long.
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
			w.Start.Note("it shows no progress")
		case w.Runner != "":
			w.Start.Note(w.Runner)
		}
		took := time.Since(began)
		if w.Brief > 0 && took >= w.Brief && resting {
			end(startTimeoutError(took, said, `"startTimeout" in its entry, or --timeout, allows more time`))
			return
		}
		if took >= w.Limit && (w.Runner == "" || resting || took >= max(maxStart, w.Limit)) {
			end(StartTimeoutError(took, said))
			return
		}
	}
}

// errSlowStart is the cause of a start that ends because it takes too long.
var errSlowStart error = slowStart{}

// A slowStart is an error that [errors.Is] matches with [context.DeadlineExceeded]. It gives
// commands the exit code of a timeout.
type slowStart struct{}

// Error implements [error].
func (slowStart) Error() string { return "no handshake within" }

// Is reports whether target is [context.DeadlineExceeded], for [errors.Is].
func (slowStart) Is(target error) bool { return target == context.DeadlineExceeded }

// StartTimeoutError returns the error of a start that took too long. said quotes the program's last
// line; gateways do not show it to clients.
func StartTimeoutError(took time.Duration, said string) error {
	return startTimeoutError(took, said, `"startTimeout" in its entry allows more time`)
}

func startTimeoutError(took time.Duration, said, remedy string) error {
	const format = `%w %v%s; %s`
	if said == "" {
		return fmt.Errorf(format, errSlowStart, took.Round(time.Second), "", remedy)
	}
	return &mcp.PrivateError{Err: fmt.Errorf(format, errSlowStart, took.Round(time.Second), "; "+said, remedy), Private: said, Public: "the operator's log has more"}
}
