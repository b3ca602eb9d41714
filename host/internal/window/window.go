// Package window is what a model sees of a conversation, and how many tokens that takes.
package window

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/model"
)

// leastGain is how many percent a summary must be shorter than what it replaces.
const leastGain = 20

// SummaryMark is how a message begins that stands for old turns.
const SummaryMark = "[The conversation so far, shortened]"

// A View is what was said in a conversation, and what the model sees of it: a summary of old
// turns, if there is one, and the messages since. It may be used from many goroutines.
type View struct {
	mu       sync.Mutex
	messages []model.Message // all of them
	replaced int             // the first of them, for which the summary stands
	summary  string
	notes    []string // what every summary must keep
	noGain   int      // tokens of the messages when a summary of them was dropped; 0: none was
	factor   float64  // between estimated tokens and those that the provider counts; 0: not known
	window   int      // tokens that the model sees, as a request that did not fit has shown; 0: not known
	shownBy  string   // the model that has shown it
}

// Say adds a message.
func (v *View) Say(m model.Message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.messages = append(v.messages, m)
}

// Replace puts others in the place of all messages.
func (v *View) Replace(messages []model.Message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.messages = messages
}

// Messages returns all that was said; images and sounds that a summary replaced are without their data.
func (v *View) Messages() []model.Message {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.messages)
}

// Keep adds a fact that every summary keeps.
func (v *View) Keep(note string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notes = append(v.notes, note)
}

// Notes returns the facts that every summary keeps.
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

// Tokens returns those of what the model sees.
func (v *View) Tokens() int { return tokensOfAll(v.Seen()) }

// with returns what the model would see with a summary.
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

// textOf returns a summary with what every summary keeps.
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

// Summarized returns how many messages a summary stands for, and its text as the model sees it.
func (v *View) Summarized() (messages int, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.replaced, v.textOf(v.summary)
}

// Boundary returns how many messages a summary would replace so that about keep tokens
// stay, and at least the last turn; 0 if none can be.
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

// Before returns what the model sees before message upTo: the text of a summary, and the messages since.
func (v *View) Before(upTo int) (summary string, messages []model.Message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.summary, v.messages[min(v.replaced, upTo):upTo:upTo]
}

// Gains reports whether a summary of so many messages is enough shorter than what it replaces, and how many
// tokens the conversation would have with it. That it is not is remembered.
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

// GainedNothing reports whether the last summary was dropped, and the conversation is not much longer since.
func (v *View) GainedNothing() bool {
	tokens := v.Tokens()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.noGain > 0 && tokens*100 < v.noGain*(100+leastGain)
}

// Counted learns from what the provider counted how far off the estimates are.
func (v *View) Counted(estimated int, u model.Usage) {
	if u.Estimated || u.Input == 0 || estimated < 200 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.factor = min(max(float64(u.Input)/float64(estimated), 0.5), 3)
}

// Corrected returns an estimate as the provider would count it.
func (v *View) Corrected(estimated int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return int(float64(estimated) * cmp.Or(v.factor, 1))
}

// Learn notes how many tokens a model sees.
func (v *View) Learn(name string, window int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.window, v.shownBy = window, name
}

// Learned returns how many tokens this model has shown that it sees; 0 if it has not.
func (v *View) Learned(name string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shownBy != name {
		return 0
	}
	return v.window
}

// Summarize has a summary stand for the first messages, if there are as many, whose images and sounds are dropped: the
// model is not sent them any more, and a conversation of days would hold every screenshot of it. It returns the
// messages that are without some now, by the first of the parts that they had.
func (v *View) Summarize(messages int, summary string) map[*model.Part]*model.Message {
	v.mu.Lock()
	defer v.mu.Unlock()
	if messages < 0 || messages > len(v.messages) {
		return nil // of a record that somebody else wrote
	}
	v.replaced, v.summary = messages, summary
	v.messages = slices.Clone(v.messages) // requests may still hold the others
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

// withoutMedia returns parts without the data of images and sounds, and whether there was any.
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

// TokensOf returns the tokens of definitions of tools.
func TokensOf(tools []model.Tool) int {
	bytes := 0
	for i := range tools {
		bytes += len(tools[i].Name) + len(tools[i].Description) + len(tools[i].Schema)
	}
	return model.EstimateTokens(bytes)
}

// TokensOfRequest returns the tokens of a request.
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

// MessageTokens are those around the parts of a message.
const MessageTokens = 4

// TokensOfMessage returns the tokens of a message.
func TokensOfMessage(m *model.Message) int {
	return MessageTokens + TokensOfParts(m.Parts)
}

// TokensOfParts returns the tokens of parts of a message.
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
