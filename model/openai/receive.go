package openai

import (
	"context"
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/junction-mcp/junction/model"
)

// receive reads an answer to its end. The Response is nil where nothing had come.
func (m *Model) receive(ctx context.Context, res *http.Response, req *model.Request, emit func(model.Delta), f *failures) (*model.Response, error) {
	events := newEvents(res)
	stream := ssestream.NewStream[openai.ChatCompletionChunk](events, nil)
	defer stream.Close()
	a := newAssembly(m.preset.Name, req, emit)
	for a.fault == "" && stream.Next() {
		chunk := stream.Current()
		a.chunk(&chunk)
	}
	if err := a.problem(ctx, stream.Err(), events.done, f); err != nil {
		if !a.begun {
			return nil, err
		}
		return a.response(req, true), err
	}
	return a.response(req, false), nil
}

// problem says why an answer is not whole; nil if it is. It is whole when a reason
// to stop has come, whatever became of the connection then, or the stream said
// that it is done.
func (a *assembly) problem(ctx context.Context, err error, done bool, f *failures) error {
	var failure *ssestream.StreamError
	switch {
	case errors.As(err, &failure):
		e := f.of(complaintOf(failure.Event.Data), 0)
		if e.Err == nil {
			e.Err = model.ErrBroken
		}
		return e
	case a.fault != "":
		return f.broken(ctx, a.fault, nil)
	case a.reason == "error" || a.reason == "abort":
		return f.broken(ctx, "the provider gave up", nil)
	case a.begun && (a.reason != "" || done):
		return nil
	case err != nil:
		return f.broken(ctx, err.Error(), err)
	case !a.begun:
		return f.broken(ctx, "no message came; is the base URL right?", nil)
	}
	return f.broken(ctx, "the stream ended without a reason to stop", nil)
}
