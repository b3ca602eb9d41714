package audit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/resent"
	"github.com/junction-mcp/junction/internal/secret"
	"github.com/junction-mcp/junction/mcp"
)

// What a line keeps.
const (
	maxWords  = 500 // characters of a name or a reason
	maxScopes = 50  // scopes of a user
)

// CallOptions say what lines tell of requests; the zero value of each field means its default.
type CallOptions struct {
	// Methods are those that are written down; default tools/call, prompts/get and resources/read.
	Methods []string
	// Describe fills in what the request alone does not tell: Server, Tool, Hash, Annotations, Profile. It is called
	// before the request is handled, and must not keep r.
	Describe func(req *mcp.Request, r *Record)
	// Arguments and Result are shown what was asked and what was answered, one JSON object each, and
	// return what of it is kept; nil keeps nothing. See [Redacted]. They must not change data.
	Arguments, Result func(req *mcp.Request, data json.RawMessage) json.RawMessage
}

// Calls returns middleware that writes a line for each request when it was handled, and passes its
// answer on when the line is on the disk. Where that fails, the answer is withheld, and further
// requests are refused before they are handled, unless Options.GoOn is set. Middleware behind it adds
// lines of its own with [Decided].
func (l *Log) Calls(o CallOptions) mcp.Middleware {
	if o.Methods == nil {
		o.Methods = []string{"tools/call", "prompts/get", "resources/read"}
	}
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if !slices.Contains(o.Methods, req.Method) {
				return next.Handle(ctx, req)
			}
			if err := l.Refused(); err != nil {
				return mcp.Result{}, unavailable("was not handled")
			}
			r := newRecord(req)
			if o.Describe != nil {
				o.Describe(req, r)
			}
			l.running.Add(1)
			defer l.running.Add(-1)
			c := &call{log: l, record: *r}
			counted, again := resent.Counted(context.WithValue(ctx, callKey{}, c))
			result, err := next.Handle(counted, req)
			r.Resent = again.Times()
			c.allowed(r)
			r.Time = time.Now()
			r.Duration = r.Time.Sub(r.began)
			o.finish(ctx, req, r, &result, err)
			if lost := l.Append(r); lost != nil && !l.options.GoOn {
				return mcp.Result{}, unavailable("was handled, and its result is withheld")
			}
			return result, err
		})
	}
}

// unavailable is the error of a request that cannot be written down. Why is in the operator's log: it
// names files.
func unavailable(what string) error {
	return mcp.Errorf(mcp.CodeInternalError, "the request %s: %v; the log of junction says why", what, ErrUnavailable)
}

// newRecord says who asks for what.
func newRecord(req *mcp.Request) *Record {
	r := &Record{Kind: KindCall, Call: rand.Text()[:16], Method: req.Method, Name: words(req.Name), Round: req.Round, Sent: len(req.Params), began: time.Now()}
	if req.Method == "resources/read" {
		r.Name = words(secret.URI(req.Name))
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
	if parts := strings.Split(req.Meta.TraceParent, "-"); len(parts) == 4 && len(parts[1]) == 32 {
		r.Trace = parts[1]
	}
	return r
}

func words(text string) string { return plaintext.Line(text, maxWords) }

// finish says how the request ended.
func (o *CallOptions) finish(ctx context.Context, req *mcp.Request, r *Record, result *mcp.Result, err error) {
	outcome := mcp.OutcomeOf(ctx, result, err)
	r.Outcome = string(outcome)
	if o.Arguments != nil && len(req.Arguments) > 0 {
		r.Arguments = o.Arguments(req, req.Arguments)
	}
	if err != nil {
		if outcome == mcp.OutcomeError {
			r.Code, r.Reason = mcp.ErrorOf(err).Code, words(secret.Text(err.Error(), maxKeptText))
		}
		return
	}
	body, err := result.Encoded()
	if err != nil {
		r.Reason = words("the result cannot be encoded: " + err.Error())
		return
	}
	result.JSON = body // encoded once, also for who sends it
	r.Received = len(body)
	if o.Result != nil {
		r.Result = o.Result(req, body)
	}
}

// callKey is the key of a context's *call.
type callKey struct{}

// A call is what decisions about a request share with its line.
type call struct {
	log    *Log
	record Record

	mu           sync.Mutex
	rule, reason string // that allowed it; empty if none did
	allow        bool
}

// allowed says in the line of a request what allowed it.
func (c *call) allowed(r *Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.allow {
		r.Decision, r.Rule, r.Reason = Allowed, c.rule, c.reason
	}
}

// Allowed is the decision that lets a request be handled.
const Allowed = "allow"

// Decided writes down whether the request with the context ctx may be handled, and why: allow, ask or
// deny, and the rule that says so. What allows it stands in the line of the request; anything else has a
// line of its own before that. Without [Log.Calls] around it does nothing.
func Decided(ctx context.Context, decision, rule, reason string) {
	c, _ := ctx.Value(callKey{}).(*call)
	if c == nil {
		return
	}
	if decision == Allowed {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.allow, c.rule, c.reason = true, words(rule), words(reason)
		return
	}
	r := c.record
	r.Kind, r.Time, r.Sent = KindDecision, time.Time{}, 0
	r.Decision, r.Rule, r.Reason = decision, words(rule), words(reason)
	_ = c.log.Note(&r) // the line of the request says whether lines can be written
}

// HashOf is a hash of a tool's definition, to find calls of the same one: the first 96 bits of its
// SHA-256, in hexadecimal digits.
func HashOf(definition json.RawMessage) string {
	sum := sha256.Sum256(definition)
	return hex.EncodeToString(sum[:12])
}

// HintsOf are the hints of a tool's definition that are said, as rules know them: {"readOnly":true}; nil if none is.
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
