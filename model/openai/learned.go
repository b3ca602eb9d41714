package openai

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// facts are what a provider turned out not to take.
type facts struct {
	noStreamOptions, noTemperature, noStop, noToolChoice, noReasoning, noExtra, otherMaxTokens bool
}

// learned is what was found out about a provider by asking.
type learned struct {
	wire.Refused // tools
	mu           sync.Mutex
	facts        facts
}

func (l *learned) now() facts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.facts
}

// From learns from an error. It says whether to ask again, and with which tools.
func (l *learned) From(err error, tools []model.Tool) (next []model.Tool, notes []model.Note, again bool) {
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Status != http.StatusBadRequest && failure.Status != http.StatusUnprocessableEntity || failure.Err != nil {
		return tools, nil, false
	}
	if bad := namedTools(failure.Message, tools); len(bad) > 0 {
		next, notes = l.Refuse(bad, tools, failure.Message)
		return next, notes, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return tools, nil, l.learn(failure.Message)
}

// learn finds the member that an error is about, and leaves it out from now on. It
// reports false if there is none, or it was left out already.
func (l *learned) learn(message string) bool {
	f := &l.facts
	for _, m := range []struct {
		names string
		fact  *bool
	}{
		{"stream_options include_usage", &f.noStreamOptions},
		{"max_tokens max_completion_tokens", &f.otherMaxTokens},
		{"temperature", &f.noTemperature},
		{"tool_choice", &f.noToolChoice},
		{"reasoning_content", &f.noReasoning},
		{"reasoning_details extra_content", &f.noExtra},
		{"'stop' \"stop\" `stop`", &f.noStop},
	} {
		mentioned := slices.ContainsFunc(strings.Fields(m.names), func(name string) bool { return strings.Contains(message, name) })
		if mentioned && !*m.fact && refusal.MatchString(message) {
			*m.fact = true
			return true
		}
	}
	return false
}

var (
	refusal     = regexp.MustCompile(`(?i)not (be )?(supported|permitted|allowed|recogni[sz]ed|accepted)|unsupported|does(n't| not) support|unknown|unrecognized|unexpected|extra (input|field)|cannot find field|only the default|not a valid`)
	byPosition  = regexp.MustCompile(`(function_declarations|functions|tools)(?:\[|\.)(\d{1,4})\b`)
	missingHint = regexp.MustCompile(`(?i)messages?[\[.]\d|must be (passed|sent) back|missing a .?thought_signature`)
)

// namedTools are the tools that an error is about, by position or by name.
func namedTools(message string, tools []model.Tool) []int {
	if missingHint.MatchString(message) {
		return nil // it is about the conversation, in which tools are named too
	}
	for _, list := range []string{"function_declarations", "functions", "tools"} {
		var found []int
		for _, match := range byPosition.FindAllStringSubmatch(message, -1) {
			i, err := strconv.Atoi(match[2])
			if match[1] == list && err == nil && i < len(tools) && !slices.Contains(found, i) {
				found = append(found, i)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	var found []int
	for i := range tools {
		if slices.ContainsFunc([]string{"'", `"`, "`"}, func(q string) bool { return strings.Contains(message, q+tools[i].Name+q) }) {
			found = append(found, i)
		}
	}
	return found
}
