package cases

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// A Target is a server to test and the transport to it.
type Target struct {
	Transport mcp.Transport
	// Kind is Stdio, HTTP or SSE.
	Kind string
	// Options configures the client. Run adds the options that the cases need.
	Options mcp.ClientOptions
}

// Options configure a run.
type Options struct {
	// Connect returns the target for a server. dir is the working folder of a program; empty means
	// that the file does not determine it. Connect is called for each start of a server. If runs
	// are concurrent, several goroutines call it.
	Connect func(ctx context.Context, s Server, dir string) (*Target, error)
	// Server replaces the servers of all files. If it is nil, each file's own server is tested.
	Server *Server
	// Revisions and Transports replace those of the files. [All] selects all that the server
	// supports. Empty lists select the negotiated revision and the server's own transport.
	Revisions, Transports []string
	// Names selects the cases whose names match. Nil selects all cases.
	Names *regexp.Regexp
	// Update writes missing and differing snapshots. Unless Names is set, it also removes the
	// snapshots of cases that no longer exist.
	Update bool
	// Parallel is the largest number of concurrent runs; the default is 1. Each file counts, and so
	// does each further cell of a file. The cells of a file run one after another with Update, and
	// if they share one server because it is not a program.
	Parallel int
	// OnFile is called for each file, in order, when that file and all files before it are done.
	OnFile func(*FileReport)

	late time.Duration // longest wait for messages after a result; 0 means eventTime
}

// Run runs the cases of files. Each file has its own server.
func Run(ctx context.Context, files []*File, o Options) []*FileReport {
	done := make([]chan *FileReport, len(files))
	turns := make(chan struct{}, max(1, o.Parallel))
	for i := range files {
		done[i] = make(chan *FileReport, 1)
	}
	go func() { // ends with the last file; the loop below waits for it
		for i, f := range files {
			turns <- struct{}{}
			go func() {
				defer func() { <-turns }()
				r := &fileRun{file: f, o: &o, turns: turns, report: &FileReport{Path: f.Path}, settled: map[string]string{}}
				r.run(ctx)
				if o.Update && o.Names == nil && r.report.Err == nil && ctx.Err() == nil {
					r.report.Err = r.removeOrphans()
				}
				done[i] <- r.report
			}()
		}
	}()
	reports := make([]*FileReport, len(files))
	for i := range files {
		reports[i] = <-done[i]
		if o.OnFile != nil {
			o.OnFile(reports[i])
		}
	}
	return reports
}

// A fileRun runs the cases of one file.
type fileRun struct {
	file   *File
	o      *Options
	report *FileReport
	turns  chan struct{} // holds one element for each concurrent run; one of them is for the file itself
	kind   string        // kind of the server's own transport
	starts atomic.Bool   // whether any connection to the server has succeeded
	// settled holds a revision for each name of a snapshot. It is the first revision whose result
	// was equal to the snapshot, or was written to it.
	settled map[string]string
}

func (r *fileRun) run(ctx context.Context) {
	revisions, transports := r.file.revisions, r.file.transports
	if len(r.o.Revisions) > 0 {
		revisions = r.o.Revisions
	}
	if len(r.o.Transports) > 0 {
		transports = r.o.Transports
	}
	ofAll := slices.Contains(revisions, All)
	switch {
	case ofAll:
		revisions = append(revision.Modern(), revision.Legacy()...)
	case len(revisions) == 0:
		revisions = []string{""}
	}
	if r.report.Err = r.look(ctx); r.report.Err != nil {
		return
	}
	if slices.Contains(transports, All) {
		transports = reachable(r.kind)
	} else if len(transports) == 0 {
		transports = []string{r.kind}
	}
	var cells []Cell
	for _, name := range revisions {
		for _, transport := range transports {
			cells = append(cells, Cell{Revision: name, Transport: transport, Skipped: r.impossible(name, transport)})
		}
	}
	r.cells(ctx, cells, ofAll)
}

// cells runs the cases in all cells. It runs them concurrently if turns are free, and stops when
// the server cannot be reached.
func (r *fileRun) cells(ctx context.Context, cells []Cell, ofAll bool) {
	failed := make([]error, len(cells))
	var over atomic.Bool
	run := func(i int) {
		if cells[i].Skipped == "" {
			failed[i] = r.cell(ctx, &cells[i], ofAll)
		}
		if failed[i] != nil || ctx.Err() != nil {
			over.Store(true)
		}
	}
	together := r.kind == Stdio && !r.o.Update // each run has its own server, and no run writes a snapshot that another reads
	var running sync.WaitGroup
	begun := 0
	for ; begun < len(cells) && !over.Load(); begun++ {
		i := begun
		var turn chan<- struct{} // nil for sequential runs; sending to nil is never ready
		if together && i+1 < len(cells) {
			turn = r.turns
		}
		select {
		case turn <- struct{}{}:
			running.Go(func() {
				defer func() { <-r.turns }()
				run(i)
			})
		default:
			run(i) // uses the turn of the file itself
		}
	}
	running.Wait()
	for i, err := range failed[:begun] {
		if r.report.Cells = append(r.report.Cells, cells[i]); err != nil {
			r.report.Err = err
			return
		}
	}
}

// look determines the kind of the server's own transport.
func (r *fileRun) look(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c := &connection{run: r}
	defer c.close()
	t, err := c.target(ctx)
	if err == nil {
		r.kind = t.Kind
	}
	return err
}

// reachable returns the kinds of transports that can reach a server in a test. A program on
// standard input and output can also be served over the other transports.
func reachable(kind string) []string {
	if kind == Stdio {
		return []string{Stdio, HTTP, SSE}
	}
	return []string{kind}
}

// impossible returns the reason why a cell cannot run, or "".
func (r *fileRun) impossible(name, transport string) string {
	switch {
	case !slices.Contains(reachable(r.kind), transport):
		return fmt.Sprintf("the server is reached by %s", r.kind)
	case transport == SSE && slices.Contains(revision.Modern(), name):
		return name + " has no HTTP+SSE"
	}
	return ""
}

// cell runs the cases at one revision and over one transport. It returns an error if the server
// cannot be reached at all.
func (r *fileRun) cell(ctx context.Context, cell *Cell, ofAll bool) error {
	c := &connection{run: r, revision: cell.Revision, transport: cell.Transport}
	defer c.close()
	if err := c.open(ctx); err != nil {
		switch {
		case ctx.Err() != nil:
			return err
		case cell.Revision == "":
			return err
		}
		if other := r.checkReachable(ctx); other != nil {
			return other
		}
		if _, refuses := errors.AsType[*mcp.RevisionError](err); refuses && ofAll {
			cell.Skipped = "the server does not support " + cell.Revision
			return nil
		}
		cell.Cases = []CaseReport{{Name: "connect", Failures: []string{err.Error()}}}
		return nil
	}
	r.starts.Store(true)
	cell.Revision = c.client.Revision()
	for _, t := range r.file.cases {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r.o.Names != nil && !r.o.Names.MatchString(t.name) {
			continue
		}
		cell.Cases = append(cell.Cases, r.testCase(ctx, c, cell, t))
	}
	return nil
}

// checkReachable returns an error if the server cannot be reached at any revision.
func (r *fileRun) checkReachable(ctx context.Context) error {
	if r.starts.Load() {
		return nil
	}
	c := &connection{run: r, transport: r.kind}
	defer c.close()
	err := c.open(ctx)
	if err == nil {
		r.starts.Store(true)
	}
	return err
}

func (r *fileRun) testCase(ctx context.Context, c *connection, cell *Cell, t *testCase) (report CaseReport) {
	report = CaseReport{Name: t.name, Line: t.line}
	without := func(has []string, what string) bool {
		return len(has) > 0 && !slices.Contains(has, what) && !slices.Contains(has, All)
	}
	if without(t.revisions, cell.Revision) || without(t.transports, cell.Transport) {
		report.Skipped = "not for " + cell.String()
		return report
	}
	began := time.Now()
	defer func() { report.Took = time.Since(began) }()
	if c.used && !r.file.perCase {
		c.settle(ctx, t)
	}
	if c.used && r.file.perCase || c.lost() {
		c.close()
		if err := c.open(ctx); err != nil {
			report.Failures = []string{"no connection: " + err.Error()}
			return report
		}
	}
	c.begin(t)
	for i, s := range t.steps {
		faults := c.step(ctx, t, s)
		if len(faults) > 0 {
			for _, fault := range faults {
				report.Failures = append(report.Failures, place(t, i)+fault)
			}
			return report
		}
	}
	report.Failures = c.unused()
	return report
}

// place returns the beginning of a failure, which identifies the step.
func place(t *testCase, i int) string {
	if len(t.steps) == 1 {
		return fmt.Sprintf("%s: ", t.steps[i].title)
	}
	return fmt.Sprintf("step %d, line %d, %s: ", i+1, t.steps[i].line, t.steps[i].title)
}
