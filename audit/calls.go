package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// The limits of a line.
const (
	maxWords  = 500 // largest number of characters of a name or a reason
	maxScopes = 50  // largest number of scopes of a user
)

// methodTask is the method that clients repeat to learn the state of a task.
const methodTask = "tasks/get"

// The states of a task other than success.
const (
	taskWorking   = "working"
	taskAsks      = "input_required"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// CallOptions select the logged requests and the content of their lines. A zero field means its
// default.
type CallOptions struct {
	// Methods are the logged methods. The default is the methods that use a tool, a prompt, a
	// resource or a skill, and those about tasks. A tasks/get is logged only if its task has ended
	// or if the request itself failed.
	Methods []string
	// Describe sets the fields that the request does not determine: Server, Tool, Hash, Annotations
	// and Profile. It is called before the request is handled, and must not keep r.
	Describe func(req *mcp.Request, r *Record)
	// Arguments and Result get the arguments and the result, each as a JSON object, and return the
	// part to log. If they are nil, nothing is logged. They must not change data. See [Redacted].
	Arguments, Result func(req *mcp.Request, data json.RawMessage) json.RawMessage
}

// Calls returns middleware that writes a line for each request after the request is handled. It
// returns the response when the line is on disk. If the line cannot be written, it withholds the
// response and refuses further requests, unless Options.GoOn is set. Inner middleware can note a
// decision about the request (see [mcp.NoteObserverOf]). If the decision allows the request, it is
// part of the request's line. Otherwise it has its own line before that.
func (l *Log) Calls(o CallOptions) mcp.Middleware {
	if o.Methods == nil {
		o.Methods = []string{"tools/call", "prompts/get", "resources/read", "skills/get", "resources/directory/read", methodTask, "tasks/list", "tasks/update", "tasks/cancel"}
	}
	// Calls is not an event.Sink, because a Sink can neither refuse a request nor withhold its
	// result.
	lines := sync.Pool{New: func() any { return new(Record) }}
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if !slices.Contains(o.Methods, req.Method) {
				return next.Handle(ctx, req)
			}
			if err := l.Refused(); err != nil {
				return mcp.Result{}, unavailable("was not handled")
			}
			c := &call{ctx: ctx, log: l}
			r := lines.Get().(*Record)
			defer lines.Put(r) // no other code keeps r
			r.about(req)
			if o.Describe != nil {
				o.Describe(req, r)
			}
			l.running.Add(1)
			defer l.running.Add(-1)
			c.record = *r
			c.outer, _ = ctx.Value(note.Key{}).(note.Observer)
			result, err := next.Handle(mcp.WithNoteObserver(ctx, c), req)
			r.Resent = int(c.resent.Load())
			r.Task = tasks.ID(ctx)
			c.allowed(r)
			if tool := c.about.Load(); tool != nil && o.Describe != nil {
				o.Describe(&mcp.Request{Method: "tools/call", Name: *tool}, r)
			}
			r.Time = time.Now()
			r.Duration = r.Time.Sub(r.began)
			if goesOn := o.finish(ctx, req, r, &result, err); goesOn {
				return result, nil
			}
			if r.refusal = c.denied.Load() || errors.As(err, new(*mcp.ScopeError)); r.refusal && c.isFolded(r, false) {
				return result, err // the refusal is counted and has no line
			}
			if lost := l.Append(r); lost != nil && !l.options.GoOn {
				return mcp.Result{}, unavailable("was handled, and its result is withheld")
			}
			return result, err
		})
	}
}

// unavailable returns the error of a request that cannot be logged. Only the operator's log has the
// reason, because the reason names files.
func unavailable(what string) error {
	return &mcp.Error{Code: mcp.CodeInternalError, Message: fmt.Sprintf("the request %s: %v; the log of junction says why", what, ErrUnavailable), Data: refused.With(nil, refused.Audit)}
}

// about sets the fields for the caller, the method and the subject of a request.
func (r *Record) about(req *mcp.Request) {
	*r = Record{Kind: KindCall, Call: callID(), Method: req.Method, Name: words(req.Name), Round: req.Round, Sent: len(req.Params), began: time.Now()}
	if revision.MethodNamed(req.Method).Kind == revision.OfResource {
		r.Name = words(redact.URI(req.Name))
	}
	if p := req.Principal; p != nil {
		r.Principal, r.Issuer = words(p.Subject), words(p.Issuer)
		for _, scope := range p.Scopes[:min(len(p.Scopes), maxScopes)] {
			r.Scopes = append(r.Scopes, words(scope))
		}
	}
	if c := req.Meta.Client; c != nil {
		r.Client = words(c.Name + "/" + c.Version)
	}
	if parent := req.Meta.TraceParent; parent != "" {
		if parts := strings.Split(parent, "-"); len(parts) == 4 && len(parts[1]) == 32 {
			r.Trace = parts[1]
		}
	}
}

// callID returns an id for the lines of one request. It has 80 random bits, which need not be
// secret.
func callID() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var id [16]byte
	high, low := rand.Uint64(), rand.Uint64()
	for i := range 8 {
		id[i], id[8+i] = letters[high>>(5*i)%32], letters[low>>(5*i)%32]
	}
	return string(id[:])
}

func words(text string) string { return plaintext.Line(text, maxWords) }

// finish sets the outcome of the request. goesOn reports whether the request is a tasks/get of a
// task that has not ended.
func (o *CallOptions) finish(ctx context.Context, req *mcp.Request, r *Record, result *mcp.Result, err error) (goesOn bool) {
	outcome := mcp.OutcomeOf(ctx, result, err)
	r.Outcome = string(outcome)
	if o.Arguments != nil && len(req.Arguments) > 0 {
		r.Arguments = o.Arguments(req, req.Arguments)
	}
	if err != nil {
		if outcome == mcp.OutcomeError {
			r.Code, r.Reason = mcp.ErrorOf(err).Code, words(redact.Text(err.Error(), maxKeptText))
		}
		return false
	}
	body, err := result.Encoded()
	if err != nil {
		r.Reason = words("the result cannot be encoded: " + err.Error())
		return false
	}
	result.JSON = body // the encoded result is also used to send it
	r.Received = len(body)
	if o.Result != nil {
		r.Result = o.Result(req, body)
	}
	return req.Method == methodTask && r.task(body)
}

// task sets the outcome of the call that became the task. goesOn reports whether the task has not
// ended.
func (r *Record) task(body json.RawMessage) (goesOn bool) {
	status, _ := jsonrpc.Unquote(jsonrpc.Get(body, "status"))
	switch status {
	case taskFailed:
		r.Outcome = string(mcp.OutcomeError)
		fault := jsonrpc.Get(body, "error")
		r.Code, _ = strconv.Atoi(string(jsonrpc.Get(fault, "code"))) // 0 without a code
		message, _ := jsonrpc.Unquote(jsonrpc.Get(fault, "message"))
		r.Reason = words(redact.Text(message, maxKeptText))
	case taskCancelled:
		r.Outcome = string(mcp.OutcomeCancelled)
	}
	return status == taskWorking || status == taskAsks
}

// A call is the [mcp.NoteObserver] of a request, which collects notes for its line.
type call struct {
	ctx    context.Context // context of the request
	log    *Log
	record Record        // record of the request as it arrived, for lines about decisions
	outer  note.Observer // of other observers of the request; may be nil
	resent atomic.Int32

	mu           sync.Mutex
	rule, reason string // decision that allowed the request; empty without one
	allow        bool
	rewritten    []string // rewritten parts: note.Arguments, note.Result
	role         string   // let the user use the subject of the request
	approval     note.Approval

	about atomic.Pointer[string] // tool of the task; nil if the request is not about a task

	denied atomic.Bool // set if the request was refused
	fold   sync.Once   // guards folded
	folded bool
}

// isFolded reports whether a refusal of the call is only counted, without a line of its own. Its
// first result stands for all later ones. Thus the log has both lines of a refused request, or
// neither.
func (c *call) isFolded(r *Record, named bool) bool {
	if r.caller = share.Of(c.ctx); r.Principal != "" {
		r.caller = share.Key(r.Issuer, r.Principal, "")
	}
	c.fold.Do(func() {
		if c.folded = !c.log.folds.refused(r, named, time.Now()); c.folded {
			c.log.mu.Lock()
			c.log.arm() // schedules the line with the count
			c.log.mu.Unlock()
		}
	})
	return c.folded
}

// About names the tool of the task that the request with context ctx is about. The tool is logged
// in the request's line. About does nothing unless [Log.Calls] is around the handler.
func About(ctx context.Context, tool string) {
	if c := note.Find[*call](ctx); c != nil && tool != "" {
		c.about.Store(&tool)
	}
}

// allowed adds to the record the decision that allowed the request, and the parts that layers
// rewrote.
func (c *call) allowed(r *Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rewritten) > 0 {
		slices.Sort(c.rewritten)
		r.Rewritten = slices.Clone(c.rewritten)
	}
	r.Role = c.role
	r.approval(&c.approval)
	if c.allow {
		r.Decision, r.Rule, r.Reason = Allowed, c.rule, c.reason
	}
}

// approval sets the fields about the approval of a call.
func (r *Record) approval(a *note.Approval) {
	r.Approver, r.ApproverRole, r.Waited = words(a.By), words(a.Role), a.Waited
}

// Effects of decisions about requests.
const (
	Allowed = "allow" // the request may be handled
	Denied  = "deny"  // the request is refused
)

// Hears reports whether the log, or the NoteObserver of other observers, uses notes of a kind.
func (c *call) Hears(kind string) bool { return note.IsHandling(kind) || note.Hears(c.outer, kind) }

// Unwrap returns the NoteObserver of other observers, or nil.
func (c *call) Unwrap() note.Observer { return c.outer }

// Note implements [mcp.NoteObserver].
func (c *call) Note(kind string, value any) {
	if a, is := value.(note.Approval); is { // before the decision, whose line has it
		c.mu.Lock()
		c.approval = a
		c.mu.Unlock()
	}
	if v, is := value.(note.Decider); is {
		if d, ok := v.Decision(); ok {
			c.decided(&d)
		}
	}
	if note.IsAgain(kind) {
		c.resent.Add(1)
	}
	switch v := value.(type) {
	case note.Change:
		c.mu.Lock()
		if !slices.Contains(c.rewritten, v.Of) {
			c.rewritten = append(c.rewritten, v.Of)
		}
		c.mu.Unlock()
	case note.Granted:
		c.mu.Lock()
		c.role = words(v.Role)
		c.mu.Unlock()
	}
	if note.Hears(c.outer, kind) {
		c.outer.Note(kind, value)
	}
}

// decided logs a decision. A decision that allows the request becomes part of the request's line;
// any other gets a line before it. Repeated equal refusals of a caller are counted, and one line a
// second has the count.
func (c *call) decided(d *note.Decision) {
	if d.Effect == Allowed {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.allow, c.rule, c.reason = true, words(d.Rule), words(d.Reason)
		return
	}
	r := c.record
	c.mu.Lock()
	r.Role = c.role
	r.approval(&c.approval)
	c.mu.Unlock()
	refused := d.Refused && c.resent.Load() == 0 // a request that was sent before it was refused must have its own line
	r.Kind, r.Time, r.Sent, r.refusal = KindDecision, time.Time{}, 0, refused
	r.Decision, r.Rule, r.Reason = d.Effect, words(d.Rule), words(d.Reason)
	if refused {
		if c.denied.Store(true); c.isFolded(&r, !d.Whatever) {
			return
		}
	}
	_ = c.log.Note(&r) // the line of the request reports whether the log can be written
}

// HashOf returns a hash of a tool's definition, for finding calls of the same definition. It is the
// first 96 bits of the SHA-256 in hexadecimal digits.
func HashOf(definition json.RawMessage) string {
	sum := sha256.Sum256(definition)
	return hex.EncodeToString(sum[:12])
}

// HintsOf returns the hints that a tool's definition sets, in the form of rules: {"readOnly":true}.
// It returns nil without hints.
func HintsOf(definition json.RawMessage) json.RawMessage {
	annotations := jsonrpc.Get(definition, "annotations")
	if annotations == nil {
		return nil
	}
	w := jsonrpc.NewObject(make([]byte, 0, 80))
	some := false
	for _, name := range [...]string{"readOnly", "destructive", "idempotent", "openWorld"} {
		if hint := jsonrpc.Get(annotations, name+"Hint"); string(hint) == "true" || string(hint) == "false" {
			w.Raw(name, hint)
			some = true
		}
	}
	if !some {
		return nil
	}
	return w.Bytes()
}
