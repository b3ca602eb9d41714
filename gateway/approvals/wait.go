package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/ratelimit"
)

// A Server configures the middleware for one server.
type Server struct {
	Name string
	// Arguments, if not nil, hides parts of the arguments from those who decide, in addition to
	// apparent secrets. It must not change data.
	Arguments func(req *mcp.Request, data json.RawMessage) json.RawMessage
}

// Around returns middleware that handles the error [rules.Needed] of the Handler inside: the request
// waits until it is approved, and is then passed on again.
func (d *Desk) Around(of Server) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			result, err := next.Handle(ctx, req)
			need, is := errors.AsType[*rules.Needed](err)
			if !is {
				return result, err
			}
			c := &pending{desk: d, of: of, req: req, began: time.Now(), caller: share.Of(ctx)}
			return c.run(ctx, next, need)
		})
	}
}

// A pending is a request that needs approvals.
type pending struct {
	desk     *Desk
	of       Server
	req      *mcp.Request
	caller   string // in the form of package share
	began    time.Time
	waited   time.Duration // until the last decision
	approved []rules.Approved
	by       []Part // who approved
}

// maxAgain is how often a call can wait again, because the rules changed while it waited.
const maxAgain = 3

// savedRound is the key in the state of a request under which its next round finds the approvals.
const savedRound = "approvals"

// run waits for the approvals and passes the request on.
func (c *pending) run(ctx context.Context, next mcp.Handler, need *rules.Needed) (mcp.Result, error) {
	k := keyOf(&need.Input, c.caller, c.req.Name)
	if name, _ := jsonrpc.Unquote(c.req.State.Get(savedRound)); name != "" && c.req.Round > 0 {
		c.approved, c.by = c.desk.resume(name, k)
	}
	approved, by := c.desk.grants(ctx, k, need.Parts, c.began)
	c.approved, c.by = append(c.approved, approved...), append(c.by, by...)
	for again := 0; ; again++ {
		missing := slices.DeleteFunc(slices.Clone(need.Parts), func(p rules.Part) bool {
			return slices.ContainsFunc(c.approved, func(a rules.Approved) bool { return a.Role == p.Role && (p.Self || !a.Self) })
		})
		if again > maxAgain {
			return c.refuse(ctx, need, Refused, "the rules changed while the call waited: make it again")
		}
		if len(missing) > 0 {
			if result, err, ended := c.wait(ctx, need, missing, k); ended {
				return result, err
			}
		}
		result, err := next.Handle(ratelimit.Counted(rules.WithApproved(ctx, c.approved)), c.req)
		further, is := errors.AsType[*rules.Needed](err)
		if !is {
			c.note(ctx, Approved, "", "")
			if c.req.State != nil && (errors.Is(err, mcp.ErrInputRequired) || err == nil && mcp.OutcomeOf(ctx, &result, nil) == mcp.OutcomeInputRequired) {
				c.req.State.Set(savedRound, jsonrpc.AppendString(nil, c.desk.suspend(k, c.approved, c.by)))
				c.req.State.Bind() // only this replica knows the approvals
			}
			return result, err
		}
		need = further
	}
}

// wait waits for the missing approvals. ended reports that the call does not run; result and err
// are then its outcome.
func (c *pending) wait(ctx context.Context, need *rules.Needed, missing []rules.Part, k key) (result mcp.Result, err error, ended bool) {
	w := &waiting{Call: describe(need, c.req.Name, missing, time.Now()), subject: need.Input.Principal.Subject, key: k}
	if w.Arguments, err = c.shown(); err != nil {
		result, err = c.refuse(ctx, need, Refused, err.Error())
		return result, err, true
	}
	if !c.desk.begin(ctx, w, c.caller) {
		result, err = c.refuse(ctx, need, Full, "too many calls wait for an approval: wait for the decisions about yours, and try again")
		return result, err, true
	}
	defer c.desk.places.Give(c.caller)
	c.await(ctx, w)
	c.waited = time.Since(c.began)
	for _, p := range w.Parts {
		if p.By != "" {
			c.by = append(c.by, Part{Role: p.Role, By: p.By})
			c.approved = append(c.approved, rules.Approved{Role: p.Role, Self: p.bySelf})
		}
	}
	switch w.outcome {
	case Approved:
		return result, nil, false
	case Left:
		c.note(ctx, Left, "", "")
		return result, context.Cause(ctx), true
	case Expired:
		result, err = c.refuse(ctx, need, Expired, fmt.Sprintf("no caller of the role %s approved it within %s: make the call again, and ask %s to approve it", openRoles(w.Parts), brief(w.Until.Sub(w.Since)), c.desk.approvers()))
		return result, err, true
	}
	c.by = []Part{{Role: w.role, By: w.by}}
	result, err = c.refuse(ctx, need, Refused, fmt.Sprintf("a caller of the role %q refused it: %s", w.role, cmp.Or(w.reason, "no reason was given: ask a user with this role")))
	return result, err, true
}

// approvers describes the users whom a caller can ask for an approval.
func (d *Desk) approvers() string {
	if d.options.Team != nil {
		if at := d.options.Team(); at != "" {
			return "a user with this role, at " + at + ","
		}
	}
	return "the operator of this gateway"
}

// openRoles returns the names of the roles that have not approved.
func openRoles(parts []Part) string {
	var roles []string
	for _, p := range parts {
		if p.By == "" {
			roles = append(roles, fmt.Sprintf("%q", p.Role))
		}
	}
	return strings.Join(roles, ", or of ")
}

// await waits for the outcome of a waiting call. Meanwhile it sends progress to its client.
func (c *pending) await(ctx context.Context, w *waiting) {
	over := time.NewTimer(time.Until(w.Until))
	defer over.Stop()
	tick := time.NewTicker(progressPause)
	defer tick.Stop()
	end := func(outcome string) {
		if c.desk.endShared(ctx, w, outcome) {
			return
		}
		c.desk.mu.Lock()
		defer c.desk.mu.Unlock()
		c.desk.end(w, outcome)
	}
	text := func() string {
		c.desk.mu.Lock()
		defer c.desk.mu.Unlock()
		return fmt.Sprintf("waits for the approval of the role %s, as %s, until %s", openRoles(w.Parts), w.ID, w.Until.UTC().Format(time.TimeOnly+" UTC"))
	}
	for ticks := 1; ; ticks++ {
		// The values are tiny, so that those of the call itself are larger.
		_ = mcp.Progress(mcp.WithRequest(ctx, c.req), float64(ticks)*1e-9, 0, text()) // ctx ends if the client disconnected
		select {
		case <-w.done:
			return
		case <-over.C:
			end(Expired)
		case <-ctx.Done():
			end(Left)
		case <-tick.C:
		}
	}
}

// shown returns the arguments as those who decide see them. It returns an error if they are too
// large to be reviewed, as they must not decide about a part of them.
func (c *pending) shown() (string, error) {
	data := c.req.Arguments
	if len(data) == 0 {
		return "", nil
	}
	if c.of.Arguments != nil {
		data = c.of.Arguments(c.req, data)
	}
	kept, whole := redact.JSON(data, redact.Limits{Text: maxShown, Bytes: maxShown, Depth: maxShownDepth})
	text := plaintext.Unbroken(string(kept))
	if !whole || len(text) > maxShown {
		return "", fmt.Errorf("a role must approve it, and the arguments have %d bytes; callers can review at most %d", len(c.req.Arguments), maxShown)
	}
	return text, nil
}

// refuse returns the outcome of a call that is not approved, and notes the reason.
func (c *pending) refuse(ctx context.Context, need *rules.Needed, outcome, why string) (mcp.Result, error) {
	rule := need.Parts[0]
	if i := slices.IndexFunc(need.Parts, func(p rules.Part) bool { return len(c.by) > 0 && p.Role == c.by[0].Role }); i >= 0 {
		rule = need.Parts[i]
	}
	c.note(ctx, outcome, rule.Rule, why)
	return rules.Refuse(c.req, why)
}

// note notes the outcome.
func (c *pending) note(ctx context.Context, outcome, rule, reason string) {
	n := mcp.NoteObserverOf(ctx, note.Approved)
	if n == nil {
		return
	}
	one := note.Approval{Server: c.of.Name, Outcome: outcome, Rule: rule, Reason: reason, Waited: c.waited, Counted: outcome == Full}
	var by, roles []string
	for _, p := range c.by {
		by, roles = append(by, p.By), append(roles, p.Role)
	}
	one.By, one.Role = strings.Join(slices.Compact(by), ", "), strings.Join(roles, ", ")
	n.Note(note.Approved, one)
}
