package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// statePages is the key of the request state for the pages between two rounds, while the client
// asks its user. The server must not get the call again before the user has accepted.
const statePages = "pages"

// requiredPages holds the web pages that the user must visit before a call.
type requiredPages struct {
	cause error      // the error if the user does not visit the pages
	fault *mcp.Error // the server's error
	pages []mcp.ElicitRequest
}

// pagesRequired returns the pages in an error of the server, or nil.
func pagesRequired(err error) *requiredPages {
	var fault *mcp.Error
	if !errors.As(err, &fault) || fault.Code != mcp.CodeURLElicitationRequired {
		return nil
	}
	var data struct {
		Elicitations []mcp.ElicitRequest `json:"elicitations"`
	}
	if schema.DecodeLoose(orEmptyObject(fault.Data), &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxRequested {
		return nil
	}
	return &requiredPages{cause: err, fault: fault, pages: data.Elicitations}
}

// requiredBefore returns the pages that an earlier round of the request required, or nil.
func requiredBefore(req *mcp.Request) *requiredPages {
	kept := req.State.Get(statePages)
	if kept == nil {
		return nil
	}
	message, _ := jsonrpc.Unquote(jsonrpc.Get(kept, "message"))
	return pagesRequired(&mcp.Error{Code: mcp.CodeURLElicitationRequired, Message: message, Data: jsonrpc.Get(kept, "data")})
}

// visit asks the user to visit the pages.
func (p *requiredPages) visit(ctx context.Context, c *conn, s *session, req *mcp.Request) error {
	requests := make(map[string]revision.InputRequest)
	for i, page := range p.pages {
		page.Mode = mcp.ElicitURL
		params, err := schema.Encode(nil, page)
		if err != nil {
			return err
		}
		requests[fmt.Sprintf("visit-%d-%s", i, page.ElicitationID)] = revision.InputRequest{Method: methodElicit, Params: params}
	}
	responses, err := c.askWhileOpen(ctx, s, req, &inputState{Requests: requests}, 0)
	if errors.Is(err, mcp.ErrInputRequired) {
		w := jsonrpc.NewObject(nil)
		w.String("message", p.fault.Message)
		w.Raw("data", p.fault.Data)
		req.State.Set(statePages, w.Bytes())
		return err
	}
	req.State.Set(statePages, nil)
	if err != nil {
		return err
	}
	for _, response := range responses {
		if action, _ := jsonrpc.Unquote(jsonrpc.Get(response, "action")); action != mcp.ElicitAccept {
			return p.cause
		}
	}
	return nil
}

// elicitComplete passes a notification that a page is done to the client's Peer. It drops the
// notification if too many messages outside of calls are being handled.
func (e *legacy) elicitComplete(m *jsonrpc.Message) {
	peer := e.options.Peer
	if peer == nil {
		return
	}
	select {
	case e.outsideSlots <- struct{}{}:
	default:
		e.log.Debug("mcp: a notification was dropped: too many are being handled", "server", e.options.Name, "method", m.Method)
		return
	}
	method, params := m.Method, slices.Clone(m.Params) // the reader reuses m
	runs := e.spawn(func() {
		defer func() { <-e.outsideSlots }()
		_ = peer.Notify(e.ctx, method, params) // a Peer of this process
	})
	if !runs {
		<-e.outsideSlots
	}
}
