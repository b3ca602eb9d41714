package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/host/internal/history"
	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/model"
)

// ErrEmpty says that a model did not say anything, even when it was asked again.
var ErrEmpty = errors.New("the model answered with nothing, twice; ask again, or ask another model")

var errTimeLimit = errors.New("the run's time is over")

const (
	settleTime = 15 * time.Second // how long a run waits for servers that are still connecting
	maxPauses  = 8                // times in a row a model may ask to be asked again
)

// The reasons why a run is over, which [Answered] names.
const (
	stopEnd       = "end"
	stopSteps     = "steps"
	stopTime      = "time"
	stopTokens    = "tokens"
	stopMoney     = "money"
	stopLoop      = "loop"
	stopLength    = "length"
	stopRefusal   = "refusal"
	stopCancelled = "cancelled"
	stopError     = "error"
)

// StopCutOff is how a run ended, in [Ended], whose program ended before.
const StopCutOff = "cut off"

// A run is what happens between a question and its answer.
type run struct {
	c       *Conversation
	h       *Host
	number  int
	step    atomic.Int32
	sharing int // results that come together share the room for one
	account account
	noted   map[model.Note]bool // of the adapter, that were reported already
	said    string              // by the person
	asked   bool                // whether the question stands in the conversation
	text    string              // of the last answer
	refused string              // see Answer.Refused

	unmadeYet []string // IDs of the calls that the model wants, while none of them is made
	toolset
}

func newRun(c *Conversation) *run {
	c.mu.Lock()
	number := c.runs + 1
	c.mu.Unlock()
	r := &run{c: c, h: c.host, number: number, sharing: 1, noted: map[model.Note]bool{}}
	r.account.limits = c.host.options.Limits
	if parent := r.parent(); parent != nil {
		r.account.limits, r.account.above, r.said = c.agent.Limits, &parent.account, parent.said
	}
	return r
}

func (r *run) notice(kind, format string, args ...any) {
	r.tell(Event{Notice: &Notice{Kind: kind, Text: fmt.Sprintf(format, args...)}})
}

// answer is one run, from the question to the end, whatever the end is.
func (r *run) answer(ctx context.Context, q Question) (Answer, error) {
	began := time.Now()
	if r.parent() == nil {
		defer r.c.decider.Answered()
	}
	stop, err := r.work(ctx, q)
	if err != nil && ctx.Err() != nil {
		stop = stopCancelled
		if errors.Is(err, context.Canceled) {
			err = context.Cause(ctx)
		}
		if errors.Is(context.Cause(ctx), errTimeLimit) {
			stop, err = stopTime, nil
			if most := r.account.limits.Time; most > 0 { // else it was the parent's, which says so
				r.notice(NoticeLimit, "the run was ended after %v", most)
			}
		}
	}
	used := r.account.used() != Totals{}
	r.account.use(Totals{Duration: time.Since(began)})
	totals := r.account.used()
	stop = cmp.Or(stop, stopError)
	if used || r.asked { // a run that ended before its question leaves nothing to go on with
		var ended *Ended // nil where it has a whole answer
		if err != nil {
			ended = &Ended{stop, err.Error()}
		} else if stop != stopEnd {
			ended = &Ended{Stop: stop}
		}
		err = errors.Join(err, r.finish(&totals, ended))
	}
	answer := Answer{Text: r.text, Stop: stop, Totals: totals, Refused: r.refused}
	answered := Answered{Text: answer.Text, Stop: stop, Totals: totals, Cost: totals.Cost}
	if err != nil {
		answered.Error = err.Error()
	}
	r.tell(Event{Answered: &answered})
	return answer, err
}

// putDown records the messages of a question; people see shown, if there is any, in place of the last.
func (r *run) putDown(messages []model.Message, shown string) error {
	for i := range messages {
		e := Entry{Message: &messages[i]}
		if i == len(messages)-1 {
			e.Shown = shown
		}
		if err := r.c.add(e); err != nil {
			return err
		}
		r.asked = true
	}
	return nil
}

// finish records what was read and used. Totals say that there is nothing more to know of
// what was read, so they come last.
func (r *run) finish(totals *Totals, ended *Ended) error {
	if err := r.c.saveFlow(); err != nil {
		return err
	}
	return r.c.add(Entry{Totals: totals, Ended: ended})
}

func (r *run) work(ctx context.Context, q Question) (stop string, err error) {
	r.chosen = r.within(q.Tools)
	if err := r.begin(ctx); err != nil {
		return stopError, err
	}
	if r.parent() == nil && !q.Relayed {
		r.said = q.Text
	}
	messages, err := r.question(ctx, q)
	if err != nil {
		return stopError, err
	}
	if r.c.cutOff { // else what is asked now would be a part of that run
		if err := r.finish(&Totals{}, &Ended{Stop: StopCutOff}); err != nil {
			return stopError, err
		}
		r.c.cutOff = false
	}
	if err := r.putDown(messages, q.Shown); err != nil {
		return stopError, err
	}
	pauses, empty, loop := 0, 0, history.Loop{}
	for {
		if stop, why := r.account.step(); stop != "" {
			r.notice(NoticeLimit, "%s", why)
			return stop, nil
		}
		if err := r.refresh(ctx); err != nil {
			return stopError, err
		}
		response, err := r.ask(ctx)
		if err != nil {
			return stopError, err
		}
		calls := response.Message.Calls()
		switch {
		case len(calls) > 0:
			pauses, empty = 0, 0
			if stop, err := r.carryOut(ctx, calls, &loop); stop != "" || err != nil {
				return stop, err
			}
			continue
		case response.Stop == model.StopPause && pauses < maxPauses:
			pauses++
			parts := response.Message.Parts // a provider goes on by itself only from a block of its own
			if len(parts) > 0 && !slices.ContainsFunc(parts, func(p model.Part) bool { return p.Opaque != nil }) {
				if err := r.c.say(model.UserText("Go on.")); err != nil {
					return stopError, err
				}
			}
			continue
		case r.text == "" && response.Stop == model.StopEnd && empty == 0:
			empty++
			continue
		case r.text == "" && response.Stop == model.StopEnd:
			return stopError, ErrEmpty
		}
		return r.stopped(response), nil
	}
}

// begin waits for servers, asks the person about what is new of them, and tells which tools there are.
func (r *run) begin(ctx context.Context) error {
	settling, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	_ = r.h.Settle(settling) // who comes later is reported when it comes
	if err := r.refresh(ctx); err != nil {
		return err
	}
	tools := r.tools()
	listed := Listed{Servers: r.h.standings(r.catalogue), Native: len(tools), Tokens: window.TokensOf(tools)}
	if r.deferred() {
		listed.Deferred = len(r.catalogue.tools) - (len(tools) - len(builtins()))
	}
	r.tell(Event{Listed: &listed})
	if info := r.h.options.Model.Info(); !info.Language && r.number == 1 && r.parent() == nil {
		r.notice(NoticeOffline, "%s is not a language model: it finds a tool by the words of the question and fills in what it finds there", info.Name)
	}
	return ctx.Err()
}

// stopped says why a model that calls nothing has stopped.
func (r *run) stopped(response *model.Response) string {
	switch response.Stop {
	case model.StopLength:
		r.notice(NoticeStop, "the answer was cut at the limit of tokens (%s); ask it to go on", cmp.Or(response.StopDetail, "length"))
		return stopLength
	case model.StopRefusal:
		r.notice(NoticeStop, "the model, or a filter of its provider, refused to answer (%s)", cmp.Or(response.StopDetail, "refusal"))
		return stopRefusal
	case model.StopOther, model.StopPause:
		r.notice(NoticeStop, "the model stopped for a reason that junction does not know: %s", cmp.Or(response.StopDetail, "none given"))
	}
	return stopEnd
}

// ask asks the model for its next message and keeps it.
func (r *run) ask(ctx context.Context) (*model.Response, error) {
	r.step.Add(1)
	if err := r.prepareStep(ctx); err != nil {
		return nil, err
	}
	if err := r.makeRoom(ctx, false); err != nil {
		return nil, err
	}
	response, err := r.generate(ctx)
	if errors.Is(err, model.ErrWindow) {
		if err := r.fitAfter(ctx, err); err != nil {
			return nil, err
		}
		response, err = r.generate(ctx)
	}
	if err != nil {
		if response == nil {
			return nil, err
		}
		r.text = strings.ToValidUTF8(response.Message.Text(), "\uFFFD") // the person has seen it; its calls are not carried out
		if strings.TrimSpace(r.text) != "" {
			_ = r.c.say(model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: r.text}}})
		}
		return nil, err
	}
	if !history.HasContent(&response.Message) {
		r.text = ""
		return response, nil
	}
	r.text = response.Message.Text()
	return response, r.c.say(response.Message)
}

// generate makes one request.
func (r *run) generate(ctx context.Context) (*model.Response, error) {
	request, began := r.request(), time.Now()
	asked, exchanges := r.watched(request)
	r.tell(Event{Asked: &asked})
	response, err := r.h.options.Model.Generate(ctx, request, r.delta)
	if response == nil {
		err = orNothing(response, err)
		r.tell(Event{Generated: &Generated{For: ForStep, Asked: asked, Error: err.Error(), Duration: time.Since(began), Exchanges: *exchanges}})
		return nil, err
	}
	r.c.mu.Lock()
	history.Fit(&response.Message, r.c.ids, func() string { return fmt.Sprintf("call_%d_%d", r.number, len(r.c.ids)+1) }) // before it is reported
	r.c.mu.Unlock()
	used := r.charge(request, response)
	r.c.view.Counted(asked.Tokens, response.Usage)
	for _, note := range response.Notes {
		r.lowered(note)
	}
	r.tell(Event{Decided: &Decided{Message: &response.Message, Stop: response.Stop, StopDetail: response.StopDetail, Usage: response.Usage, Cost: used.Cost, CostUnknown: used.CostUnknown, Exchanges: *exchanges}})
	return response, err
}

func orNothing(response *model.Response, err error) error {
	if response == nil && err == nil {
		return errors.New("the model returned neither an answer nor an error")
	}
	return err
}

// charge counts what a request cost, by the lengths of the texts where the provider did not count.
func (r *run) charge(request *model.Request, response *model.Response) Totals {
	if response.Usage == (model.Usage{}) {
		response.Usage = model.Usage{Input: window.TokensOfRequest(request), Output: window.TokensOfMessage(&response.Message), Estimated: true}
	}
	info := r.h.options.Model.Info()
	used := Totals{Usage: response.Usage, Cost: info.Price.Cost(response.Usage), CostUnknown: info.Language && !info.Price.Known(), Requests: 1}
	r.account.use(used)
	return used
}

func (r *run) delta(d model.Delta) {
	r.retried(d)
	r.tell(Event{Delta: &d})
}

// retried tells that the provider is asked again.
func (r *run) retried(d model.Delta) {
	if d.Retry != nil {
		r.notice(NoticeRetry, "attempt %d failed, the next is in %v: %v", d.Retry.Attempt, d.Retry.After.Round(time.Millisecond), d.Retry.Err)
	}
}

// lowered tells once what the adapter did to a tool.
func (r *run) lowered(note model.Note) {
	if r.noted[note] {
		return
	}
	r.noted[note] = true
	n := Notice{Kind: NoticeLowered, Tool: note.Tool, Text: note.Text}
	if t := r.catalogue.byName[note.Tool]; t != nil {
		n.Server, n.Tool = t.ref.Server, t.ref.Tool
	}
	if note.SetAside {
		n.Text = "was set aside: " + n.Text
	}
	r.tell(Event{Notice: &n})
}

// carryOut carries out the calls of one turn and keeps their results.
func (r *run) carryOut(ctx context.Context, calls []*model.Call, loop *history.Loop) (stop string, err error) {
	r.sharing = len(calls)
	results, failed := r.execute(ctx, calls)
	times := loop.Turn(calls, results)
	if times == history.LoopWarn {
		last := results[len(results)-1]
		last.Parts = append(last.Parts, model.Part{Text: fmt.Sprintf("[The same calls came with the same results %d times in a row. Do something else, or answer with what is known.]", times)})
		r.notice(NoticeLoop, "the model repeats itself (%d times); it was warned", times)
	}
	reply := model.Message{Role: model.RoleTool}
	for _, result := range results {
		reply.Parts = append(reply.Parts, model.Part{Result: result})
	}
	if err := errors.Join(r.c.say(reply), failed); err != nil {
		return "", err
	}
	if times >= history.LoopStop {
		r.notice(NoticeLoop, "the run was ended: the model made the same calls %d times in a row", times)
		return stopLoop, nil
	}
	return "", ctx.Err()
}

// An account counts what a run used, its child conversations included, and knows its
// limits. Calls, and servers that use the model, count at the same time.
type account struct {
	limits Limits
	above  *account // of the run to whose call this one belongs; nil if to none

	mu     sync.Mutex
	totals Totals
	steps  int
}

// use counts what was used. The time above runs by itself.
func (a *account) use(t Totals) {
	for ; a != nil; a, t.Duration = a.above, 0 {
		a.mu.Lock()
		a.totals = a.totals.add(t)
		a.mu.Unlock()
	}
}

// used is what was used so far.
func (a *account) used() Totals {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.totals
}

// step takes one more request to the model, or says at which limit the run must end: its own, or one of those above.
func (a *account) step() (stop, why string) {
	for ; a != nil; a = a.above {
		if stop, why = a.take(); stop != "" {
			return stop, why
		}
	}
	return "", ""
}

func (a *account) take() (stop, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	most, tokens := a.limits, a.totals.Usage.Input+a.totals.Usage.Output
	switch {
	case a.steps >= cmp.Or(most.Steps, defaultSteps):
		return stopSteps, fmt.Sprintf("the run was ended at its limit of requests to the model, %d; ask it to go on", a.steps)
	case most.Tokens > 0 && tokens >= most.Tokens:
		return stopTokens, fmt.Sprintf("the run was ended after %d tokens, of %d allowed", tokens, most.Tokens)
	case most.Money > 0 && a.totals.Cost >= most.Money:
		return stopMoney, fmt.Sprintf("the run was ended after $%.4f, of $%.4f allowed", a.totals.Cost, most.Money)
	}
	a.steps++
	return "", ""
}

// watched is what is reported of a request, and where its exchanges will be.
func (r *run) watched(request *model.Request) (Asked, *[]model.Exchange) {
	exchanges := new([]model.Exchange)
	asked := Asked{Model: r.h.options.Model.Info().Name, Messages: len(request.Messages), Tools: len(request.Tools), Tokens: window.TokensOfRequest(request)}
	if r.h.options.Trace {
		request.Tap = func(e model.Exchange) { *exchanges = append(*exchanges, e) }
		asked.Request = request
	}
	return asked, exchanges
}

// outside asks the model for what belongs to none of the seven steps, counts what it cost, and tells it: whoever
// follows a run must see all that is paid for. The answer is there, too, where it broke off with an error.
func (r *run) outside(ctx context.Context, request *model.Request, generated Generated) (*model.Response, error) {
	began := time.Now()
	asked, exchanges := r.watched(request)
	response, err := r.h.options.Model.Generate(ctx, request, r.retried)
	generated.Asked, generated.Exchanges, generated.Duration = asked, *exchanges, time.Since(began)
	if response != nil {
		used := r.charge(request, response)
		generated.Decided = &Decided{Message: &response.Message, Stop: response.Stop, StopDetail: response.StopDetail, Usage: response.Usage, Cost: used.Cost, CostUnknown: used.CostUnknown}
	}
	if err = orNothing(response, err); err != nil {
		generated.Error = err.Error()
	}
	r.tell(Event{Generated: &generated})
	return response, err
}
