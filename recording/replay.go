package recording

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// maxDifferences is the largest number of differences that a Replay stores.
	maxDifferences = 1_000
	// maxPause is the longest pause between two events of a call in a Replay.
	maxPause = 10 * time.Minute
	// cancelTime is how long a Replay waits for the client to cancel a call that was cancelled in
	// the recording.
	cancelTime = 30 * time.Second
)

// ReplayOptions configure a Replay. A zero field means its default.
type ReplayOptions struct {
	// Server is the name of the server to replay. It is required if the recording has several
	// servers.
	Server string
	// Speed divides the recorded pauses: 2 halves them. 0 means no pauses.
	Speed float64
	// Strict makes a request out of order an error, and makes [Replay.Differences] report every
	// difference from the recording. Ids and times that vary are not differences.
	Strict bool
	// OnDifference is called for each request that is not in the recording. With Strict it is
	// called for every difference.
	OnDifference func(text string)
}

// A Replay is an [mcp.Handler] that responds as the recorded server did. Recorded responses to
// equal requests are used in order, each once. After the last one, that one is repeated.
type Replay struct {
	options  ReplayOptions
	discover *mcp.Result // description of the server; nil if it was not recorded
	calls    []*call     // all calls except requests for discover and listen
	outside  []*outside  // messages that the server sent outside of calls
	log      recorded

	capabilities mcp.ServerCapabilities // capabilities in discover

	mu          sync.Mutex
	used        map[*call]bool
	begun       map[*call]bool
	ended       map[*call]bool
	changed     chan struct{} // closed and replaced when begun or ended changes
	differences []string
	more        int // number of differences that were not stored
}

// recorded holds calls by method and name.
type recorded map[subject][]*call

type subject struct{ method, name string }

func subjectOf(method string, params json.RawMessage) subject {
	return subject{method, mcp.NewRequest(method, params).Name}
}

// NewReplay returns a replay of one server in a recording.
func NewReplay(r *Recording, o ReplayOptions) (*Replay, error) {
	servers := r.Servers()
	switch {
	case len(servers) == 0:
		return nil, fmt.Errorf("the recording has no request")
	case o.Server == "" && len(servers) > 1:
		return nil, fmt.Errorf("the recording has several servers: name one of %q", servers)
	case o.Server == "":
		o.Server = servers[0]
	case !slices.Contains(servers, o.Server):
		return nil, fmt.Errorf("the recording has no server %q; it has %q", o.Server, servers)
	}
	if math.IsNaN(o.Speed) || o.Speed < 0 {
		return nil, fmt.Errorf("the speed %v is negative", o.Speed)
	}
	p := &Replay{options: o, log: recorded{}, used: map[*call]bool{}, begun: map[*call]bool{}, ended: map[*call]bool{}, changed: make(chan struct{})}
	var listens []*call
	for _, c := range r.calls {
		switch {
		case c.server != o.Server || c.omitted:
		case c.method == methodListen:
			listens = append(listens, c)
		case c.method == methodDiscover:
			if last := c.end(); p.discover == nil && last != nil && last.kind == eventResult && !last.lost {
				p.discover = &last.result
			}
		case c.method != methodPing:
			p.calls = append(p.calls, c)
			about := subjectOf(c.method, c.params)
			p.log[about] = append(p.log[about], c)
		}
	}
	if p.discover != nil {
		var said mcp.DiscoverResult
		_ = schema.DecodeLoose(p.discover.JSON, &said) // members that cannot be decoded stay empty
		p.capabilities = said.Capabilities
	}
	p.outside = outsideOf(listens, p.calls)
	return p, nil
}

// end returns the last step of a call, or nil if the call did not end.
func (c *call) end() *step {
	if c.lastLine == 0 {
		return nil
	}
	return &c.steps[len(c.steps)-1]
}

// Handle returns the recorded response to a request.
func (p *Replay) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	switch req.Method {
	case methodPing:
		return mcp.Result{}, nil
	case methodListen:
		return p.listen(ctx, req)
	case methodDiscover:
		if p.discover == nil {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the recording does not describe the server")
		}
		return *p.discover, nil
	}
	if c, from, pairs := p.resumed(req); c != nil {
		return p.play(ctx, req, c, from, pairs)
	}
	c, pairs, err := p.choose(req)
	if err != nil {
		return mcp.Result{}, err
	}
	return p.play(ctx, req, c, 0, pairs)
}

// choose returns the recorded call for a request and marks it as used. If there is none, it records
// a difference and returns an error.
func (p *Replay) choose(req *mcp.Request) (*call, []pair, error) {
	c, pairs, difference := p.pick(req)
	if difference == "" {
		return c, pairs, nil
	}
	p.differ(difference)
	code := mcp.CodeInvalidParams
	if c == nil && p.log.lacks(req.Method) {
		code = mcp.CodeMethodNotFound
	}
	return nil, nil, mcp.Errorf(code, "%s", difference)
}

// pick returns the recorded call for a request. difference describes a difference from the
// recording, or is "".
func (p *Replay) pick(req *mcp.Request) (c *call, pairs []pair, difference string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, pairs = p.find(req); c == nil {
		return nil, nil, p.missing(req)
	}
	if p.options.Strict && p.used[c] {
		return c, nil, describe(req.Method, req.Params) + " was requested more often than it was recorded"
	}
	p.used[c] = true
	if p.options.Strict {
		if before := p.before(c); before != nil {
			difference = fmt.Sprintf("%s was requested before %s, which comes first in the recording", describe(req.Method, req.Params), describe(before.method, before.params))
		}
	}
	return c, pairs, difference
}

// find returns the recorded call for a request, or nil. A call with equal parameters is preferred
// to one whose varying parts differ. find returns the first unused one, or else the last used one.
func (p *Replay) find(req *mcp.Request) (*call, []pair) {
	for _, templates := range []bool{false, true} {
		var last *call
		var pairs []pair
		for _, c := range p.log[subjectOf(req.Method, req.Params)] {
			compare := comparison{templates: templates}
			if !compare.params(c.params, req.Params) {
				continue
			}
			last, pairs = c, compare.pairs
			if !p.used[c] {
				return c, pairs
			}
		}
		if last != nil {
			return last, pairs
		}
	}
	return nil, nil
}

// before returns an unused call that ended before c began, or nil.
func (p *Replay) before(c *call) *call {
	for _, other := range p.calls {
		if other.line >= c.line {
			return nil
		}
		if !p.used[other] && other.lastLine > 0 && other.lastLine < c.line {
			return other
		}
	}
	return nil
}

func (r recorded) lacks(method string) bool {
	for about := range r {
		if about.method == method {
			return false
		}
	}
	return true
}

// missing describes a request that is not in the recording, and names similar recorded ones.
func (p *Replay) missing(req *mcp.Request) string {
	const shown = 3
	what := describe(req.Method, req.Params)
	others := p.log[subjectOf(req.Method, req.Params)]
	if len(others) == 0 {
		var names []string
		for _, c := range p.calls {
			if name := quotedName(c.method, c.params); c.method == req.Method && name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		switch {
		case len(names) == 0:
			return fmt.Sprintf("the recording has no %s", req.Method)
		case len(names) > 10:
			names = append(names[:10], "…")
		}
		return fmt.Sprintf("the recording has no %s, but those of %s", what, strings.Join(names, ", "))
	}
	var with []string
	for _, c := range others[:min(len(others), shown)] {
		with = append(with, describeParams(c.params))
	}
	if len(others) > shown {
		with = append(with, fmt.Sprintf("%d more", len(others)-shown))
	}
	return fmt.Sprintf("the recording has no %s, but with %s", what, strings.Join(with, ", "))
}

// describe describes a request by its method, name and parameters.
func describe(method string, params json.RawMessage) string {
	text := method
	if name := quotedName(method, params); name != "" {
		text += " " + name
	}
	return text + " with " + describeParams(params)
}

func quotedName(method string, params json.RawMessage) string {
	name := mcp.NewRequest(method, params).Name
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%q", plaintext.Line(name, 100))
}

// describeParams returns the parameters that distinguish requests with the same method and name.
func describeParams(params json.RawMessage) string {
	const longest = 200
	if len(params) > 0 {
		params = jsonrpc.Without(params, "_meta", "name", "uri", "inputResponses", "requestState")
	}
	if arguments := jsonrpc.Get(params, "arguments"); arguments != nil {
		params = arguments
	}
	if len(params) == 0 {
		params = json.RawMessage(`{}`)
	}
	return plaintext.Line(string(new(hider).json(params)), longest)
}

// differ stores a difference and reports it to OnDifference.
func (p *Replay) differ(text string) {
	p.mu.Lock()
	if len(p.differences) < maxDifferences {
		p.differences = append(p.differences, text)
	} else {
		p.more++
	}
	p.mu.Unlock()
	if p.options.OnDifference != nil {
		p.options.OnDifference(text)
	}
}

// Differences returns the requests so far that are not in the recording. With
// [ReplayOptions.Strict] it returns every difference, including calls that no client repeated.
func (p *Replay) Differences() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Clone(p.differences)
	if p.more > 0 {
		all = append(all, fmt.Sprintf("%d more differences", p.more))
	}
	if !p.options.Strict {
		return all
	}
	for _, c := range p.calls {
		if len(all) > maxDifferences {
			break
		}
		if !p.used[c] {
			all = append(all, describe(c.method, c.params)+" was recorded but never requested")
		}
	}
	return all
}
