package anthropic

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/model"
)

// maxRefused is how many refused tools are remembered.
const maxRefused = 256

// refused is what the provider turned out not to take.
type refused struct {
	mu    sync.Mutex
	tools map[[sha256.Size]byte]string // by all that was sent of them, and why
	// mostTokens is the largest limit of an answer that the model takes; 0 if no
	// limit was refused.
	mostTokens atomic.Int64
}

// Without sets aside the tools that are known to be refused.
func (r *refused) Without(tools []model.Tool) ([]model.Tool, []model.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tools) == 0 {
		return tools, nil
	}
	var taken []model.Tool
	var notes []model.Note
	for i := range tools {
		if why, ok := r.tools[fingerprint(&tools[i])]; ok {
			notes = append(notes, model.Note{Tool: tools[i].Name, SetAside: true, Text: why})
			continue
		}
		taken = append(taken, tools[i])
	}
	return taken, notes
}

func fingerprint(t *model.Tool) [sha256.Size]byte {
	return sha256.Sum256([]byte(t.Name + "\x00" + t.Description + "\x00" + string(t.Schema)))
}

var (
	byPosition = regexp.MustCompile(`\btools\.(\d{1,5})\b`)
	byName     = regexp.MustCompile("(?i)\\btool[^.]{0,40}['\"`]([A-Za-z_][A-Za-z0-9_-]{0,63})['\"`]")
	tooMany    = regexp.MustCompile(`max_tokens: (\d+) > (\d+)`)
	ofMessage  = regexp.MustCompile(`\bmessages\.\d`)
)

// From learns from an error. It says whether to ask again, and with which tools.
func (r *refused) From(err error, tools []model.Tool) (next []model.Tool, notes []model.Note, again bool) {
	var told *model.Error
	if !errors.As(err, &told) || told.Status != http.StatusBadRequest || told.Err != nil {
		return tools, nil, false
	}
	if match := tooMany.FindStringSubmatch(told.Message); match != nil {
		most, err := strconv.ParseInt(match[2], 10, 64)
		return tools, nil, err == nil && most > 0 && r.mostTokens.Swap(most) != most
	}
	bad := named(told.Message, tools)
	if bad < 0 {
		return tools, nil, false
	}
	why := "the provider does not take it: " + told.Message
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tools == nil || len(r.tools) >= maxRefused {
		r.tools = map[[sha256.Size]byte]string{}
	}
	r.tools[fingerprint(&tools[bad])] = why
	return slices.Delete(slices.Clone(tools), bad, bad+1), []model.Note{{Tool: tools[bad].Name, SetAside: true, Text: why}}, true
}

// named is the tool that a complaint is about, by position or by name; -1 if it is
// about none. One about the conversation names tools too.
func named(message string, tools []model.Tool) int {
	if ofMessage.MatchString(message) {
		return -1
	}
	if match := byPosition.FindStringSubmatch(message); match != nil {
		if i, err := strconv.Atoi(match[1]); err == nil && i < len(tools) {
			return i
		}
		return -1
	}
	if match := byName.FindStringSubmatch(message); match != nil {
		return slices.IndexFunc(tools, func(t model.Tool) bool { return t.Name == match[1] })
	}
	return -1
}
