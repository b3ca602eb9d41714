package offline

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/model"
)

// maxQuestion is how many bytes of a question are read.
const maxQuestion = 8 << 10

// A turn is the user's last message, and what was done about it.
type turn struct {
	question string
	done     []*model.Result // of calls, in order, without those of the tool search
	failed   bool            // the last of them is an error
	searched bool            // the last call was a search
}

func readTurn(messages []model.Message) turn {
	var t turn
	last := len(messages)
	for i := range messages {
		if messages[i].Role == model.RoleUser {
			last = i
		}
	}
	if last == len(messages) {
		return t
	}
	t.question = question(&messages[last])
	for i := last + 1; i < len(messages); i++ {
		for j := range messages[i].Parts {
			if r := messages[i].Parts[j].Result; r != nil {
				t.add(r)
			}
		}
	}
	return t
}

// question is the first text that a person may have written: what a host puts
// before it, such as a summary of what was said, is several lines in brackets.
func question(m *model.Message) string {
	for _, p := range m.Parts {
		note := strings.HasPrefix(p.Text, "[") && strings.HasSuffix(p.Text, "]") && strings.Contains(p.Text, "\n")
		if p.Text != "" && !note {
			return whole(p.Text[:min(len(p.Text), maxQuestion)])
		}
	}
	return ""
}

func (t *turn) add(r *model.Result) {
	t.searched = r.Name == searchTool
	if !t.searched {
		t.done = append(t.done, r)
		t.failed = t.failed || r.IsError
	}
}

const idPrefix = "offline_"

// newID is an id that no call of the conversation has.
func newID(messages []model.Message) string {
	highest := 0
	for i := range messages {
		for _, c := range messages[i].Calls() {
			if n, err := strconv.Atoi(strings.TrimPrefix(c.ID, idPrefix)); err == nil && strings.HasPrefix(c.ID, idPrefix) {
				highest = max(highest, n)
			}
		}
	}
	return fmt.Sprintf("%s%d", idPrefix, highest+1)
}
