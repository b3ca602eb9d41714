package host

import (
	"context"
	"errors"
	"fmt"
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

// A job is a call on its way.
type job struct {
	call      *model.Call
	tool      *tool
	builtin   *builtin
	judgement *consent.Judgement // of a call of a tool of a server
	noter     mcp.Noter          // hears of it; nil: nobody does
	result    *model.Result      // set where there is one already: the call was not allowed, or makes no sense
	refused   bool               // it was not allowed
}

// execute carries out the calls of one turn and returns a result for each, whatever happens. First the person is asked
// about all of them, then those that only read run in parallel; any other runs alone, in its turn. The error says why
// none was made.
func (r *run) execute(ctx context.Context, calls []*model.Call) ([]*model.Result, error) {
	failed := r.refresh(ctx) // what changed while the model thought
	jobs := make([]*job, len(calls))
	r.unmadeYet = nil
	for _, call := range calls {
		r.unmadeYet = append(r.unmadeYet, call.ID)
	}
	for i, call := range calls {
		if failed != nil {
			jobs[i] = &job{call: call, result: r.unmade(call, "The run ended before this call was made.")}
			continue
		}
		jobs[i] = r.prepare(ctx, call)
	}
	r.unmadeYet = nil
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

// isParallel reports whether the call can run at the same time as others.
func (j *job) isParallel() bool {
	return j.result != nil || j.builtin != nil || j.tool.readsOnly()
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

// prepare finds what a call is about and whether it may run.
func (r *run) prepare(ctx context.Context, call *model.Call) *job {
	j := &job{call: call, builtin: builtinNamed(call.Name), tool: r.catalogue.byName[call.Name]}
	switch {
	case ctx.Err() != nil:
		j.result = r.unmade(call, "The run was cancelled before this call was made.")
	case call.Malformed != "":
		j.result = r.unmade(call, "The arguments cannot be read: "+call.Malformed+". Send one JSON object that fits the schema.")
	case j.builtin == nil && j.tool == nil:
		j.result = r.unmade(call, r.unknown(call.Name))
	case j.builtin == nil:
		j.noter = r.noter(j.tool.server, "tools/call", j.tool.Name)
		if v := j.tool.valid(); v != nil {
			if err := v.Validate(call.Arguments); err != nil {
				j.result = r.unmade(call, fmt.Sprintf("The arguments do not fit the schema of %s: %v", call.Name, err))
				break
			}
		}
		if refusal := r.mayCall(hearing(ctx, j.noter), j); refusal != "" {
			j.refused, j.result = true, history.Failure(call, refusal)
		}
	}
	return j
}

// unmade is the result of a call that makes no sense, or came too late, and tells it: nothing else does.
func (r *run) unmade(call *model.Call, text string) *model.Result {
	reported := Returned{CallID: call.ID, Tool: call.Name, IsError: true, Text: text, Tokens: model.EstimateTokens(len(text)), Bytes: len(text)}
	if t := r.catalogue.byName[call.Name]; t != nil {
		reported.Server, reported.Tool = t.ref.Server, t.ref.Tool
	}
	r.tell(Event{Returned: &reported})
	return history.Failure(call, text)
}

// unknown says that there is no such tool, and what there is.
func (r *run) unknown(name string) string {
	text := fmt.Sprintf("There is no tool %q.", name)
	_, short, _ := strings.Cut(name, separator)
	for _, t := range r.catalogue.tools {
		if t.ref.Tool == name || short != "" && t.ref.Tool == short {
			return text + fmt.Sprintf(" There is %q.", t.sent.Name)
		}
	}
	if r.deferred() {
		return text + " Search for one with " + searchName + "."
	}
	return text
}

// carry carries out one call.
func (r *run) carry(ctx context.Context, j *job) {
	r.account.use(Totals{Calls: 1})
	called := Called{CallID: j.call.ID, Tool: j.call.Name, Arguments: j.call.Arguments}
	if j.tool != nil {
		called.Server, called.Tool, called.Title, called.Annotations = j.tool.ref.Server, j.tool.ref.Tool, j.tool.title(), j.tool.Annotations
	}
	r.tell(Event{Called: &called})
	ctx = hearing(ctx, j.noter)
	began := time.Now()
	var got outcome.Outcome
	if j.builtin != nil {
		got = j.builtin.run(ctx, r, j.call)
	} else {
		got = r.callTool(ctx, j)
	}
	j.result = &model.Result{CallID: j.call.ID, Name: j.call.Name, Parts: got.Parts, IsError: got.IsError}
	r.tell(Event{Returned: &Returned{
		CallID: called.CallID, Server: called.Server, Tool: called.Tool, Duration: time.Since(began), IsError: got.IsError,
		Text: j.result.Text(), Tokens: window.TokensOfParts(got.Parts), Bytes: got.Bytes, Kept: got.Kept, Media: got.Media,
	}})
}

// callTool calls a tool of a server.
func (r *run) callTool(ctx context.Context, j *job) outcome.Outcome {
	t := j.tool
	if why := t.withdrawn(ctx); why != "" {
		r.read(ctx, t, why) // it may quote the server
		return outcome.Failed("%s", why)
	}
	for at := r; at != nil; at = at.parent() {
		if at.c.isOff(t.server.Name) {
			return outcome.Failed("The person switched the server %q off. The call was not made.", t.server.Name)
		}
	}
	if why := r.c.decider.TakenBack(ctx, j.judgement, t.server.trusted()); why != "" {
		return outcome.Failed("%s", why)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil) // what a tool of the program's own began ends with its call
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
		if !t.readsOnly() && !got.IsError && len(got.Media) == 0 && guard.Confirms(j.call.Arguments, got.Whole) { // a confirmation has nothing private
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

// failed is the outcome of a call that got no result.
func (r *run) failed(ctx context.Context, t *tool, err error) outcome.Outcome {
	text := fmt.Sprintf("%s could not be called: %v", t.sent.Name, err)
	switch {
	case errors.Is(err, tasks.ErrCancelled):
		text = fmt.Sprintf("The task that %s ran as was cancelled before it was over.", t.sent.Name)
	case ctx.Err() != nil:
		text = fmt.Sprintf("The run was cancelled while %s was running. It is not known whether it was carried out.", t.sent.Name)
	case errors.Is(err, context.DeadlineExceeded):
		text = fmt.Sprintf("%s did not answer in time: %v. It is not known whether it was carried out.", t.sent.Name, err)
	}
	got := outcome.Failed("%s", excerpt.Clip(excerpt.Clean(text), excerpt.MaxError))
	got.Bytes = len(text)
	r.read(ctx, t, got.Parts[0].Text) // an error's text is the server's text
	return got
}
