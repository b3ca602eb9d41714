package approvals

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/state/replicas"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	maxWaiting       = 1_000 // calls that wait at one time
	maxWaitingOfOne  = 50    // those of one caller
	maxGranted       = 10_000
	maxShown         = 16 << 10 // bytes of arguments; no caller could review more
	maxShownDepth    = 64
	maxName          = 200 // characters of a name
	maxReason        = 500 // characters of a reason
	progressPause    = 10 * time.Second
	betweenRoundTime = 10 * time.Minute // how long an approved call may take to continue in a further round
)

// Errors of [Desk.Decide].
var (
	// ErrGone reports that no call with the id waits for a decision of this caller.
	ErrGone = errors.New("no such call waits for you: it was decided, its time is over, or its caller left")
	// ErrDecided reports that another caller decided first.
	ErrDecided = errors.New("was decided before")
)

// The outcomes of waiting.
const (
	Approved = "approved"
	Refused  = "refused"
	Expired  = "expired" // the time was over
	Left     = "left"    // the caller left
	Full     = "full"    // too many calls wait already
)

var outcomes = []string{Approved, Refused, Expired, Left, Full}

// Options configure a Desk.
type Options struct {
	// Notify, if not nil, is called with each call that begins to wait. It must return at once.
	Notify func(Call)
	// Replicas, if not nil, is the group of replicas at each of which callers can decide about the
	// calls that wait at any of them. Secret is the same at all replicas; it hides from the store
	// what identifies a call.
	Replicas *replicas.Group
	Secret   []byte
	// Team, if not nil, returns the URL of the page on which calls are approved, or "".
	Team func() string
}

// A Desk holds the calls that wait for approval. It is safe for concurrent use.
type Desk struct {
	options Options
	places  *share.Budget
	counts  *prometheus.CounterVec

	mu      sync.Mutex
	waiting map[string]*waiting
	granted map[key][]grant
	rounds  map[string]round
	known   map[string]Call // calls of other replicas that were listed last, by id
}

// New returns a Desk.
func New(o Options) *Desk {
	d := &Desk{options: o, places: share.Each(maxWaiting, maxWaitingOfOne), waiting: map[string]*waiting{}, granted: map[key][]grant{}, rounds: map[string]round{},
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "junction_approvals_total", Help: "Calls that waited for the approval of a role, by outcome."}, []string{"outcome"})}
	for _, outcome := range outcomes {
		d.counts.WithLabelValues(outcome)
	}
	if o.Replicas != nil {
		o.Replicas.Follow(subject, d.refresh)
	}
	return d
}

// Collectors returns the metrics of the Desk.
func (d *Desk) Collectors() []prometheus.Collector {
	return []prometheus.Collector{d.counts, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "junction_approvals_waiting", Help: "Calls that wait for the approval of a role."}, func() float64 {
		d.mu.Lock()
		defer d.mu.Unlock()
		return float64(len(d.waiting))
	})}
}

// A Call describes a waiting call to those who decide. All its texts are safe to show.
type Call struct {
	ID        string    `json:"id"`
	Server    string    `json:"server"`
	Method    string    `json:"method"`
	Name      string    `json:"name"`                // tool, prompt or resource, as the server names it
	Title     string    `json:"title,omitempty"`     // claim of the server
	Arguments string    `json:"arguments,omitempty"` // JSON without apparent secrets
	Caller    string    `json:"caller"`
	Client    string    `json:"client,omitempty"`
	Profile   string    `json:"profile,omitempty"`
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until"` // then the call is refused
	Parts     []Part    `json:"parts"` // approvals that the call needs
}

// A Part is an approval by one role.
type Part struct {
	Role   string        `json:"role"`
	Rule   string        `json:"rule"`
	Reason string        `json:"reason,omitempty"`
	For    time.Duration `json:"-"`            // longest time for which an approval can allow equal calls
	UpTo   string        `json:"for,omitzero"` // For as text
	By     string        `json:"by,omitempty"` // the caller who approved it; empty if it is open

	self, bySelf bool // whether the caller may approve it, and did
	grantedFor   time.Duration
}

// A waiting is a call that waits.
type waiting struct {
	Call
	subject string        // of its caller
	key     key           // identifies equal calls
	done    chan struct{} // is closed after the outcome is set
	outcome string
	by      string // who refused
	role    string // for which role
	reason  string
	shared  bool   // whether the store has the call, or will soon; all replicas decide about it there
	caller  string // in the form of package share, of a shared call
}

// shown returns the description of the call as it is now. While the call waits, the mutex of its
// Desk must be held.
func (w *waiting) shown() Call {
	q := w.Call
	q.Parts = slices.Clone(w.Parts)
	return q
}

// An Approver is a caller who may decide about calls.
type Approver struct {
	Name     string   // for the audit log
	Subject  string   // of the principal
	Roles    []string // in which the caller decides
	Operator bool     // decides for every role
}

// sees reports whether the caller may decide about a part of a call.
func (a *Approver) sees(w *waiting, p *Part) bool {
	return a.Operator || slices.Contains(a.Roles, p.Role) && (p.self || !a.is(w.subject))
}

// is reports whether the caller has this name. A name of two issuers counts as one user, such as a
// key of ann and the login of ann.
func (a *Approver) is(subject string) bool {
	return subject != "" && strings.EqualFold(a.Subject, subject)
}

// List returns the calls that wait for a decision of a caller, oldest first. Without the store, these are
// the calls that wait at this replica.
func (d *Desk) List(ctx context.Context, a Approver) []Call {
	all := []Call{}
	if d.options.Replicas != nil {
		all = append(all, d.listShared(ctx, a)...)
	}
	d.mu.Lock()
	for _, w := range d.waiting {
		if w.awaits(a) && !slices.ContainsFunc(all, func(q Call) bool { return q.ID == w.ID }) {
			all = append(all, w.shown())
		}
	}
	d.mu.Unlock()
	slices.SortFunc(all, func(a, b Call) int { return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID)) })
	return all
}

// awaits reports whether the call waits for a decision of a caller.
func (w *waiting) awaits(a Approver) bool {
	return w.outcome == "" && slices.ContainsFunc(w.Parts, func(p Part) bool { return p.By == "" && a.sees(w, &p) })
}

// A Verdict is the decision about a waiting call.
type Verdict struct {
	Approve bool
	For     time.Duration // if positive, equal calls of the same caller are approved for this time, too
	Reason  string        // of a refusal
}

// Decide decides about a waiting call for the roles of a caller, and returns the call. The call runs when
// all its parts are approved. The first decision about a part counts, at all replicas; the error of a
// later one is [ErrDecided] or [ErrGone]. While the store of the replicas is away, the error wraps
// [state.ErrUnavailable] for a call that all replicas know.
func (d *Desk) Decide(ctx context.Context, id string, a Approver, v Verdict) (Call, error) {
	d.mu.Lock()
	w := d.waiting[id]
	if w != nil && w.shared || w == nil && d.options.Replicas != nil {
		d.mu.Unlock()
		return d.decideShared(ctx, id, a, v)
	}
	defer d.mu.Unlock()
	if w == nil {
		return Call{}, ErrGone
	}
	outcome, err := w.decide(a, v)
	if err != nil {
		return Call{}, err
	}
	if outcome != "" {
		d.end(w, outcome)
	}
	return w.shown(), nil
}

// decide applies a decision to the parts of the call, and returns the outcome, which is empty while the
// call waits for further approvals.
func (w *waiting) decide(a Approver, v Verdict) (outcome string, err error) {
	var open []*Part
	decided := ""
	for i := range w.Parts {
		switch p := &w.Parts[i]; {
		case !a.sees(w, p):
		case p.By != "":
			decided = p.By
		case v.Approve && v.For > p.For:
			return "", fmt.Errorf("the rule %s lets an approval count for %s, not %v", p.Rule, textOfFor(p.For), v.For)
		default:
			open = append(open, p)
		}
	}
	switch {
	case len(open) == 0 && decided != "":
		return "", fmt.Errorf("the call %w, by %s", ErrDecided, decided)
	case len(open) == 0:
		return "", ErrGone
	case !v.Approve:
		w.by, w.role, w.reason = a.Name, open[0].Role, plaintext.Line(v.Reason, maxReason)
		return Refused, nil
	}
	for _, p := range open {
		p.By, p.bySelf, p.grantedFor = a.Name, !a.Operator && a.is(w.subject), v.For
	}
	if slices.ContainsFunc(w.Parts, func(p Part) bool { return p.By == "" }) {
		return "", nil
	}
	return Approved, nil
}

func textOfFor(d time.Duration) string {
	if d == 0 {
		return "this call only"
	}
	return "at most " + brief(d)
}

// brief returns a time without zeros at its end: 1h, not 1h0m0s.
func brief(d time.Duration) string {
	text := d.String()
	if short, found := strings.CutSuffix(text, "m0s"); found {
		text = short + "m"
	}
	if short, found := strings.CutSuffix(text, "h0m"); found {
		text = short + "h"
	}
	return text
}

// end sets the outcome of a waiting call and removes it. It reports false if another goroutine did.
// d.mu must be held.
func (d *Desk) end(w *waiting, outcome string) bool {
	if d.waiting[w.ID] != w {
		return false
	}
	delete(d.waiting, w.ID)
	w.outcome = outcome
	d.counts.WithLabelValues(outcome).Inc()
	if outcome == Approved && !w.shared { // otherwise the store has the grants
		d.keep(w, time.Now())
	}
	close(w.done)
	return true
}

// begin adds a call. It reports false if too many calls of the caller, or of all, wait.
func (d *Desk) begin(ctx context.Context, w *waiting, caller string) bool {
	if !d.places.Take(caller) {
		d.counts.WithLabelValues(Full).Inc()
		return false
	}
	w.ID, w.done = strings.ToLower(rand.Text()[:16]), make(chan struct{})
	w.shared, w.caller = d.options.Replicas != nil, caller
	asked := w.shown()
	d.mu.Lock()
	d.waiting[w.ID] = w
	d.mu.Unlock()
	if d.options.Replicas != nil && !d.share(ctx, w) {
		d.mu.Lock()
		delete(d.waiting, w.ID)
		d.mu.Unlock()
		d.places.Give(caller)
		d.counts.WithLabelValues(Full).Inc()
		return false
	}
	if d.options.Notify != nil {
		d.options.Notify(asked)
	}
	return true
}

// describe returns the description of the call that needs approvals.
func describe(n *rules.Needed, name string, parts []rules.Part, now time.Time) (q Call) {
	in := &n.Input
	if in.Resource != "" {
		name = redact.URI(name)
	}
	q = Call{Server: plaintext.Line(in.Server, maxName), Method: in.Method, Name: plaintext.Line(name, maxName), Title: plaintext.Line(in.Title, maxName),
		Caller: plaintext.Line(in.Principal.Subject, maxName), Client: plaintext.Line(in.Client, maxName), Profile: plaintext.Line(in.Profile, maxName), Since: now}
	for _, p := range parts {
		one := Part{Role: p.Role, Rule: p.Rule, Reason: p.Reason, For: p.For, self: p.Self}
		if p.For > 0 {
			one.UpTo = brief(p.For)
		}
		q.Parts = append(q.Parts, one)
		if until := now.Add(p.Within); q.Until.IsZero() || until.Before(q.Until) {
			q.Until = until
		}
	}
	return q
}
