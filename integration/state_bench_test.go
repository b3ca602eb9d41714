package integration

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/state"
)

// BenchmarkState measures operations of 16 callers on two processors with values of 200 bytes, and their 99th
// percentile. Run it with -benchtime 20000x, as a store in memory is full soon.
func BenchmarkState(b *testing.B) {
	for name, url := range map[string]func(b *testing.B) string{
		"memory":      func(*testing.B) string { return "memory:" },
		"SQLite":      func(b *testing.B) string { return "sqlite:" + filepath.Join(b.TempDir(), "state.db") },
		"Redis":       func(b *testing.B) string { return "redis://" + redisOf(b).address },
		"Valkey":      func(b *testing.B) string { return "valkey://" + valkeyOf(b).address },
		"Valkey, AOF": func(b *testing.B) string { return "valkey://" + valkeyOf(b, "--appendonly", "yes").address },
		"PostgreSQL": func(b *testing.B) string {
			_, p := runningPostgres(b)
			return "postgres://owner:owning@" + p.address + "/postgres?sslmode=disable"
		},
	} {
		b.Run(name, func(b *testing.B) {
			s, value := stateOf(b, url(b)), make([]byte, 200)
			for i := range 1000 {
				if _, err := s.Put(b.Context(), fmt.Sprint("k", i), value, state.Write{}); err != nil {
					b.Fatal(err)
				}
			}
			var next atomic.Int64
			for what, do := range map[string]func() error{
				"get": func() error {
					_, err := s.Get(b.Context(), fmt.Sprint("k", next.Add(1)%1000))
					return err
				},
				"swap": func() error {
					_, err := s.CompareAndSwap(b.Context(), fmt.Sprint("new", next.Add(1)), "", value, state.Write{TTL: time.Hour})
					return err
				},
				"append": func() error {
					_, err := s.Append(b.Context(), fmt.Sprint("log", next.Add(1)%100), value, state.Write{TTL: time.Hour})
					return err
				},
			} {
				b.Run(what, func(b *testing.B) {
					var mu sync.Mutex
					var all []time.Duration
					b.SetParallelism(8)
					b.RunParallel(func(pb *testing.PB) {
						var own []time.Duration
						for pb.Next() {
							began := time.Now()
							if err := do(); err != nil {
								b.Error(err)
								return
							}
							own = append(own, time.Since(began))
						}
						mu.Lock()
						defer mu.Unlock()
						all = append(all, own...)
					})
					slices.Sort(all)
					b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "ops/s")
					b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
				})
			}
		})
	}
}
