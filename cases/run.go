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

// A Target is the transport to a server.
type Target struct {
	Transport mcp.Transport
	// Kind is the kind of transport: Stdio, HTTP or SSE.
	Kind string
	// Options configures the client; Run adds the settings for the cases.
	Options mcp.ClientOptions
}

// Options configure a run.
type Options struct {
	// Connect resolves a server. dir is the working folder of a program; empty means that the file
	// does not set it. Connect is called for each start of a server, by several goroutines if files
	// run in parallel.
	Connect func(ctx context.Context, s Server, dir string) (*Target, error)
	// Server replaces the servers of the files; nil keeps those.
	Server *Server
	// Revisions and Transports override those of the files; [All] means all that the server
	// supports. Empty lists mean the negotiated revision, and the server's own transport.
	Revisions, Transports []string
	// Names, if not nil, selects the cases with matching names.
	Names *regexp.Regexp
	// Update writes missing and differing snapshots. Unless Names is set, it also removes those of
	// deleted cases.
	Update bool
	// Parallel is the number of concurrent runs, of files and of one file at several revisions and
	// over several transports; default 1. The runs of one file are sequential with Update, and
	// unless the server is a program that is started for each.
	Parallel int
	// OnFile is called for each file, in order, when that file and all files before it are done.
	OnFile func(*FileReport)

	late time.Duration // how long after a result notifications may arrive; 0 means eventTime
}

// Run runs the cases of files, each file against a separate server.
func Run(ctx context.Context, files []*File, o Options) []*FileReport {
	done := make([]chan *FileReport, len(files))
	turns := make(chan struct{}, max(1, o.Parallel))
	for i := range files {
		done[i] = make(chan *FileReport, 1)
	}
	go func() { // ends with the last file, which the loop below waits for
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

// A fileRun runs one file.
type fileRun struct {
	file   *File
	o      *Options
	report *FileReport
	turns  chan struct{} // holds one element for each concurrent run; the file itself has one
	kind   string        // the server's own transport
	starts atomic.Bool   // whether a connection to the server succeeded
	// settled holds the first revision at which each snapshot was equal or written, by name.
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

// cells runs the cases in all cells, concurrently if turns are free, until the server cannot be
// reached.
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
	together := r.kind == Stdio && !r.o.Update // each run has a separate server, and none writes a file that another reads
	var running sync.WaitGroup
	begun := 0
	for ; begun < len(cells) && !over.Load(); begun++ {
		i := begun
		var turn chan<- struct{} // nil, which is never ready, for sequential runs
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
			run(i) // uses the file's own turn
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

// look determines the transport of the server.
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

// reachable returns the transports for a server with one of them: a program on standard input and
// output is also served over the others.
func reachable(kind string) []string {
	if kind == Stdio {
		return []string{Stdio, HTTP, SSE}
	}
	return []string{kind}
}

// impossible returns the reason that a cell cannot run, or "".
func (r *fileRun) impossible(name, transport string) string {
	switch {
	case !slices.Contains(reachable(r.kind), transport):
		return fmt.Sprintf("the server is reached by %s", r.kind)
	case transport == SSE && slices.Contains(revision.Modern(), name):
		return name + " has no HTTP+SSE"
	}
	return ""
}

// cell runs the cases over one transport at one revision. It returns an error if the server cannot
// be reached at all.
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

// reached returns an error if the server cannot be reached at any revision.
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

// place returns the prefix of a step's failures.
func place(t *testCase, i int) string {
	if len(t.steps) == 1 {
		return fmt.Sprintf("%s: ", t.steps[i].title)
	}
	return fmt.Sprintf("step %d, line %d, %s: ", i+1, t.steps[i].line, t.steps[i].title)
}
