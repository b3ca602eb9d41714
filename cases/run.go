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

// A Target is how a server is reached.
type Target struct {
	Transport mcp.Transport
	// Kind is the transport: Stdio, HTTP or SSE.
	Kind string
	// Options are those of its client; what the cases need is added.
	Options mcp.ClientOptions
}

// Options say how files are run.
type Options struct {
	// Connect finds the way to a server; dir is the folder that a program works in, empty if that is not for the
	// file to say. It is called for each start of a server, by several goroutines if files run in parallel.
	Connect func(ctx context.Context, s Server, dir string) (*Target, error)
	// Server is tested in place of those that the files name; nil for these.
	Server *Server
	// Revisions and Transports are those that cases run at, in place of what the files say; [All] is every
	// one that the server has. Empty: the revision that is found, and the server's own transport.
	Revisions, Transports []string
	// Names, if not nil, picks the cases whose names it matches.
	Names *regexp.Regexp
	// Update writes snapshots that are missing or differ and, unless Names picks cases, removes those whose cases are gone.
	Update bool
	// Parallel is how many runs go on at the same time, of files and of one file at several revisions and over several transports;
	// default 1. Those of one file go one after the other where it is no program that is started for each, and with Update.
	Parallel int
	// OnFile hears of each file when it and all before it are done, in order.
	OnFile func(*FileReport)

	late time.Duration // how long notifications may come after a result; 0: eventTime
}

// Run runs the cases of files, each against a server of its own.
func Run(ctx context.Context, files []*File, o Options) []*FileReport {
	done := make([]chan *FileReport, len(files))
	turns := make(chan struct{}, max(1, o.Parallel))
	for i := range files {
		done[i] = make(chan *FileReport, 1)
	}
	go func() { // it ends with the last file, which is waited for below
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

// A fileRun is the work on one file.
type fileRun struct {
	file   *File
	o      *Options
	report *FileReport
	turns  chan struct{} // holds one for each run that goes on; the file itself has one
	kind   string        // the server's own transport
	starts atomic.Bool   // the server was connected to
	// settled are the snapshots that were right, or were written, with the revision at which they first were.
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

// cells runs the cases in all ways, until the server cannot be reached: at the same time, as far as there are turns for it.
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
	together := r.kind == Stdio && !r.o.Update // each has a server of its own, and none writes what another reads
	var running sync.WaitGroup
	begun := 0
	for ; begun < len(cells) && !over.Load(); begun++ {
		i := begun
		var turn chan<- struct{} // never ready where they wait for each other
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
			run(i) // in the file's own turn
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

// look finds out how the server is reached.
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

// reachable are the transports by which a server can be reached that has one of them: what speaks on standard
// input and output is served over the others here.
func reachable(kind string) []string {
	if kind == Stdio {
		return []string{Stdio, HTTP, SSE}
	}
	return []string{kind}
}

// impossible says why there is no such run.
func (r *fileRun) impossible(name, transport string) string {
	switch {
	case !slices.Contains(reachable(r.kind), transport):
		return fmt.Sprintf("the server is reached by %s", r.kind)
	case transport == SSE && slices.Contains(revision.Modern(), name):
		return name + " has no HTTP+SSE"
	}
	return ""
}

// cell runs the cases over one transport at one revision. The error says that the server cannot be reached at all.
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
		if other := r.reached(ctx); other != nil {
			return other
		}
		if _, refuses := errors.AsType[*mcp.RevisionError](err); refuses && ofAll {
			cell.Skipped = "the server does not speak " + cell.Revision
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

// reached says why the server cannot be connected to at whatever revision.
func (r *fileRun) reached(ctx context.Context) error {
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

// place names a step in what is wrong with it.
func place(t *testCase, i int) string {
	if len(t.steps) == 1 {
		return fmt.Sprintf("%s: ", t.steps[i].title)
	}
	return fmt.Sprintf("step %d, line %d, %s: ", i+1, t.steps[i].line, t.steps[i].title)
}
