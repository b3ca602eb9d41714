package sandbox

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxWaitingRefusals = 256         // of one program, until they are passed on; more are dropped
	refusalsTime       = time.Second // until those that wait when it ends are dropped, too
)

// refusals returns what passes each refusal on once, and what ends that. It never waits for whoever is notified, which may write to a screen that
// is full: the program's network would stand still meanwhile, and its end would be waited for.
func (s *Sandbox) refusals() (refuse func(Refusal), end func()) {
	if s.o.Refused == nil {
		return func(Refusal) {}, func() {}
	}
	waiting, ending, ended := make(chan Refusal, maxWaitingRefusals), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case r := <-waiting:
				s.o.Refused(r)
				continue
			case <-ending:
			}
			select {
			case r := <-waiting:
				s.o.Refused(r)
			default:
				return
			}
		}
	}()
	var mu sync.Mutex
	seen := map[string]bool{}
	refuse = func(r Refusal) {
		key := strings.ToLower(r.What)
		mu.Lock()
		defer mu.Unlock()
		if seen[key] || len(seen) >= maxRefusals {
			return
		}
		select {
		case waiting <- r:
			seen[key] = true
		default: // it is named when it is tried again
		}
	}
	return refuse, sync.OnceFunc(func() {
		close(ending)
		select {
		case <-ended:
		case <-time.After(refusalsTime):
		}
	})
}

var plain = regexp.MustCompile(`^[\pL\pM\pN_./:@%+=,~*-]+$`)

// quoted is a name that a program chose, by which it cannot say more than its name in a line of the log.
func quoted(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
