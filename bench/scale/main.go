// Command scale measures how the throughput of junction up grows with its replicas, and what a call
// and a session cost. It needs Linux. It starts replicas of a junction binary on loopback, with the
// program of ../server behind them, and calls a tool. Each call of a client goes to another replica
// than its last one. All deployments run side by side and are measured in turns, and the printed
// figures are medians of the rounds.
//
//	go build -o /tmp/server ./server && go build -o /tmp/junction ..
//	go run ./scale -junction /tmp/junction -server /tmp/server [-replicas 1,2,4] [-core 0.1] [-memory] [-state URL] [-sessions 64] [-for 3s] [-rounds 7]
//	go run ./scale -junction /tmp/junction -server /tmp/server -idle 100000
//
// With -core, each replica may use this part of a core, by a group of cgroups, which only root can
// make. Load and server need the rest. The columns are
//
//	calls/s     of all replicas
//	busy        the used part of -core; with little of it, load, server or machine are the limit
//	µs/call     CPU of all replicas for a call
//	of linear   throughput divided by that of one replica times their number
//	of first    CPU for a call, divided by that of the first row of the same clients, in the same round
//	store/call  commands of the store for a call, if it is a Valkey, without those of idle replicas
//
// With -quiet, it prints the commands of the store for each number of replicas while nothing calls.
// With -idle, it opens so many legacy sessions at one replica, uses each once, and prints how much
// memory they take. All connections are closed before, except those of -streams.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// options are the flags.
type options struct {
	junctions []string
	server    string
	replicas  []int
	core      float64
	memory    bool
	state     string
	sessions  int
	slice     time.Duration
	rounds    int
	idle      int
	quiet     time.Duration
	streams   bool
	settings  string
	eras      []string
}

func main() {
	log.SetFlags(0)
	var o options
	junctions := flag.String("junction", "junction", "measure these `BINARIES`, with commas")
	counts := flag.String("replicas", "1,2,4", "measure deployments of these `NUMBERS` of replicas")
	eras := flag.String("eras", "legacy,modern", "measure calls of clients of these `ERAS`; cancel: notifications that each replica passes on to all others")
	flag.StringVar(&o.server, "server", "server", "the `BINARY` of ../server")
	flag.Float64Var(&o.core, "core", 0, "the part of a core that each replica may use; 0 for no limit")
	flag.BoolVar(&o.memory, "memory", false, "measure one replica that keeps its sessions in memory, too")
	flag.StringVar(&o.state, "state", "", "the `URL` of a store of the replicas")
	flag.IntVar(&o.sessions, "sessions", 64, "the number of legacy sessions that are used in turn")
	flag.DurationVar(&o.slice, "for", 3*time.Second, "the time of one measurement")
	flag.IntVar(&o.rounds, "rounds", 7, "the number of measurements of each deployment")
	flag.IntVar(&o.idle, "idle", 0, "measure the memory of so many idle sessions instead")
	flag.BoolVar(&o.streams, "streams", false, "with -idle, open a stream of notifications in each session")
	flag.StringVar(&o.settings, "settings", "{}", "further settings of the replicas, as `JSON`")
	flag.DurationVar(&o.quiet, "quiet", 0, "count the commands of the store in this `TIME` without calls instead")
	flag.Parse()
	o.junctions, o.eras = strings.Split(*junctions, ","), strings.Split(*eras, ",")
	for text := range strings.SplitSeq(*counts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			log.Fatalf("-replicas %q: expected numbers from 1 to 100", *counts)
		}
		o.replicas = append(o.replicas, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	if err := run(ctx, &o); err != nil {
		log.Fatal(err)
	}
}

// run starts the deployments, measures them, and ends them.
func run(ctx context.Context, o *options) (err error) {
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	for _, binary := range o.junctions {
		switch {
		case o.idle > 0:
			if err := w.measureIdle(ctx, binary); err != nil {
				return err
			}
			continue
		case o.quiet > 0:
			if err := w.measureQuiet(ctx, binary); err != nil {
				return err
			}
			continue
		}
		if o.memory {
			if _, err := w.deploy(ctx, binary, 1, false); err != nil {
				return err
			}
		}
		for _, n := range o.replicas {
			if _, err := w.deploy(ctx, binary, n, true); err != nil {
				return err
			}
		}
	}
	if len(w.deployments) == 0 || o.idle > 0 || o.quiet > 0 {
		return nil
	}
	var rows []*row
	for _, era := range o.eras {
		for _, d := range w.deployments {
			rows = append(rows, &row{deployment: d, era: era})
		}
	}
	for round := -1; round < o.rounds; round++ { // the first one warms up
		for i := range rows {
			r := rows[(i+max(round, 0))%len(rows)]
			m, err := w.measure(ctx, r.deployment, r.era)
			if err != nil {
				return fmt.Errorf("%s of %s: %w", r.era, r.deployment.name, err)
			}
			if round >= 0 {
				r.all = append(r.all, m)
			}
		}
	}
	return report(rows, o.core)
}

// A row has the measurements of a deployment with the clients of one era, in the order of the
// rounds.
type row struct {
	deployment *deployment
	era        string
	all        []measurement
}

// median returns the median of a figure of each round.
func (r *row) median(of func(round int) float64) float64 {
	var values []float64
	for i := range r.all {
		values = append(values, of(i))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// report prints the table of replicas that may use a part of a core, or all if it is 0.
func report(rows []*row, core float64) error {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "clients\tdeployment\treplicas\tcalls/s\tbusy\tµs/call\tof linear\tof first\tstore/call\t")
	for _, r := range rows {
		same := func(s *row) bool { return s.era == r.era }
		first := rows[slices.IndexFunc(rows, same)]
		one := rows[slices.IndexFunc(rows, func(s *row) bool {
			return same(s) && s.deployment.kind == r.deployment.kind
		})]
		fmt.Fprintf(t, "%s\t%s\t%d\t%.0f\t%.2f\t%.1f\t%.3f\t%.3f\t%.4f\t\n", r.era, r.deployment.name, len(r.deployment.replicas),
			r.median(func(i int) float64 { return r.all[i].rate() }),
			r.median(func(i int) float64 {
				return r.all[i].cpu.Seconds() / r.all[i].wall.Seconds() / float64(len(r.deployment.replicas)) / cmp.Or(core, 1)
			}),
			r.median(func(i int) float64 { return r.all[i].cost() }),
			r.median(func(i int) float64 {
				return r.all[i].rate() * float64(len(one.deployment.replicas)) / float64(len(r.deployment.replicas)) / one.all[i].rate()
			}),
			r.median(func(i int) float64 { return r.all[i].cost() / first.all[i].cost() }),
			r.median(func(i int) float64 { return r.all[i].store }))
	}
	return t.Flush()
}
