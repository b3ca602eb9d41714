package tui

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// granted are permissions, one of which can be withdrawn.
type granted struct {
	mu      sync.Mutex
	removed bool
	fail    error
}

func (g *granted) list(context.Context, Session) ([]Permission, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := []Permission{{What: "deny tool \"rm\x1b[2J\" of server \"files\"", Where: "policy.json:3", Undo: g.undo},
		{What: "built in", Where: "built-in", Undo: func(context.Context) (string, error) { return "", errors.New("it is built in") }}}
	if g.removed {
		all = all[1:]
	}
	return all, g.fail
}

func (g *granted) undo(context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removed = true
	return "a rule is removed", nil
}

func TestAPermissionCanBeWithdrawn(t *testing.T) {
	g := &granted{}
	play(t, &scripted{}, 60, 20, func(st *stage) {
		st.keys("/permissions<enter>")
		expect(t, "the list", st.frame(), `
── permissions ─────────────────────────────────────────────
▸ 1 deny tool "rm\x1b[2J" of server "files"  policy.json:3
  2 built in  built-in
d take back · Esc close
test-model · 0/0 servers, 0 tools · F1 help`)
		st.keys("<down>d")
		st.holds("error: it is built in")
		st.keys("<up>dd")
		if g.removed {
			t.Error("a key that is held took back another one")
		}
		st.wait(time.Second)
		st.keys("<down>")
		st.keys("<up>d")
		expect(t, "the list afterwards", st.frame(), `
── permissions ─────────────────────────────────────────────
▸ 1 built in  built-in
d take back · Esc close
a rule is removed`)
		st.printedText("a rule is removed")
		st.keys("<esc>/permissions undo 2<enter>")
		st.holds("there is no number 2 in the list")
		st.keys("<ctrl+c>/permissions undo 1<enter>")
		st.printedText("error: it is built in")
		g.fail = errScripted
		st.keys("/permissions<enter>")
		st.printedText("error: the provider is on holiday")
	}, func(o *Options) { o.Permissions = g.list })
	play(t, &scripted{}, 60, 20, func(st *stage) {
		st.keys("/permissions<enter>")
		st.holds("permissions cannot be listed here")
	})
}
