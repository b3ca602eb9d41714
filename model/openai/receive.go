package openai

import (
	"bufio"
	"context"
	"net/http"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// receive reads an answer to its end. The Response is nil where nothing had come.
func (m *Model) receive(ctx context.Context, res *http.Response, req *model.Request, emit func(model.Delta), f *wire.Failures) (*model.Response, error) {
	a := newAssembly(m.preset.Name, req, emit)
	read, body := a.readStream, bufio.NewReader(res.Body)
	if isWhole(res, body) {
		read = a.readWhole
	}
	err := read(body)
	if a.fault == "" && (a.reason == "error" || a.reason == "abort") {
		a.fault = "the provider gave up"
	}
	// It is whole when a reason to stop has come, or the stream said that it is done.
	end := wire.End{Complaint: a.complaint, Fault: a.fault, Begun: a.begun, Whole: a.reason != "" || a.done}
	failed := f.Problem(ctx, end, err)
	if !a.begun {
		return nil, failed
	}
	return a.response(req, failed != nil), failed
}
