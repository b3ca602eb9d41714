package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// CodeURLElicitationRequired is the code for a request that fails until the user has visited a web
// page. Only revision 2025-11-25 has it; see [ElicitationRequiredError].
const CodeURLElicitationRequired = -32042

const notificationElicitComplete = "notifications/elicitation/complete"

// An ElicitationRequiredError reports that a call fails until the user has visited web pages, for
// example to log in to another service (client/elicitation, URL mode errors). A tool returns it if
// it does not wait for the user.
//
// A client of revision 2025-11-25 receives it as a protocol error, and calls again after the visit.
// A modern client is asked to show the pages, and the tool runs again when the user has agreed. The
// tool should return the same pages until the user is done. Other clients, and those that cannot
// show pages, receive a tool error with the addresses. In a [Client], errors.As finds the error of a
// server.
type ElicitationRequiredError struct {
	// Message is the reason, for users and models.
	Message string
	// Elicitations lists the pages. Each has a Message, a URL and an ElicitationID. An empty
	// ElicitationID is replaced by a random one, and the Mode by [ElicitURL].
	Elicitations []ElicitRequest
}

// Error returns the message and the addresses.
func (e *ElicitationRequiredError) Error() string {
	urls := make([]string, len(e.Elicitations))
	for i := range e.Elicitations {
		urls[i] = e.Elicitations[i].URL
	}
	return fmt.Sprintf("%s: visit %s, then call again", e.Message, strings.Join(urls, " and "))
}

// Unwrap returns the protocol error for the client.
func (e *ElicitationRequiredError) Unwrap() error {
	pages := make([]ElicitRequest, len(e.Elicitations))
	for i, page := range e.Elicitations {
		if page.Mode = ElicitURL; page.ElicitationID == "" {
			page.ElicitationID = rand.Text()
		}
		pages[i] = page
	}
	data, err := schema.Encode(nil, requiredElicitations{pages})
	if err != nil {
		return err
	}
	return &Error{Code: CodeURLElicitationRequired, Message: e.Message, Data: data}
}

// requiredElicitations is the data of an error with [CodeURLElicitationRequired].
type requiredElicitations struct {
	Elicitations []ElicitRequest `json:"elicitations"`
}

// As sets target to an [*ElicitationRequiredError] if e is the form in which a server sends it.
func (e *Error) As(target any) bool {
	to, ok := target.(**ElicitationRequiredError)
	if !ok || e.Code != CodeURLElicitationRequired {
		return false
	}
	var data requiredElicitations
	if schema.DecodeLoose(orEmptyObject(e.Data), &data) != nil || len(data.Elicitations) == 0 {
		return false
	}
	*to = &ElicitationRequiredError{e.Message, data.Elicitations}
	return true
}

// answer returns the result of a call that failed with e. The whole error of the tool is err.
func (e *ElicitationRequiredError) answer(ctx context.Context, err error) (Result, error) {
	req := RequestFrom(ctx)
	if req == nil || req.Peer == nil || req.Meta.Capabilities.Allow(ServerRequest{Method: methodElicit, Params: json.RawMessage(`{"mode":"url"}`)}) != nil {
		return Result{Value: ToolError("%v", err)}, nil
	}
	if req.State == nil {
		return Result{}, err
	}
	asking := make([]func() error, len(e.Elicitations))
	for i, page := range e.Elicitations {
		page.Mode, page.Key = ElicitURL, page.ElicitationID
		asking[i] = func() error {
			visited, err := ElicitRaw(ctx, page)
			if err == nil && visited.Action == ElicitDecline {
				err = ErrDeclined
			} else if err == nil && visited.Action == ElicitCancel {
				err = ErrDismissed
			}
			return err
		}
	}
	switch asked := Parallel(asking...); {
	case asked == nil: // the user agreed in an earlier round, and the tool still fails
	case errors.Is(asked, ErrInputRequired):
		return Result{}, ErrInputRequired
	default:
		err = fmt.Errorf("%w (%w)", err, asked)
	}
	return Result{Value: ToolError("%v", err)}, nil
}

// ElicitComplete notifies the client of a legacy session that a URL elicitation is over: the user
// has done what the page is for. The id is [ElicitRequest.ElicitationID]. Only clients of revision
// 2025-11-25 know the notification. Others, and a nil Session, get none.
//
// While a call runs, pass its context. Afterwards, as in the HTTP handler of the page, pass another
// one. The notification then needs an open stream of the session; the error reports its absence.
func (s *Session) ElicitComplete(ctx context.Context, id string) error {
	if s == nil {
		return nil
	}
	w := jsonrpc.NewObject(nil)
	w.String("elicitationId", id)
	if req := RequestFrom(ctx); req != nil && req.Session == s {
		return req.Peer.Notify(ctx, notificationElicitComplete, w.Bytes())
	}
	s.mu.Lock()
	notify, ended := s.notify, s.ended
	s.mu.Unlock()
	if notify == nil || ended {
		return errors.New("elicitation complete: the session is over")
	}
	return notify(ctx, notificationElicitComplete, w.Bytes())
}

// SendWith sets the function that sends notifications of the session outside of calls. The transport
// calls it once.
func (s *Session) SendWith(notify func(ctx context.Context, method string, params json.RawMessage) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = notify
}
