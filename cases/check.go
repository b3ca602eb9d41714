package cases

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// eventTime is how long after its result a step waits for expected messages of the server.
	eventTime = 5 * time.Second
	// maxListBytes is the largest memory of a list with all its pages, in estimated bytes.
	maxListBytes = 64 << 20
)

// An outcome is the result of a request.
type outcome struct {
	result any // members of the result, without _meta
	meta   json.RawMessage
	err    error
}

// step makes the request of a step and returns the differences from its expectation.
func (c *connection) step(ctx context.Context, t *testCase, s *step) []string {
	c.mu.Lock()
	before := len(c.events)
	c.mu.Unlock()
	ctx = mcp.WatchProgress(ctx, func(p mcp.ProgressUpdate) { c.add(kindProgress, "", p) })
	began := time.Now()
	out := c.ask(ctx, s)
	took := time.Since(began)
	faults := c.compare(t, s, out)
	if s.expect.within > 0 && took > s.expect.within {
		faults = append(faults, fmt.Sprintf("expected it within %v, took %v", s.expect.within, took.Round(time.Millisecond)))
	}
	faults = append(faults, c.await(ctx, "notifications", s.expect.notifications, before)...)
	faults = append(faults, c.await(ctx, "asked", s.expect.asked, before)...)
	if len(faults) == 0 {
		faults = c.capture(s, out)
	} else {
		c.mu.Lock()
		faults = append(faults, c.unanswered...)
		c.mu.Unlock()
	}
	return faults
}

// ask makes the request of a step and returns its outcome. For a list it requests all pages.
func (c *connection) ask(ctx context.Context, s *step) outcome {
	if s.list != "" {
		entries, size := []any{}, 0
		for raw, err := range c.client.List(ctx, s.method, s.list) {
			if err != nil {
				return outcome{err: err}
			}
			if size += weight(raw) + valueOverhead; size > maxListBytes {
				return outcome{err: fmt.Errorf("the list takes more than %d MiB", maxListBytes>>20)}
			}
			entry, err := decode(raw)
			if err != nil {
				return outcome{err: err}
			}
			entries = append(entries, entry)
		}
		return outcome{result: map[string]any{s.list: entries}}
	}
	r, err := c.client.Do(ctx, s.method, encode(c.vars.fill(s.params)))
	if err != nil {
		return outcome{err: err}
	}
	raw, err := r.Encoded()
	if err != nil {
		return outcome{err: err}
	}
	value, err := decode(raw)
	return outcome{result: value, meta: r.Meta, err: err}
}

// compare returns the differences of an outcome from its expectation.
func (c *connection) compare(t *testCase, s *step, out outcome) []string {
	e := &s.expect
	fault, isError := errors.AsType[*mcp.Error](out.err)
	switch {
	case e.error != nil && isError:
		return c.compareError(e.error, fault)
	case e.error != nil && out.err == nil:
		return []string{"expected an error, got " + indented("the result: ", out.result)}
	case isError:
		return []string{fmt.Sprintf("error %d: %s", fault.Code, fault.Message)}
	case out.err != nil:
		return []string{"no response: " + out.err.Error()}
	}
	var faults []string
	if s.method == "tools/call" {
		if failed, _ := at(out.result, []string{"isError"}); (failed == true) != e.isError {
			if !e.isError {
				faults = append(faults, "the tool failed (isError): "+cut(textOf(s, out.result), 1_000))
			} else {
				faults = append(faults, "expected a failure (isError), got "+indented("the result: ", out.result))
			}
		}
	}
	structured, there := at(out.result, []string{"structuredContent"})
	faults = append(faults, e.result.check("result", out.result, true, c.vars)...)
	faults = append(faults, e.text.check("text", textOf(s, out.result), true, c.vars)...)
	faults = append(faults, e.structured.check("structured", structured, there, c.vars)...)
	if e.meta != nil {
		got, err := decode(out.meta)
		if err != nil {
			faults = append(faults, "meta: "+err.Error())
		}
		faults = append(faults, e.meta.check("meta", got, out.meta != nil, c.vars)...)
	}
	if e.snapshot && len(faults) == 0 {
		masks := append(append([]mask{}, c.run.file.mask...), e.mask...)
		if fault := c.run.snapshot(t, s, c.client.Revision(), newMasking(masks, c.vars).apply(out.result)); fault != "" {
			faults = append(faults, fault)
		}
	}
	return faults
}

func (c *connection) compareError(e *wantedError, got *mcp.Error) (faults []string) {
	faults = e.code.check("the error's code", json.Number(strconv.Itoa(got.Code)), true, c.vars)
	faults = append(faults, e.message.check("the error's message", got.Message, true, c.vars)...)
	if e.data != nil {
		data, err := decode(got.Data)
		if err != nil {
			return append(faults, "the error's data: "+err.Error())
		}
		faults = append(faults, e.data.check("the error's data", data, got.Data != nil, c.vars)...)
	}
	if len(faults) > 0 && e.message == nil {
		faults[0] += ": " + got.Message
	}
	return faults
}

// textOf returns the texts of a result, joined.
func textOf(s *step, result any) string {
	list, _ := at(result, []string{revision.MethodNamed(s.method).Member})
	blocks, _ := list.([]any)
	var texts []string
	for _, block := range blocks {
		if s.method == "prompts/get" {
			block, _ = at(block, []string{"content"})
		}
		if text, is := at(block, []string{"text"}); is {
			texts = append(texts, plain(text))
		}
	}
	return strings.Join(texts, "\n")
}

// capture stores the parts of a result that later steps use. It returns a failure for each missing
// part.
func (c *connection) capture(s *step, out outcome) (faults []string) {
	for _, want := range s.capture {
		got, there := at(out.result, want.parts)
		if !there {
			faults = append(faults, fmt.Sprintf("capture %s: there is nothing at %s in %s", want.name, want.pointer, shown(out.result)))
			continue
		}
		if want.matches != "" {
			found := regexp.MustCompile(want.matches).FindStringSubmatch(plain(got)) // the parser has checked the pattern
			if found == nil {
				faults = append(faults, fmt.Sprintf("capture %s: %s does not match %s", want.name, shown(got), want.matches))
				continue
			}
			got = found[min(1, len(found)-1)]
		}
		c.mu.Lock()
		c.vars[want.name] = got
		c.mu.Unlock()
	}
	return faults
}

// await waits until the server has sent all expected messages. It returns a failure for each one
// that is still missing at the end.
func (c *connection) await(ctx context.Context, what string, wanted []wantedEvent, before int) []string {
	if len(wanted) == 0 {
		return nil
	}
	late := time.NewTimer(cmp.Or(c.run.o.late, eventTime))
	defer late.Stop()
	for {
		c.mu.Lock()
		faults, changed := missing(what, wanted, c.events[before:], c.vars), c.changed
		c.mu.Unlock()
		if len(faults) == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-late.C:
			return faults
		case <-ctx.Done():
			return faults
		}
	}
}

// missing returns a failure for each expected event that is not in got. Events of one kind must be
// in order; others may be between them.
func missing(what string, wanted []wantedEvent, got []event, v vars) (faults []string) {
	next := map[string]int{}
	for _, w := range wanted {
		found := false
		var others []string
		for i := next[w.kind]; i < len(got) && !found; i++ {
			e := &got[i]
			if e.kind != w.kind {
				continue
			}
			found = e.subject == w.subject && len(w.params.check(w.kind, e.params, true, v)) == 0
			if found {
				next[w.kind] = i + 1
			} else if len(others) < 10 {
				others = append(others, strings.TrimSpace(e.subject+" "+shown(e.params)))
			}
		}
		if found {
			continue
		}
		fault := fmt.Sprintf("%s: expected %s", what, strings.TrimSpace(w.kind+" "+w.subject))
		if len(others) == 0 {
			fault += ", and none came"
		} else {
			fault += " that fits, and there came only\n" + strings.Join(others, "\n")
		}
		faults = append(faults, fault)
	}
	return faults
}
