package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/consent"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/host/internal/history"
	"github.com/junction-mcp/junction/host/internal/outcome"
	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/model"
)

// ErrEmpty reports that a model returned no text, even at the second attempt.
var ErrEmpty = errors.New("the model gave an empty answer twice; ask again, or use another model")

const (
	settleTime = 15 * time.Second // maximum wait for servers that are still connecting
	maxPauses  = 8                // number of times in a row that a model may pause its answer
)

// answer runs a question to its end, whatever the end is, and reports and records the end.
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
			if most := r.account.limits.Time; most > 0 { // otherwise it is the parent's limit, which the parent reports
				r.notice(NoticeLimit, "the run was ended after %v", most)
			}
		}
	}
	used := r.account.used() != Totals{}
	r.account.use(Totals{Duration: time.Since(began)})
	totals := r.account.used()
	stop = cmp.Or(stop, stopError)
	if used || r.asked { // a run that failed before its question needs no record
		var ended *Ended // nil if the answer is complete
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

// putDown records the messages of a question. Users see shown, if it is not empty, in place of the
// last one.
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

// finish records the flow and the totals of a run. Totals mark that no flow is missing, so they
// come last.
func (r *run) finish(totals *Totals, ended *Ended) error {
	if err := r.c.saveFlow(); err != nil {
		return err
	}
	return r.c.add(Entry{Totals: totals, Ended: ended})
}

func (r *run) work(ctx context.Context, q Question) (stop string, err error) {
	r.chosen = r.narrow(q.Tools)
	if err := r.begin(ctx); err != nil {
		return stopError, err
	}
	if r.parent() == nil && !q.Relayed {
		r.userText = q.Text
	}
	messages, err := r.question(ctx, q)
	if err != nil {
		return stopError, err
	}
	if r.c.cutOff { // otherwise the new question would belong to that run
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
			parts := response.Message.Parts // a provider continues only from an opaque block of its own
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

// begin waits for servers, asks the user to review definitions, and reports the tools.
func (r *run) begin(ctx context.Context) error {
	settling, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	_ = r.h.Settle(settling) // servers that connect later are reported later
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
		r.notice(NoticeOffline, "%s is not a language model: it finds a tool by the words of the question, and fills in its arguments from them", info.Name)
	}
	return ctx.Err()
}

// stopped returns the reason for the end of a run whose model requested no calls.
func (r *run) stopped(response *model.Response) string {
	switch response.Stop {
	case model.StopLength:
		r.notice(NoticeStop, "the answer was cut at the limit of tokens (%s); ask the model to continue", cmp.Or(response.StopDetail, "length"))
		return stopLength
	case model.StopRefusal:
		r.notice(NoticeStop, "the model, or a filter of its provider, refused to answer (%s)", cmp.Or(response.StopDetail, "refusal"))
		return stopRefusal
	case model.StopOther, model.StopPause:
		r.notice(NoticeStop, "the model stopped for a reason that junction does not know: %s", cmp.Or(response.StopDetail, "none given"))
	}
	return stopEnd
}

// ask asks the model for its next message and records it.
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
		r.text = strings.ToValidUTF8(response.Message.Text(), "\uFFFD") // the user has seen this text; its calls are not made
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
	response, err := r.h.options.Model.Generate(ctx, request, func(d model.Delta) {
		r.retried(d)
		r.tell(Event{Delta: &d})
	})
	if response == nil {
		err = errorIfEmpty(response, err)
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

// carryOut makes the calls of one turn and records their results.
func (r *run) carryOut(ctx context.Context, calls []*model.Call, loop *history.Loop) (stop string, err error) {
	r.sharing = len(calls)
	results, failed := r.execute(ctx, calls)
	times := loop.Turn(calls, results)
	if times == history.LoopWarn {
		last := results[len(results)-1]
		last.Parts = append(last.Parts, model.Part{Text: fmt.Sprintf("[The same calls gave the same results %d times in a row. Do something else, or answer with what you know.]", times)})
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

// A job is a call to be made.
type job struct {
	call      *model.Call
	tool      *tool
	builtin   bool               // call of a built-in tool
	judgement *consent.Judgement // decision about a call of a server's tool
	observer  mcp.NoteObserver   // gets notes about the call; nil if there is none
	result    *model.Result      // set at the start if the call was not allowed or is invalid
	refused   bool               // the call was not allowed
}

// execute makes the calls of one turn and returns a result for each. It first asks the user about
// all of them. Then calls that only read run in parallel, and each other call runs alone, in order.
// The error is the reason why no call was made.
func (r *run) execute(ctx context.Context, calls []*model.Call) ([]*model.Result, error) {
	failed := r.refresh(ctx) // the servers may have changed while the model answered
	jobs := make([]*job, len(calls))
	r.requestedCalls = nil
	for _, call := range calls {
		r.requestedCalls = append(r.requestedCalls, call.ID)
	}
	for i, call := range calls {
		if failed != nil {
			jobs[i] = &job{call: call, result: r.unmade(call, "The run ended before this call was made.")}
			continue
		}
		jobs[i] = r.prepare(ctx, call)
	}
	r.requestedCalls = nil
	for i := 0; i < len(jobs); {
		end := i + 1
		if jobs[i].isParallel() {
			for end < len(jobs) && end-i < maxParallel && jobs[end].isParallel() {
				end++
			}
		}
		r.parallel(ctx, jobs[i:end])
		i = end
	}
	results := make([]*model.Result, len(jobs))
	for i, j := range jobs {
		results[i] = j.result
		switch {
		case j.refused:
			r.refused = j.tool.ref.Server + "/" + j.tool.ref.Tool
		case j.judgement != nil && !j.tool.readsOnly():
			r.refused = ""
		}
	}
	return results, failed
}

// isParallel reports whether the call can run concurrently with others.
func (j *job) isParallel() bool {
	return j.result != nil || j.builtin || j.tool.readsOnly()
}

func (r *run) parallel(ctx context.Context, jobs []*job) {
	var running sync.WaitGroup
	for _, j := range jobs {
		if j.result != nil {
			continue
		}
		if ctx.Err() != nil {
			j.result = r.unmade(j.call, "The run was cancelled before this call was made.")
			continue
		}
		running.Go(func() { r.carry(ctx, j) })
	}
	running.Wait()
}

// prepare finds the tool of a call and decides whether the call may run.
func (r *run) prepare(ctx context.Context, call *model.Call) *job {
	j := &job{call: call, builtin: call.Name == searchName || call.Name == readName, tool: r.catalogue.byName[call.Name]}
	switch {
	case ctx.Err() != nil:
		j.result = r.unmade(call, "The run was cancelled before this call was made.")
	case call.Malformed != "":
		j.result = r.unmade(call, "The arguments cannot be read: "+call.Malformed+". Send one JSON object that fits the schema.")
	case !j.builtin && j.tool == nil:
		j.result = r.unmade(call, r.unknown(call.Name))
	case !j.builtin:
		j.observer = r.observer(j.tool.server, "tools/call", j.tool.Name)
		if v := j.tool.valid(); v != nil {
			if err := v.Validate(call.Arguments); err != nil {
				j.result = r.unmade(call, fmt.Sprintf("The arguments do not fit the schema of %s: %v", call.Name, err))
				break
			}
		}
		if j.judgement = r.mayCall(withObserver(ctx, j.observer), call, j.tool); j.judgement.Refusal != "" {
			j.refused, j.result = true, history.Failure(call, j.judgement.Refusal)
		}
	}
	return j
}

// unmade returns the result of a call that is invalid or came too late, and reports it, because no
// other event does.
func (r *run) unmade(call *model.Call, text string) *model.Result {
	reported := Returned{CallID: call.ID, Tool: call.Name, IsError: true, Text: text, Tokens: model.EstimateTokens(len(text)), Bytes: len(text)}
	if t := r.catalogue.byName[call.Name]; t != nil {
		reported.Server, reported.Tool = t.ref.Server, t.ref.Tool
	}
	r.tell(Event{Returned: &reported})
	return history.Failure(call, text)
}

// unknown returns the text for the model that there is no such tool, with similar names.
func (r *run) unknown(name string) string {
	text := fmt.Sprintf("There is no tool %q.", name)
	_, short, _ := strings.Cut(name, separator)
	for _, t := range r.catalogue.tools {
		if t.ref.Tool == name || short != "" && t.ref.Tool == short {
			return text + fmt.Sprintf(" There is a tool %q.", t.sent.Name)
		}
	}
	if r.deferred() {
		return text + " Search for one with " + searchName + "."
	}
	return text
}

// carry makes one call.
func (r *run) carry(ctx context.Context, j *job) {
	r.account.use(Totals{Calls: 1})
	called := Called{CallID: j.call.ID, Tool: j.call.Name, Arguments: j.call.Arguments}
	if j.tool != nil {
		called.Server, called.Tool, called.Title, called.Annotations = j.tool.ref.Server, j.tool.ref.Tool, j.tool.title(), j.tool.Annotations
	}
	r.tell(Event{Called: &called})
	ctx = withObserver(ctx, j.observer)
	began := time.Now()
	var got outcome.Outcome
	switch {
	case !j.builtin:
		got = r.callTool(ctx, j)
	case j.call.Name == searchName:
		got = r.searchTools(ctx, j.call)
	default:
		got = r.readResource(ctx, j.call)
	}
	j.result = &model.Result{CallID: j.call.ID, Name: j.call.Name, Parts: got.Parts, IsError: got.IsError}
	r.tell(Event{Returned: &Returned{
		CallID: called.CallID, Server: called.Server, Tool: called.Tool, Duration: time.Since(began), IsError: got.IsError,
		Text: j.result.Text(), Tokens: window.TokensOfParts(got.Parts), Bytes: got.Bytes, Kept: got.Kept, Media: got.Media,
	}})
}

// callTool calls a server's tool.
func (r *run) callTool(ctx context.Context, j *job) outcome.Outcome {
	t := j.tool
	if why := t.withdrawn(ctx); why != "" {
		r.read(ctx, t, why) // the text may quote the server
		return outcome.Failed("%s", why)
	}
	for at := r; at != nil; at = at.parent() {
		if at.c.isOff(t.server.Name) {
			return outcome.Failed("The user switched the server %q off. The call was not made.", t.server.Name)
		}
	}
	if why := r.c.decider.TakenBack(ctx, j.judgement, t.server.trusted()); why != "" {
		return outcome.Failed("%s", why)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil) // work that a program's own tool started ends with its call
	calling := &calling{run: r, id: j.call.ID, server: t.server, tool: t, leave: cancel}
	ctx = withCall(ctx, calling)
	ctx = mcp.WatchProgress(ctx, func(p mcp.ProgressUpdate) {
		r.tell(Event{Progress: &Progress{CallID: j.call.ID, Server: t.ref.Server, Tool: t.ref.Tool, Progress: p.Progress, Total: p.Total, Message: excerpt.Clean(p.Message)}})
	})
	result, err := t.server.client.CallTool(ctx, t.Name, j.call.Arguments)
	if got, left := calling.returned(ctx, err); left {
		return got
	}
	if err != nil || result.IsError && ctx.Err() != nil {
		return r.failed(ctx, t, err)
	}
	got := r.outcome(t, result)
	if calling.labelled.Load() {
		r.suspect(t.ref.Server, t.ref.Tool, got.Whole, guard.InResult)
	} else {
		labels := guard.LabelsOf(t.server.trust(), hints(t.annotations()))
		if !t.readsOnly() && !got.IsError && len(got.Media) == 0 && guard.Confirms(j.call.Arguments, got.Whole) { // a confirmation contains nothing private
			labels &^= guard.Private
		}
		r.readAs(ctx, t, labels, got.Whole)
	}
	if !got.IsError {
		r.c.mu.Lock()
		query := r.c.queries[t.id]
		r.c.mu.Unlock()
		if query != "" {
			r.h.search.Remember(t.id, query)
		}
	}
	return got
}

// failed returns the outcome of a call without a result.
func (r *run) failed(ctx context.Context, t *tool, err error) outcome.Outcome {
	text := fmt.Sprintf("%s could not be called: %v", t.sent.Name, err)
	switch {
	case errors.Is(err, tasks.ErrCancelled):
		text = fmt.Sprintf("%s ran as a task, which was cancelled before it ended.", t.sent.Name)
	case ctx.Err() != nil:
		text = fmt.Sprintf("The run was cancelled while %s was running. It is not known whether it was carried out.", t.sent.Name)
	case errors.Is(err, context.DeadlineExceeded):
		text = fmt.Sprintf("%s did not answer in time: %v. It is not known whether it was carried out.", t.sent.Name, err)
	}
	got := outcome.Failed("%s", excerpt.Clip(excerpt.Clean(text), excerpt.MaxError))
	got.Bytes = len(text)
	r.read(ctx, t, got.Parts[0].Text) // the text of an error is text of the server
	return got
}

// Ask asks the model a question, and runs until there is an answer, a limit is reached, or ctx is
// done. In any case the conversation can continue with the next question. The error comes from the
// provider, from the record or from the end of ctx, or is [ErrBusy], [ErrFull] or [ErrEmpty]. The
// Answer then holds the partial result.
func (c *Conversation) Ask(ctx context.Context, q Question) (Answer, error) {
	if !c.take() {
		return Answer{}, ErrBusy
	}
	defer func() {
		c.busy <- struct{}{}
		c.takeIn() // results of tasks that came meanwhile
	}()
	c.takeArrived()
	ctx, end, err := c.bound(ctx)
	if err != nil {
		return Answer{}, err
	}
	defer end()
	r := newRun(c)
	if most := r.account.limits.Time; most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, most, errTimeLimit)
		defer cancel()
	}
	return r.answer(ctx, q)
}

// Compact replaces all but the last turn by a summary that the model writes.
func (c *Conversation) Compact(ctx context.Context) error {
	if !c.take() {
		return ErrBusy
	}
	defer func() {
		c.busy <- struct{}{}
		c.takeIn()
	}()
	r := newRun(c)
	r.number = 0 // the summary belongs to no question
	r.choose()
	upTo := c.view.Boundary(0)
	if upTo == 0 {
		r.notice(NoticeCompact, "nothing to summarize: only the last turn is not in a summary")
	}
	err := r.compact(ctx, upTo)
	if errors.Is(err, errNoGain) {
		err = nil // a notice reported it
	}
	totals := r.account.used()
	if totals == (Totals{}) {
		return err
	}
	return errors.Join(err, c.add(Entry{Totals: &totals}))
}
