package wire

import (
	"crypto/sha256"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/model"
)

// Member is a member of a request that a service may not take.
type Member struct {
	Name string
	// Words are what a complaint about it mentions, one of them.
	Words []string
}

// Learned is what was found out about a service by asking: the tools, pictures and members that
// it does not take. It may be used from many goroutines.
type Learned struct {
	// Members are those that can be left out, in the order in which they are looked for.
	Members []Member

	mu         sync.Mutex
	refused    map[[sha256.Size]byte]string // tools, by all that was sent of them, and pictures, by their data; and why
	left       map[string]bool
	mostTokens int // of an answer; 0 while no limit was refused
}

// Left returns the members that are left out.
func (l *Learned) Left() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.left)
}

// MostTokens is the largest limit of an answer that the model takes; 0 if that is not known.
func (l *Learned) MostTokens() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mostTokens
}

// from learns from an error. It says whether to ask again, and with which tools.
func (l *Learned) from(err error, tools []model.Tool) (next []model.Tool, notes []model.Note, again bool) {
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Status != http.StatusBadRequest && failure.Status != http.StatusUnprocessableEntity || failure.Err != nil {
		return tools, nil, false
	}
	if bad := namedTools(failure.Message, tools); len(bad) > 0 {
		next, notes = l.refuse(bad, tools, failure.Message)
		return next, notes, true
	}
	return tools, nil, l.learn(failure.Message)
}

// learn finds the member that an error is about, and leaves it out from now on. It
// reports false if there is none, or it was left out already.
func (l *Learned) learn(message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if match := tooMany.FindStringSubmatch(message); match != nil {
		most, err := strconv.Atoi(match[1])
		changes := err == nil && most > 0 && most != l.mostTokens
		l.mostTokens = most
		return changes
	}
	for _, m := range l.Members {
		mentioned := slices.ContainsFunc(m.Words, func(word string) bool { return strings.Contains(message, word) })
		if mentioned && !l.left[m.Name] && refusal.MatchString(message) {
			if l.left == nil {
				l.left = map[string]bool{}
			}
			l.left[m.Name] = true
			return true
		}
	}
	return false
}

var (
	refusal     = regexp.MustCompile(`(?i)not (be )?(supported|permitted|allowed|recogni[sz]ed|accepted)|unsupported|does(n't| not) support|unknown|unrecognized|unexpected|extra (input|field)|cannot find field|only the default|not a valid|could not be (verified|decrypted)`)
	byPosition  = regexp.MustCompile(`(function_declarations|functions|tools)(?:\[|\.)(\d{1,4})\b`)
	tooMany     = regexp.MustCompile(`max_tokens: \d+ > (\d+)`)
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
