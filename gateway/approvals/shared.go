package approvals

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/junction-mcp/junction/state"
)

// The keys of a Desk in the store of replicas. Those of calls end with the id.
const (
	votePrefix  = "approvals/votes/"   // what was decided about a call
	callPrefix  = "approvals/calls/"   // its description, which does not change
	grantPrefix = "approvals/granted/" // approvals that hold for equal calls
)

const (
	subject   = "gateway/approvals" // of changes that replicas report
	overTime  = time.Minute         // how long the store keeps a call after it was decided, or after its time
	callsPage = 50                  // descriptions that one request to the store reads
	fewCalls  = 8                   // descriptions that are read one by one
	maxSwaps  = 20                  // attempts to change a value that other replicas change, too
)

// votes are the value of a waiting call in the store: what was decided about it. They are small, as
// replicas read those of all calls.
type votes struct {
	Replica string `json:"replica"` // at which the call waits
	Caller  string `json:"caller"`  // hash of its caller
	Subject string `json:"subject,omitzero"`
	Key     string `json:"key"` // hash of what identifies equal calls
	Parts   []vote `json:"parts"`
	Outcome string `json:"outcome,omitzero"`
	By      string `json:"by,omitzero"`
	Role    string `json:"role,omitzero"`
	Reason  string `json:"reason,omitzero"`

	id      string
	version state.Version
}

// A vote is a Part in the store.
type vote struct {
	Role       string        `json:"role"`
	Rule       string        `json:"rule"`
	Reason     string        `json:"reason,omitzero"`
	For        time.Duration `json:"for,omitzero"`
	Self       bool          `json:"self,omitzero"`
	By         string        `json:"by,omitzero"`
	BySelf     bool          `json:"bySelf,omitzero"`
	GrantedFor time.Duration `json:"grantedFor,omitzero"`
}

// hidden returns a hash of a text that only replicas can compute.
func (d *Desk) hidden(text string) string {
	mac := hmac.New(sha256.New, d.options.Secret)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// votesOf returns the votes of a call that waits here.
func (d *Desk) votesOf(w *waiting) votes {
	v := votes{Replica: d.options.Replicas.ID(), Caller: d.hidden("caller " + w.caller), Subject: w.subject, Key: d.hidden("call " + string(w.key[:]))}
	v.setParts(w)
	return v
}

func (v *votes) setParts(w *waiting) {
	v.Parts = nil
	for _, p := range w.Parts {
		v.Parts = append(v.Parts, vote{p.Role, p.Rule, p.Reason, p.For, p.self, p.By, p.bySelf, p.grantedFor})
	}
}

// apply gives a call the votes of the store.
func (v *votes) apply(w *waiting) {
	w.Parts = nil
	for _, p := range v.Parts {
		one := Part{Role: p.Role, Rule: p.Rule, Reason: p.Reason, For: p.For, By: p.By, self: p.Self, bySelf: p.BySelf, grantedFor: p.GrantedFor}
		if p.For > 0 {
			one.UpTo = brief(p.For)
		}
		w.Parts = append(w.Parts, one)
	}
	w.by, w.role, w.reason = v.By, v.Role, v.Reason
}

// readVotes returns the votes of an entry of the store. An entry that no replica wrote has no parts, so that
// nothing can be decided about it.
func readVotes(e state.Entry) *votes {
	v := &votes{}
	if json.Unmarshal(e.Value, v) != nil {
		v = &votes{}
	}
	v.id, v.version = e.Key[len(votePrefix):], e.Version
	return v
}

// share puts a call into the store. It reports false if too many calls wait at all replicas. If the
// store is away, the call waits at this replica only.
func (d *Desk) share(ctx context.Context, w *waiting) bool {
	if err := d.publish(ctx, w); err != nil {
		d.mu.Lock()
		w.shared = false
		d.mu.Unlock()
		return true
	}
	all, err := d.open(ctx)
	count, ofCaller := 0, 0
	for _, v := range all {
		if count++; v.Caller == d.hidden("caller "+w.caller) {
			ofCaller++
		}
	}
	if err == nil && (count > maxWaiting || ofCaller > maxWaitingOfOne) {
		d.withdraw(ctx, w.ID)
		return false
	}
	return true
}

// publish writes a call to the store.
func (d *Desk) publish(ctx context.Context, w *waiting) error {
	g := d.options.Replicas
	d.mu.Lock()
	q, v := w.shown(), d.votesOf(w)
	d.mu.Unlock()
	keep := state.Write{TTL: max(time.Until(q.Until), 0) + overTime}
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if _, err = g.Put(ctx, callPrefix+q.ID, text, keep); err != nil {
		return err
	}
	if text, err = json.Marshal(v); err != nil {
		return err
	}
	if _, err = g.CompareAndSwap(ctx, votePrefix+q.ID, "", text, keep); err != nil && !errors.Is(err, state.ErrConflict) {
		d.withdraw(ctx, q.ID) // a write whose outcome is not known
		return err
	}
	return nil
}

// withdraw removes a call from the store. After an error it expires.
func (d *Desk) withdraw(ctx context.Context, id string) {
	ctx = context.WithoutCancel(ctx)
	_ = d.options.Replicas.Delete(ctx, votePrefix+id, state.Hold{})
	_ = d.options.Replicas.Delete(ctx, callPrefix+id, state.Hold{})
}

// all returns the votes about all calls in the store, also those that ended.
func (d *Desk) all(ctx context.Context) (all []*votes, err error) {
	for after := ""; ; {
		entries, err := d.options.Replicas.List(ctx, votePrefix, after, maxWaiting)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			all, after = append(all, readVotes(e)), e.Key
		}
		if len(entries) < maxWaiting {
			return all, nil
		}
	}
}

// open returns the votes about the calls that wait. It removes those of replicas that died.
func (d *Desk) open(ctx context.Context) ([]*votes, error) {
	all, err := d.all(ctx)
	if err != nil {
		return nil, err
	}
	lives := map[string]bool{d.options.Replicas.ID(): true}
	return slices.DeleteFunc(all, func(v *votes) bool {
		if v.Outcome != "" {
			return true
		}
		is, known := lives[v.Replica]
		if !known {
			found, err := d.options.Replicas.Lives(ctx, v.Replica)
			is = found || err != nil
			lives[v.Replica] = is
		}
		if !is && d.swap(ctx, v, Left, time.Time{}) == nil {
			_ = d.options.Replicas.Delete(ctx, callPrefix+v.id, state.Hold{})
		}
		return !is
	}), nil
}

// swap writes votes with an outcome, or without one until the time of the call is over. It returns
// [state.ErrConflict] if they changed meanwhile.
func (d *Desk) swap(ctx context.Context, v *votes, outcome string, until time.Time) error {
	keep := state.Write{TTL: overTime}
	if outcome == "" {
		keep.TTL += max(time.Until(until), 0)
	}
	v.Outcome = outcome
	text, err := json.Marshal(v)
	if err == nil {
		_, err = d.options.Replicas.CompareAndSwap(ctx, votePrefix+v.id, v.version, text, keep)
	}
	return err
}

// described returns the descriptions of calls by id, as far as the store has them. It keeps those of the
// calls for the next time.
func (d *Desk) described(ctx context.Context, all []*votes) map[string]Call {
	d.mu.Lock()
	known := map[string]Call{}
	maps.Copy(known, d.known)
	for id, w := range d.waiting {
		known[id] = w.shown()
	}
	d.mu.Unlock()
	found := map[string]Call{}
	missing := map[string]bool{}
	for _, v := range all {
		if q, is := known[v.id]; is {
			found[v.id] = q
		} else {
			missing[v.id] = true
		}
	}
	take := func(e state.Entry) {
		var q Call
		if id := e.Key[len(callPrefix):]; missing[id] && json.Unmarshal(e.Value, &q) == nil && q.ID == id {
			found[id] = q
		}
	}
	if len(missing) <= fewCalls {
		for id := range missing {
			if e, err := d.options.Replicas.Get(ctx, callPrefix+id); err == nil {
				take(e)
			}
		}
	} else {
		for after := ""; ; {
			entries, err := d.options.Replicas.List(ctx, callPrefix, after, callsPage)
			for _, e := range entries {
				take(e)
				after = e.Key
			}
			if err != nil || len(entries) < callsPage {
				break
			}
		}
	}
	return found
}

// listShared returns the calls of all replicas that wait for a decision of a caller. It returns none if
// the store is away.
func (d *Desk) listShared(ctx context.Context, a Approver) (shown []Call) {
	all, err := d.open(ctx)
	if err != nil {
		return nil
	}
	found := d.described(ctx, all)
	d.mu.Lock()
	d.known = found
	d.mu.Unlock()
	for _, v := range all {
		w := &waiting{subject: v.Subject}
		if w.Call = found[v.id]; w.ID == "" {
			continue
		}
		if v.apply(w); w.awaits(a) {
			shown = append(shown, w.shown())
		}
	}
	return shown
}

// decideShared implements Decide for a call in the store.
func (d *Desk) decideShared(ctx context.Context, id string, a Approver, verdict Verdict) (Call, error) {
	g := d.options.Replicas
	for range maxSwaps {
		e, err := g.Get(ctx, votePrefix+id)
		if errors.Is(err, state.ErrNotFound) || errors.Is(err, state.ErrTooLarge) {
			return Call{}, ErrGone
		}
		if err != nil {
			return Call{}, fmt.Errorf("calls of all replicas cannot be decided now: %w", err)
		}
		v := readVotes(e)
		if v.Outcome != "" {
			return Call{}, ErrGone
		}
		if lives, err := g.Lives(ctx, v.Replica); err == nil && !lives {
			return Call{}, ErrGone
		}
		w := &waiting{Call: d.described(ctx, []*votes{v})[id], subject: v.Subject}
		if w.ID == "" || !time.Now().Before(w.Until.Add(overTime)) { // its replica ends it at the time; clocks differ
			return Call{}, ErrGone
		}
		v.apply(w)
		outcome, err := w.decide(a, verdict)
		if err != nil {
			return Call{}, err
		}
		v.setParts(w)
		v.By, v.Role, v.Reason = w.by, w.role, w.reason
		if err = d.record(ctx, v, w, outcome); errors.Is(err, state.ErrConflict) {
			continue
		}
		if err != nil {
			return Call{}, fmt.Errorf("the decision may not count: %w", err)
		}
		return w.shown(), nil
	}
	return Call{}, fmt.Errorf("the call was decided %d times meanwhile: %w", maxSwaps, state.ErrUnavailable)
}

// record writes a decision, lets all replicas know it, and stores the approvals for equal calls.
func (d *Desk) record(ctx context.Context, v *votes, w *waiting, outcome string) error {
	ctx = context.WithoutCancel(ctx) // once it is decided, the rest follows
	if err := d.swap(ctx, v, outcome, w.Until); err != nil {
		return err
	}
	if outcome == Approved {
		d.keepShared(ctx, v.Key, w)
	}
	_ = d.options.Replicas.Changed(ctx, subject) // after an error, the replica of the call looks within a minute
	_ = d.refresh(ctx)                           // it may be this one
	return nil
}

// refresh takes up what was decided about the calls that wait here.
func (d *Desk) refresh(ctx context.Context) error {
	all, err := d.all(ctx)
	if err != nil {
		return err
	}
	var over []string      // calls in the store that ended here
	var missing []*waiting // calls that the store lost, or that another replica ended by mistake
	seen := map[string]bool{}
	d.mu.Lock()
	for _, v := range all {
		if v.Replica != d.options.Replicas.ID() {
			continue
		}
		seen[v.id] = true
		switch w := d.waiting[v.id]; {
		case w == nil && v.Outcome == "":
			over = append(over, v.id)
		case w == nil:
		case v.Outcome == Left:
			over, missing = append(over, v.id), append(missing, w)
		default:
			d.takeUp(w, v)
		}
	}
	for id, w := range d.waiting {
		if w.shared && !seen[id] {
			missing = append(missing, w)
		}
	}
	d.mu.Unlock()
	for _, id := range over {
		d.withdraw(ctx, id)
	}
	for _, w := range missing {
		_ = d.publish(ctx, w)
	}
	return nil
}

// takeUp gives a call that waits here its votes in the store, and ends it if they decide. d.mu must be held.
func (d *Desk) takeUp(w *waiting, v *votes) {
	before := w.Parts
	v.apply(w)
	w.shared = true
	for i := range w.Parts {
		if i < len(before) && before[i].By != "" { // the votes may be older
			w.Parts[i] = before[i]
		}
	}
	switch v.Outcome {
	case "":
	case Approved:
		d.end(w, Approved)
	default:
		d.end(w, Refused)
	}
}

// endShared ends a call in the store, so that nothing is decided about it any more, and then here. If it
// was decided before, it ends so. It reports false for a call that only this replica knows.
func (d *Desk) endShared(ctx context.Context, w *waiting, outcome string) bool {
	d.mu.Lock()
	shared := w.shared
	d.mu.Unlock()
	if !shared {
		return false
	}
	ctx = context.WithoutCancel(ctx)
	for range maxSwaps {
		e, err := d.options.Replicas.Get(ctx, votePrefix+w.ID)
		if err != nil { // if the store has the call, a refresh removes it
			break
		}
		v := readVotes(e)
		if v.Outcome != "" && v.Outcome != Left {
			d.mu.Lock()
			d.takeUp(w, v)
			d.mu.Unlock()
			return true
		}
		if err = d.swap(ctx, v, outcome, time.Time{}); err == nil {
			_ = d.options.Replicas.Delete(ctx, callPrefix+w.ID, state.Hold{})
		}
		if !errors.Is(err, state.ErrConflict) {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end(w, outcome)
	return true
}

// A sharedGrant is a grant in the store, with times of its clock.
type sharedGrant struct {
	Role  string    `json:"role"`
	By    string    `json:"by"`
	Self  bool      `json:"self,omitzero"`
	At    time.Time `json:"at"`
	Until time.Time `json:"until"`
}

// keepShared stores the grants of an approved call under its key.
func (d *Desk) keepShared(ctx context.Context, key string, w *waiting) {
	g := d.options.Replicas
	now := g.Now()
	for range maxSwaps {
		e, err := g.Get(ctx, grantPrefix+key)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return
		}
		var all []sharedGrant
		if err == nil {
			_ = json.Unmarshal(e.Value, &all) // others are replaced
		}
		all = slices.DeleteFunc(all, func(g sharedGrant) bool { return !now.Before(g.Until) })
		last := now
		for _, p := range w.Parts {
			if p.grantedFor <= 0 {
				continue
			}
			all = slices.DeleteFunc(all, func(g sharedGrant) bool { return g.Role == p.Role })
			all = append(all, sharedGrant{p.Role, p.By, p.bySelf, now, now.Add(p.grantedFor)})
		}
		for _, g := range all {
			if g.Until.After(last) {
				last = g.Until
			}
		}
		if last.Equal(now) {
			return
		}
		text, err := json.Marshal(all)
		if err == nil {
			_, err = g.CompareAndSwap(ctx, grantPrefix+key, e.Version, text, state.Write{TTL: last.Sub(now)})
		}
		if !errors.Is(err, state.ErrConflict) {
			return // after an error, equal calls are asked about again
		}
	}
}

// sharedGrants returns the grants for equal calls in the store, with times of this replica's clock. It
// returns none if the store is away.
func (d *Desk) sharedGrants(ctx context.Context, k key, now time.Time) (all []grant) {
	g := d.options.Replicas
	e, err := g.Get(ctx, grantPrefix+d.hidden("call "+string(k[:])))
	if err != nil {
		return nil
	}
	var found []sharedGrant
	if json.Unmarshal(e.Value, &found) != nil {
		return nil
	}
	ahead := time.Since(g.Now()) // of this replica's clock
	for _, one := range found {
		all = append(all, grant{one.Role, one.By, one.Self, one.At.Add(ahead), one.Until.Add(ahead)})
	}
	return all
}
