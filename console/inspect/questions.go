package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/traffic"
)

const (
	maxQuestions = 32               // maximum number of unanswered questions of a server
	answerTime   = 10 * time.Minute // time within which the user must answer
)

// A question is a request of the server that the user of a page answers.
type question struct {
	Question uint64          `json:"question"`
	Kind     string          `json:"kind"` // elicitation, sampling or roots
	Request  uint64          `json:"request,omitempty"`
	Params   json.RawMessage `json:"params,omitempty"`
	Asked    time.Time       `json:"asked"`

	answered chan answer // has capacity 1
}

// An answer is the page's response to a question.
type answer struct {
	Action  string          `json:"action"`  // accept, decline or cancel
	Content json.RawMessage `json:"content"` // values of the form, for elicitation
	Result  json.RawMessage `json:"result"`  // result of sampling
	Roots   []mcp.Root      `json:"roots"`
}

// askUser shows a request of the server on the page, and waits for the answer.
func (c *connection) askUser(ctx context.Context, kind string, params any) (answer, error) {
	q := &question{Kind: kind, Request: requestOf(ctx), Asked: time.Now().UTC(), answered: make(chan answer, 1)}
	if params != nil {
		var err error
		if q.Params, err = schema.Encode(nil, params); err != nil {
			return answer{}, err
		}
	}
	c.mu.Lock()
	if len(c.questions) >= maxQuestions {
		c.mu.Unlock()
		return answer{}, fmt.Errorf("%d requests of the server wait for an answer already", maxQuestions)
	}
	q.Question = traffic.CallOf(c.log.Calling("", "", kind, "")) // questions and requests share their numbers, so that each is unique
	c.questions[q.Question] = q
	clocks := c.clocks(q.Request)
	c.mu.Unlock()
	for _, k := range clocks {
		defer k.Hold()()
	}
	c.journal.add("question", q)
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("no answer within %v", answerTime))
	defer cancel()
	var given answer
	var err error
	how := "withdrawn"
	select {
	case given = <-q.answered:
		how = given.Action
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.ctx.Done():
		err = context.Cause(c.ctx)
	}
	c.mu.Lock()
	delete(c.questions, q.Question)
	c.mu.Unlock()
	c.journal.add("answered", struct {
		Question uint64 `json:"question"`
		Action   string `json:"action"`
	}{q.Question, how})
	return given, err
}

// clocks returns the timeouts to stop while the user answers: that of the given request, or those
// of all requests if it is 0. The caller holds mu.
func (c *connection) clocks(request uint64) []*idle.Timer {
	var all []*idle.Timer
	for _, q := range c.requests {
		if q.State == running && (request == 0 || q.Request == request) {
			all = append(all, q.clock)
		}
	}
	return all
}

func (c *connection) elicit(ctx context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	given, err := c.askUser(ctx, "elicitation", req)
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: given.Action, Content: given.Content}, nil
}

// errRefused is the error that a server gets if the user declines its request.
var errRefused = errors.New("the user refused it")

func (c *connection) sample(ctx context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	given, err := c.askUser(ctx, "sampling", req)
	if err != nil {
		return nil, err
	}
	if given.Action != mcp.ElicitAccept {
		return nil, &mcp.Error{Code: -1, Message: errRefused.Error()}
	}
	result := new(mcp.CreateMessageResult)
	return result, schema.DecodeLoose(given.Result, result)
}

func (c *connection) roots(ctx context.Context) ([]mcp.Root, error) {
	given, err := c.askUser(ctx, "roots", nil)
	if err == nil && given.Action != mcp.ElicitAccept {
		err = errRefused
	}
	return given.Roots, err
}

// openQuestions lists the unanswered questions.
func (c *connection) openQuestions(*http.Request) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []*question{}
	for _, q := range c.questions {
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b *question) int { return int(a.Question) - int(b.Question) })
	return struct {
		Questions []*question `json:"questions"`
	}{all}, nil
}

// answer passes the page's answer to the question.
func (c *connection) answer(r *http.Request) (any, error) {
	var given answer
	if err := decode(r, &given, maxBody); err != nil {
		return nil, err
	}
	n, _ := strconv.ParseUint(r.PathValue("q"), 10, 64)
	c.mu.Lock()
	q := c.questions[n]
	c.mu.Unlock()
	if q == nil {
		return nil, reply.Refuse(http.StatusNotFound, "this question is not open any more: it was answered, or the server withdrew it")
	}
	if err := q.check(&given); err != nil {
		return nil, err
	}
	select {
	case q.answered <- given:
		return nil, nil
	default:
		return nil, reply.Refuse(http.StatusConflict, "this question was answered already")
	}
}

// check returns an error if an answer is invalid, so that the user can correct it.
func (q *question) check(given *answer) error {
	switch given.Action {
	case mcp.ElicitAccept:
	case mcp.ElicitDecline, mcp.ElicitCancel:
		given.Content = nil
		return nil
	default:
		return reply.Refuse(http.StatusBadRequest, `"action": expected accept, decline or cancel`)
	}
	switch q.Kind {
	case "elicitation":
		form := jsonrpc.Get(q.Params, "requestedSchema")
		if form == nil {
			given.Content = nil
			return nil
		}
		checks, err := schema.Compile(form)
		if err != nil {
			return reply.Refuse(http.StatusUnprocessableEntity, "the server's form cannot be used: %v; decline it", err)
		}
		if given.Content == nil {
			given.Content = json.RawMessage(`{}`)
		}
		if given.Content, err = checks.Complete(given.Content); err != nil {
			return reply.Refuse(http.StatusUnprocessableEntity, "the content does not fit the form: %v", err)
		}
	case "sampling":
		if len(given.Result) == 0 {
			return reply.Refuse(http.StatusBadRequest, `"result": expected an object with role, content and model`)
		}
		if err := schema.DecodeLoose(given.Result, new(mcp.CreateMessageResult)); err != nil {
			return reply.Refuse(http.StatusUnprocessableEntity, "the result cannot be read: %v", err)
		}
	}
	return nil
}
