package host

import (
	"sync"
	"time"
)

// How often a person is notified that a server's tools are others now.
const (
	maxToolNotices = 5                // at once
	toolNoticeTime = 10 * time.Second // for one more
)

// maxFaultsListed is how many tools that are set aside are named one by one.
const maxFaultsListed = 10

// A pace is how often something is reported. The zero value begins with all of maxToolNotices.
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
	if back := int(now.Sub(p.at) / toolNoticeTime); back >= p.used {
		p.used, p.at = 0, now
	} else {
		p.used, p.at = p.used-back, p.at.Add(time.Duration(back)*toolNoticeTime)
	}
	if p.used == maxToolNotices {
		return false, false
	}
	p.used++
	return true, p.used == maxToolNotices
}
