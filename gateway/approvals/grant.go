package approvals

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/policy"
)

// A key identifies equal calls: those of one caller, to one server, with the same arguments byte by
// byte.
type key [sha256.Size]byte

// keyOf returns the key of a call. caller is its key in package share.
func keyOf(in *policy.Input, caller, name string) (k key) {
	h := sha256.New()
	for _, part := range []string{in.Principal.Issuer, in.Principal.Subject, caller, in.Server, in.Origin, in.Profile, in.Method, name, string(in.Arguments)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	h.Sum(k[:0])
	return k
}

// A grant lets calls with one key run until a time, as far as one role is concerned.
type grant struct {
	role, by string
	self     bool // whether the caller approved it
	at       time.Time
	until    time.Time
}

// keep stores the grants of an approved call. If there are too many, it forgets those that end
// first. d.mu must be held.
func (d *Desk) keep(w *waiting, now time.Time) {
	for _, p := range w.Parts {
		if p.grantedFor <= 0 {
			continue
		}
		d.granted[w.key] = append(slices.DeleteFunc(d.granted[w.key], func(g grant) bool { return g.role == p.Role }),
			grant{p.Role, p.By, p.bySelf, now, now.Add(p.grantedFor)})
	}
	if len(d.granted) <= maxGranted {
		return
	}
	d.forget(now)
	for len(d.granted) > maxGranted {
		first := slices.MinFunc(slices.Collect(maps.Keys(d.granted)), func(a, b key) int {
			return d.granted[a][0].until.Compare(d.granted[b][0].until)
		})
		delete(d.granted, first)
	}
}

// forget removes grants and rounds that have ended. d.mu must be held.
func (d *Desk) forget(now time.Time) {
	for k, all := range d.granted {
		if all = slices.DeleteFunc(all, func(g grant) bool { return !now.Before(g.until) }); len(all) == 0 {
			delete(d.granted, k)
		} else {
			d.granted[k] = all
		}
	}
	maps.DeleteFunc(d.rounds, func(_ string, r round) bool { return !now.Before(r.until) })
}

// grants returns the earlier approvals that hold for a call, and who gave them. A rule
// that now lets approvals count for a shorter time, or not for the caller's own, ends them.
func (d *Desk) grants(ctx context.Context, k key, parts []rules.Part, now time.Time) (approved []rules.Approved, by []Part) {
	d.mu.Lock()
	all := slices.Clone(d.granted[k])
	d.mu.Unlock()
	if d.options.Replicas != nil && slices.ContainsFunc(parts, func(p rules.Part) bool { return p.For > 0 }) {
		all = append(all, d.sharedGrants(ctx, k, now)...)
	}
	for _, p := range parts {
		i := slices.IndexFunc(all, func(g grant) bool {
			return g.role == p.Role && now.Before(g.until) && now.Before(g.at.Add(p.For)) && (p.Self || !g.self)
		})
		if i >= 0 {
			approved, by = append(approved, rules.Approved{Role: p.Role, Self: all[i].self}), append(by, Part{Role: p.Role, By: all[i].by})
		}
	}
	return approved, by
}

// A round holds the approvals of a call that asked its client, and continues in a further round.
type round struct {
	key      key
	approved []rules.Approved
	by       []Part
	until    time.Time
}

// suspend stores the approvals for the next round of a call, and returns the name under which only
// that round finds them. If there are too many, it forgets those that end first.
func (d *Desk) suspend(k key, approved []rules.Approved, by []Part) string {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.rounds) >= maxGranted {
		d.forget(now)
	}
	for len(d.rounds) >= maxGranted {
		delete(d.rounds, slices.MinFunc(slices.Collect(maps.Keys(d.rounds)), func(a, b string) int {
			return d.rounds[a].until.Compare(d.rounds[b].until)
		}))
	}
	name := rand.Text()
	d.rounds[name] = round{k, approved, by, now.Add(betweenRoundTime)}
	return name
}

// resume returns the approvals that an earlier round of a call got. Each name works once, as a
// client can send a round again.
func (d *Desk) resume(name string, k key) (approved []rules.Approved, by []Part) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, found := d.rounds[name]
	if !found || r.key != k || !time.Now().Before(r.until) {
		return nil, nil
	}
	delete(d.rounds, name)
	return r.approved, r.by
}
