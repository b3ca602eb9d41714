package live

import (
	"net/http"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/traffic"
)

const (
	figuresTime = 10 * time.Minute // what figures are of
	maxTimes    = 1_000            // of one server, whose median and 95th percentile are said: the newest
)

// A figures is what calls, prompts and reads of one server came to of late.
type figures struct {
	PID    int           `json:"pid"`
	Server string        `json:"server"`
	Calls  int           `json:"calls"`
	Errors int           `json:"errors"`
	P50    time.Duration `json:"p50"` // nanoseconds
	P95    time.Duration `json:"p95"`
	times  []time.Duration
}

// answers reports whether a message of a kind ends a request.
func answers(kind string) bool {
	return kind == traffic.Response || kind == traffic.Error || kind == traffic.Failure
}

// figuresOf counts what came back from servers since then.
func (r *Ring) figuresOf(since time.Time) []*figures {
	type key struct {
		pid    int32
		server string
	}
	all := map[key]*figures{}
	var order []*figures
	methods := map[textsID]bool{}
	r.mu.Lock()
	for n := r.index.Next; n > r.index.First; {
		n--
		e, t := r.of(n)
		if e.time < since.UnixNano() {
			break
		}
		if hops[e.hop] != traffic.Server || !e.toClient || !answers(kinds[e.kind]) {
			continue
		}
		is, known := methods[e.texts]
		if !known {
			is = revision.MethodNamed(t.method).Asks
			methods[e.texts] = is
		}
		if !is {
			continue
		}
		k := key{e.pid, t.server}
		f := all[k]
		if f == nil {
			f = &figures{PID: int(e.pid), Server: t.server}
			all[k] = f
			order = append(order, f)
		}
		if f.Calls++; e.failed {
			f.Errors++
		}
		if len(f.times) < maxTimes {
			f.times = append(f.times, time.Duration(e.took))
		}
	}
	r.mu.Unlock()
	for _, f := range order {
		slices.Sort(f.times)
		f.P50, f.P95 = f.times[len(f.times)/2], f.times[len(f.times)*95/100]
	}
	return order
}

func (r *Ring) serveFigures(*http.Request) (any, error) {
	return struct {
		Minutes float64    `json:"minutes"`
		Servers []*figures `json:"servers"`
	}{figuresTime.Minutes(), append([]*figures{}, r.figuresOf(time.Now().Add(-figuresTime))...)}, nil
}
