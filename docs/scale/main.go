// Scale calculates what a number of replicas of junction up can serve, and what gives way. The model
// and its measurements are on the page docs/scale.md.
//
//	go run ./docs/scale -replicas 30 -sessions 300000 -pause 30s -core 0.5
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"
)

func main() {
	l := common(0, 0)
	flag.IntVar(&l.Replicas, "replicas", 3, "the `NUMBER` of replicas")
	flag.IntVar(&l.Sessions, "sessions", 10_000, "the `NUMBER` of sessions, each of another user")
	pause := flag.Duration("pause", 30*time.Second, "the `TIME` between two calls of a session")
	flag.Float64Var(&l.Core, "core", l.Core, "the cores of a replica")
	flag.Float64Var(&l.Streams, "streams", l.Streams, "the part of the sessions that have an open stream")
	flag.Float64Var(&l.Passed, "passed", l.Passed, "the messages for all replicas, such as a cancellation, for a call")
	flag.Parse()
	if l.Pause = pause.Seconds(); l.Replicas < 1 || l.Sessions < 0 || l.Pause <= 0 || l.Core <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(os.Stdout, l); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// write writes what a load needs, and the used part of each limit.
func write(w io.Writer, l load) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s calls/s, %.2f cores and %s MB at each replica, %s GB of audit log a day\n", grouped(l.calls()),
		measured.processors(l)/float64(l.Replicas), grouped(measured.memory(l)), grouped(l.calls()*measured.Audit*86_400/1e9))
	for _, k := range measured.limits() {
		fmt.Fprintf(t, "%.0f%%\t%s", 100*k.use(l), k.resource)
		if k.use(l) >= 1 {
			fmt.Fprint(t, ": ", k.then)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
