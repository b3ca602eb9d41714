package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// measureIdle opens the sessions at one replica of each kind, uses each once, and prints by how much
// the memory of the replica has grown.
func (w *world) measureIdle(ctx context.Context, binary string) error {
	w.environment = []string{"GOGC=5"} // so that the heap contains little garbage
	for _, sealed := range []bool{true, false} {
		if !sealed && !w.memory {
			continue
		}
		d, err := w.deploy(ctx, binary, 1, sealed)
		if err != nil {
			return err
		}
		p := d.replicas[0]
		if _, err := w.measure(ctx, d, "modern"); err != nil { // warms up
			return err
		}
		before, rss, err := p.memory(ctx)
		if err != nil {
			return err
		}
		listening, err := w.openAll(ctx, p)
		defer closeAll(listening)
		if err != nil {
			return err
		}
		after, now, err := p.memory(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d idle legacy sessions with %d streams: heap %+.2f MB, resident memory %+.2f MB\n", d.name, w.idle, len(listening), float64(after-before)/1e6, float64(now-rss)/1e6)
	}
	return nil
}

// openAll opens sessions, and calls the tool once in each. It returns the connections of their
// streams, if any.
func (w *world) openAll(ctx context.Context, p *process) (listening []*wire, err error) {
	const callers = 16
	fails, streams := make([]error, callers), make([][]*wire, callers)
	var running sync.WaitGroup
	for c := range callers {
		running.Go(func() {
			conn, err := dial(p.address)
			if err != nil {
				fails[c] = err
				return
			}
			defer conn.Close()
			for range (w.idle + c) / callers {
				id, err := "", context.Cause(ctx)
				if err == nil {
					id, err = conn.open()
				}
				if err == nil {
					err = conn.call(id, 2)
				}
				if err == nil && w.streams {
					var stream *wire
					if stream, err = dial(p.address); err == nil {
						streams[c] = append(streams[c], stream)
						err = stream.listen(id)
					}
				}
				if err != nil {
					fails[c] = err
					return
				}
			}
		})
	}
	running.Wait()
	return slices.Concat(streams...), errors.Join(fails...)
}

func closeAll(all []*wire) {
	for _, w := range all {
		w.Close()
	}
}

var (
	heapBytes = regexp.MustCompile(`(?m)^go_memstats_heap_alloc_bytes (\S+)$`)
	rssPages  = regexp.MustCompile(`^\d+ (\d+)`)
)

// memory returns the smallest heap and resident set in some seconds, in which the replica collects
// its garbage.
func (p *process) memory(ctx context.Context) (heap, rss int, err error) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		response, err := http.Get("http://" + p.admin + "/metrics")
		if err != nil {
			return 0, 0, err
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return 0, 0, err
		}
		found := heapBytes.FindSubmatch(text)
		if found == nil {
			return 0, 0, fmt.Errorf("the metrics of the replica have no heap")
		}
		now, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return 0, 0, err
		}
		if heap == 0 || int(now) < heap {
			heap = int(now)
		}
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return 0, 0, err
		}
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.command.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	pages, err := strconv.Atoi(string(rssPages.FindSubmatch(text)[1]))
	return heap, pages * os.Getpagesize(), err
}
