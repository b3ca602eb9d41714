// Package history keeps the messages of a conversation valid for every provider, and detects
// repetitions of a model.
package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/model"
)

// Repair makes a history valid for every provider and describes its changes. Each call gets a
// result right after it. Results without calls, empty messages, and everything before the first
// question are dropped. asTask holds the task numbers of calls that ran as tasks, and unasked the
// calls that were certainly not made.
func Repair(messages []model.Message, asTask map[string][]int, unasked map[string]bool) (mended []model.Message, what string) {
	var answered, dropped int
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		switch {
		case m.Role == model.RoleTool, len(m.Parts) == 0, len(mended) == 0 && m.Role != model.RoleUser:
			dropped++ // results are added after their calls below
			continue
		}
		calls := m.Calls()
		mended = append(mended, m)
		if len(calls) == 0 {
			continue
		}
		results := map[string]*model.Result{}
		for i+1 < len(messages) && messages[i+1].Role == model.RoleTool {
			i++
			for _, p := range messages[i].Parts {
				if p.Result != nil && results[p.Result.CallID] == nil {
					results[p.Result.CallID] = p.Result
				}
			}
		}
		reply, missing := replies(calls, results, asTask, unasked)
		answered += missing
		dropped += len(results) - (len(calls) - missing)
		mended = append(mended, reply)
	}
	if answered+dropped == 0 {
		return messages, ""
	}
	what = "the conversation was cut off"
	switch {
	case answered == 1:
		what += ": a call has no result, and got a note in its place"
	case answered > 1:
		what += fmt.Sprintf(": %d calls have no result, and got a note in its place", answered)
	}
	if dropped > 0 {
		what += fmt.Sprintf("; omitted results without a call: %d", dropped)
	}
	return mended, what
}

// replies returns the message with the results of calls.
func replies(calls []*model.Call, results map[string]*model.Result, asTask map[string][]int, unasked map[string]bool) (reply model.Message, missing int) {
	reply.Role = model.RoleTool
	for _, call := range calls {
		result := results[call.ID]
		if result == nil {
			missing++
			text := "The program ended before this call had a result. It is not known whether it was carried out."
			if unasked[call.ID] {
				text = "The program ended during the question to the user about this call. It was not carried out."
			}
			if numbers := asTask[call.ID]; len(numbers) > 0 {
				text = fmt.Sprintf("The program ended before this call had a result. It went on as task %s of its server: you learn when it is over. Do not call it again for that.", strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", " and as task "))
			}
			result = Failure(call, text)
		}
		reply.Parts = append(reply.Parts, model.Part{Result: result})
	}
	return reply, missing
}

// Failure returns the result of a call that failed.
func Failure(call *model.Call, text string) *model.Result {
	return &model.Result{CallID: call.ID, Name: call.Name, IsError: true, Parts: []model.Part{{Text: text}}}
}

// Fit makes a message from the model fit to be stored. Each call gets an ID that is unique in the
// conversation, and arguments that are an object. A call with other arguments becomes malformed.
func Fit(m *model.Message, taken map[string]bool, fresh func() string) {
	parts := make([]model.Part, 0, len(m.Parts))
	for _, p := range m.Parts {
		switch {
		case p.Call != nil:
			call := *p.Call
			if call.ID == "" || taken[call.ID] {
				call.ID = fresh()
			}
			taken[call.ID] = true
			switch written := bytes.TrimSpace(call.Arguments); {
			case len(written) > 0 && written[0] == '{':
			case len(written) > 0 && string(written) != "null" && call.Malformed == "":
				call.Malformed, call.Raw = fmt.Sprintf("expected an object, found %.40q", written), string(written)
				fallthrough
			default:
				call.Arguments = json.RawMessage(`{}`)
			}
			p.Call = &call
		case strings.TrimSpace(p.Text) == "" && p.Reasoning == nil && p.Opaque == nil:
			continue // providers refuse blank texts, and media in an answer
		default:
			p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
		}
		parts = append(parts, p)
	}
	m.Role, m.Parts = model.RoleAssistant, parts
}

// HasContent reports whether a message has calls, text or opaque parts.
func HasContent(m *model.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p model.Part) bool { return p.Call != nil || p.Text != "" || p.Opaque != nil })
}

// Limits of repetition. A model that repeats itself is warned once and stopped if it continues.
const (
	LoopWarn = 3 // number of times that the same turns came
	LoopStop = 5
	loopSpan = 4 // maximum number of turns in a repeated sequence
)

// A Loop detects repeated turns: the same calls with the same results, alone or in a cycle of a few
// turns.
type Loop struct{ turns [][32]byte }

// Turn adds a turn and returns how many times in a row the last turns came.
func (l *Loop) Turn(calls []*model.Call, results []*model.Result) int {
	hash := sha256.New()
	for i, call := range calls {
		hash.Write([]byte(call.Name))
		hash.Write([]byte{0})
		hash.Write(call.Arguments)
		hash.Write([]byte{0})
		if i < len(results) {
			hash.Write([]byte(results[i].Text()))
		}
		hash.Write([]byte{1})
	}
	l.turns = append(l.turns, [32]byte(hash.Sum(nil)))
	if most := loopSpan * LoopStop; len(l.turns) > most {
		l.turns = l.turns[len(l.turns)-most:]
	}
	longest := 1
	for span := 1; span <= loopSpan; span++ {
		longest = max(longest, l.repetitions(span))
	}
	return longest
}

// repetitions returns how many times in a row the last span turns came.
func (l *Loop) repetitions(span int) int {
	n := len(l.turns)
	times := 1
	for at := n - 2*span; at >= 0; at -= span {
		for i := range span {
			if l.turns[at+i] != l.turns[n-span+i] {
				return times
			}
		}
		times++
	}
	return times
}

// Transcript returns a summary followed by messages, as text. If all of it exceeds the number of
// tokens, the longest pieces are clipped.
func Transcript(summary string, messages []model.Message, tokens int) string {
	var lines []string
	if summary != "" {
		lines = append(lines, "[Earlier conversation]\n"+summary+"\n[End of the earlier conversation]")
	}
	for _, m := range messages {
		for _, p := range m.Parts {
			if line := transcribed(m.Role, &p); line != "" {
				lines = append(lines, line)
			}
		}
	}
	most := excerpt.Level(lines, tokens*4)
	for i, line := range lines {
		lines[i] = excerpt.Clip(line, most)
	}
	return excerpt.Clip(strings.Join(lines, "\n"), tokens*4)
}

func transcribed(role model.Role, p *model.Part) string {
	switch {
	case p.Call != nil:
		return fmt.Sprintf("assistant calls %s %s", p.Call.Name, p.Call.Arguments)
	case p.Result != nil && p.Result.IsError:
		return fmt.Sprintf("%s failed: %s", p.Result.Name, p.Result.Text())
	case p.Result != nil:
		return fmt.Sprintf("%s returned: %s", p.Result.Name, p.Result.Text())
	case p.Media != nil:
		return fmt.Sprintf("%s: [%s]", role, p.Media.Type)
	case p.Text != "":
		return fmt.Sprintf("%s: %s", role, p.Text)
	}
	return ""
}
