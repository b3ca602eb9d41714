package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/junction-mcp/junction/guard"
)

// How often a person is notified that a server's tools are others now.
const (
	maxToolNotices = 5                // at once
	toolNoticeTime = 10 * time.Second // for one more
)

// maxFaultsListed is how many tools that are set aside are named one by one.
const maxFaultsListed = 10

// changeTime is how long a step waits for lists of which it is known that they changed.
const changeTime = 2 * time.Second

// refresh takes up what the servers offer now, if anything of it changed since the
// last time: the person is asked about what is new or different before the model
// sees it, and what went is taken out of the model's hands.
func (r *run) refresh(ctx context.Context) error {
	r.h.await(ctx, r.h.servers...)
	now := r.h.changes.Load() // before anything is looked at, so that no change falls in between
	if r.catalogue != nil && now == r.seen {
		return nil
	}
	if err := r.h.review(ctx, r.c); err != nil {
		return err
	}
	r.c.relabel()
	r.h.offered.forget() // pins are not the host's alone
	r.choose()
	r.seen = now
	return nil
}

// await waits, for a moment, until lists of these servers that are known to be old were read and taken up.
func (h *Host) await(ctx context.Context, servers ...*server) {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	var names []string
	for _, s := range servers {
		names = append(names, s.Name)
	}
	h.gateway.Fresh(ctx, names...)
	for _, s := range servers {
		if s.answers() { // one that never answered is not waited for again
			s.await(ctx)
		}
	}
}

// setAside reports tools that the model cannot be given, once.
func (s *server) setAside(old, fresh []*tool) {
	known := make(map[string]string, len(old))
	for _, t := range old {
		known[t.Name] = t.fault
	}
	found := 0
	for _, t := range fresh {
		if t.fault == "" || known[t.Name] == t.fault {
			continue
		}
		if found++; found <= maxFaultsListed {
			s.host.notice(Notice{Kind: NoticeLowered, Server: t.ref.Server, Tool: t.ref.Tool, Text: "was set aside: " + readable(t.fault)})
		}
	}
	if more := found - maxFaultsListed; more > 0 {
		s.host.notice(Notice{Kind: NoticeLowered, Server: s.Name, Text: fmt.Sprintf("%d more tools of server %q were set aside", more, s.Name)})
	}
}

// tellDifference reports how the tools changed, but not at every change of a server that
// changes all the time.
func (s *server) tellDifference(before, fresh []*tool) {
	what := difference(before, fresh)
	if what == "" {
		return
	}
	if !s.notices.Allow() {
		return
	}
	text := fmt.Sprintf("server %q has %d tools now: %s", s.Name, len(fresh), what)
	if s.notices.Tokens() < 1 {
		text += " (it changes them all the time; not every change is reported)"
	}
	s.host.notice(Notice{Kind: NoticeTools, Server: s.Name, Text: text})
}

// difference says how the tools of two offers differ; empty if they do not.
func difference(old, fresh []*tool) string {
	before := make(map[string]guard.Definition, len(old))
	for _, t := range old {
		before[t.Name] = t.definition
	}
	added, changed := 0, 0
	for _, t := range fresh {
		d, known := before[t.Name]
		delete(before, t.Name)
		switch {
		case !known:
			added++
		case d.Hash() != t.definition.Hash():
			changed++
		}
	}
	var words []string
	for _, c := range []struct {
		many int
		what string
	}{{added, "new"}, {len(before), "gone"}, {changed, "changed"}} {
		if c.many > 0 {
			words = append(words, fmt.Sprintf("%d %s", c.many, c.what))
		}
	}
	return strings.Join(words, ", ")
}
