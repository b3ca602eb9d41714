// Package window holds the part of a conversation that a model sees, and counts its tokens.
package window

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/model"
)

// leastGain is the percentage by which a summary must shorten the messages that it replaces.
const leastGain = 20

// SummaryMark is the first line of a message that replaces old turns.
const SummaryMark = "[The conversation so far, shortened]"

// A View holds the messages of a conversation. The model sees a summary of the old ones, if there
// is one, and the messages since. It is safe for concurrent use.
type View struct {
	mu       sync.Mutex
	messages []model.Message // all messages
	replaced int             // number of first messages that the summary replaces
	summary  string
	notes    []string // facts that every summary repeats
	noGain   int      // tokens of the messages when the last summary was dropped as too long; 0 if none was
	factor   float64  // ratio of the provider's count of tokens to the estimate; 0: unknown
	window   int      // the model's window in tokens, learned from a request that did not fit; 0: unknown
	shownBy  string   // model with that window
}

// Say adds a message.
func (v *View) Say(m model.Message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.messages = append(v.messages, m)
}

// Replace replaces all messages.
func (v *View) Replace(messages []model.Message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.messages = messages
}

// Messages returns all messages. Images and sounds that a summary replaced have no data.
func (v *View) Messages() []model.Message {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.messages)
}

// Keep adds a fact that every summary repeats.
func (v *View) Keep(note string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notes = append(v.notes, note)
}

// Notes returns the facts that every summary repeats.
func (v *View) Notes() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.notes)
}

// Seen returns the messages that the model sees.
func (v *View) Seen() []model.Message {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.with(v.replaced, v.summary)
}

// Tokens returns the number of tokens of the messages that the model sees.
func (v *View) Tokens() int { return tokensOfAll(v.Seen()) }

// with returns the messages that the model would see if summary replaced the first messages.
func (v *View) with(replaced int, summary string) []model.Message {
	rest := v.messages[min(replaced, len(v.messages)):]
	if replaced == 0 {
		return rest[:len(rest):len(rest)]
	}
	head := model.UserText(v.textOf(summary))
	if len(rest) > 0 && rest[0].Role == model.RoleUser {
		head.Parts = append(head.Parts, rest[0].Parts...)
		rest = rest[1:]
	}
	return append([]model.Message{head}, rest...)
}

// textOf returns a summary followed by the facts that every summary repeats.
func (v *View) textOf(summary string) string {
	var b strings.Builder
	b.WriteString(SummaryMark + "\n" + summary)
	for i, note := range v.notes {
		if i == 0 {
			b.WriteString("\n\n[Remember this]")
		}
		b.WriteString("\n- " + note)
	}
	b.WriteString("\n[End of the shortened conversation]")
	return b.String()
}

// Summarized returns the number of messages that the summary replaces, and its text for the model.
func (v *View) Summarized() (messages int, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.replaced, v.textOf(v.summary)
}

// Boundary returns the number of messages that a summary should replace, so that about keep tokens
// and at least the last turn remain. It returns 0 if no message can be replaced.
func (v *View) Boundary(keep int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	tokens, upTo := 0, 0
	for i := len(v.messages) - 1; i > v.replaced; i-- {
		m := &v.messages[i]
		tokens += TokensOfMessage(m)
		if upTo > 0 && tokens > keep {
			break
		}
		if m.Role != model.RoleTool { // results stay with their calls
			upTo = i
		}
	}
	return upTo
}

// Before returns the part of the model's view before message upTo: the summary and the messages
// since.
func (v *View) Before(upTo int) (summary string, messages []model.Message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.summary, v.messages[min(v.replaced, upTo):upTo:upTo]
}

// Gains reports whether a summary of so many messages is enough shorter than they are, and the
// number of tokens of the conversation with it. If it is not, GainedNothing remembers that.
func (v *View) Gains(messages int, summary string) (after int, yes bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := tokensOfAll(v.with(v.replaced, v.summary))
	after = tokensOfAll(v.with(messages, summary))
	replaced := before - tokensOfAll(v.messages[min(messages, len(v.messages)):])
	yes = (before-after)*100 >= replaced*leastGain && after < before
	v.noGain = before
	if yes {
		v.noGain = 0
	}
	return after, yes
}

// GainedNothing reports whether the last summary was dropped as too long and the conversation has
// hardly grown since.
func (v *View) GainedNothing() bool {
	tokens := v.Tokens()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.noGain > 0 && tokens*100 < v.noGain*(100+leastGain)
}

// Counted corrects later estimates by comparing one with the provider's count.
func (v *View) Counted(estimated int, u model.Usage) {
	if u.Estimated || u.Input == 0 || estimated < 200 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.factor = min(max(float64(u.Input)/float64(estimated), 0.5), 3)
}

// Corrected returns an estimate multiplied by the learned ratio.
func (v *View) Corrected(estimated int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return int(float64(estimated) * cmp.Or(v.factor, 1))
}

// Learn records the window of a model in tokens.
func (v *View) Learn(name string, window int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.window, v.shownBy = window, name
}

// Learned returns the window of a model if [View.Learn] recorded it, and 0 otherwise.
func (v *View) Learned(name string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shownBy != name {
		return 0
	}
	return v.window
}

// Summarize replaces the first messages, if there are as many, by a summary. It drops their images
// and sounds, because the model no longer gets them, and a long conversation would otherwise hold
// every screenshot. It returns the changed messages by the first of their former parts.
func (v *View) Summarize(messages int, summary string) map[*model.Part]*model.Message {
	v.mu.Lock()
	defer v.mu.Unlock()
	if messages < 0 || messages > len(v.messages) {
		return nil // the record was damaged or edited
	}
	v.replaced, v.summary = messages, summary
	v.messages = slices.Clone(v.messages) // requests may still use the old slice
	bare := map[*model.Part]*model.Message{}
	for i := range v.messages[:messages] {
		m := &v.messages[i]
		if parts, some := withoutMedia(m.Parts); some {
			first := &m.Parts[0]
			m.Parts = parts
			copied := *m
			bare[first] = &copied
		}
	}
	return bare
}

// withoutMedia returns parts without the data of images and sounds, and reports whether there was
// any.
func withoutMedia(parts []model.Part) (bare []model.Part, some bool) {
	bare = slices.Clone(parts)
	for i := range bare {
		p := &bare[i]
		switch {
		case p.Media != nil && len(p.Media.Data) > 0:
			p.Media, some = &model.Media{Type: p.Media.Type}, true
		case p.Result != nil:
			if of, any := withoutMedia(p.Result.Parts); any {
				result := *p.Result
				result.Parts, some = of, true
				p.Result = &result
			}
		}
	}
	return bare, some
}

// TokensOf estimates the tokens of tool definitions.
func TokensOf(tools []model.Tool) int {
	bytes := 0
	for i := range tools {
		bytes += len(tools[i].Name) + len(tools[i].Description) + len(tools[i].Schema)
	}
	return model.EstimateTokens(bytes)
}

// TokensOfRequest estimates the tokens of a request.
func TokensOfRequest(req *model.Request) int {
	return model.EstimateTokens(len(req.System)) + TokensOf(req.Tools) + tokensOfAll(req.Messages)
}

func tokensOfAll(messages []model.Message) int {
	tokens := 0
	for i := range messages {
		tokens += TokensOfMessage(&messages[i])
	}
	return tokens
}

// MessageTokens is the number of tokens that a message needs in addition to its parts.
const MessageTokens = 4

// TokensOfMessage estimates the tokens of a message.
func TokensOfMessage(m *model.Message) int {
	return MessageTokens + TokensOfParts(m.Parts)
}

// TokensOfParts estimates the tokens of parts of a message.
func TokensOfParts(parts []model.Part) int {
	bytes, more := 0, 0
	for i := range parts {
		p := &parts[i]
		bytes += len(p.Text)
		switch {
		case p.Call != nil:
			bytes += len(p.Call.ID) + len(p.Call.Name) + len(p.Call.Arguments)
		case p.Result != nil:
			bytes += len(p.Result.CallID)
			more += TokensOfParts(p.Result.Parts)
		case p.Media != nil:
			more += model.PictureTokens
		case p.Reasoning != nil:
			bytes += max(len(p.Reasoning.Text), len(p.Reasoning.Raw))
		case p.Opaque != nil:
			bytes += len(p.Opaque.Raw)
		}
	}
	return model.EstimateTokens(bytes) + more
}
