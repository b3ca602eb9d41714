package host

import (
	"sync"
	"time"
)

// How often a person is told that a server's tools are others now.
const (
	maxToolNews  = 5                // at once
	toolNewsTime = 10 * time.Second // for one more
)

// maxFaultsTold is how many tools that are set aside are told one by one.
const maxFaultsTold = 10

// A pace is how often something is told. The zero value begins with all of maxToolNews.
type pace struct {
	mu   sync.Mutex
	used int
	at   time.Time // when the last of them was given back
}

// next takes one, and reports whether there was one, and whether it was the last.
func (p *pace) next() (ok, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if back := int(now.Sub(p.at) / toolNewsTime); back >= p.used {
		p.used, p.at = 0, now
	} else {
		p.used, p.at = p.used-back, p.at.Add(time.Duration(back)*toolNewsTime)
	}
	if p.used == maxToolNews {
		return false, false
	}
	p.used++
	return true, p.used == maxToolNews
}
