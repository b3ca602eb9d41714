package anthropic

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// refused is what the provider turned out not to take.
type refused struct {
	wire.Refused // tools
	// mostTokens is the largest limit of an answer that the model takes; 0 if no
	// limit was refused.
	mostTokens atomic.Int64
}

var (
	byPosition = regexp.MustCompile(`\btools\.(\d{1,5})\b`)
	byName     = regexp.MustCompile("(?i)\\btool[^.]{0,40}['\"`]([A-Za-z_][A-Za-z0-9_-]{0,63})['\"`]")
	tooMany    = regexp.MustCompile(`max_tokens: (\d+) > (\d+)`)
	ofMessage  = regexp.MustCompile(`\bmessages\.\d`)
)

// From learns from an error. It says whether to ask again, and with which tools.
func (r *refused) From(err error, tools []model.Tool) (next []model.Tool, notes []model.Note, again bool) {
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Status != http.StatusBadRequest || failure.Err != nil {
		return tools, nil, false
	}
	if match := tooMany.FindStringSubmatch(failure.Message); match != nil {
		most, err := strconv.ParseInt(match[2], 10, 64)
		return tools, nil, err == nil && most > 0 && r.mostTokens.Swap(most) != most
	}
	bad := named(failure.Message, tools)
	if bad < 0 {
		return tools, nil, false
	}
	next, notes = r.Refuse([]int{bad}, tools, failure.Message)
	return next, notes, true
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
