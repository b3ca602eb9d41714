package up

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/gateway/approvals"
	"github.com/junction-mcp/junction/state"
)

// maxVerdict is the largest body of a decision about a waiting call in bytes.
const maxVerdict = 64 << 10

// serveApprovals adds the routes that list the calls that wait for approval, and that decide. who
// returns the caller of a request; its error refuses the request.
func (v *Served) serveApprovals(handle func(pattern string, h http.Handler), base string, who func(*http.Request) (approvals.Approver, error)) {
	desk := v.Gateway.Layers().Desk
	handle("GET "+base+"/approvals", reply.With(func(r *http.Request) (any, error) {
		a, err := who(r)
		if err != nil {
			return nil, err
		}
		return cli.ApprovalsShown{Approvals: desk.List(r.Context(), a)}, nil
	}))
	decide := func(approve bool) http.Handler {
		return reply.With(func(r *http.Request) (any, error) {
			a, err := who(r)
			if err != nil {
				return nil, err
			}
			given, err := verdictOf(r, approve)
			if err != nil {
				return nil, err
			}
			q, err := desk.Decide(r.Context(), r.PathValue("id"), a, given)
			switch {
			case errors.Is(err, approvals.ErrGone):
				return nil, reply.Refuse(http.StatusNotFound, "%v", err)
			case errors.Is(err, approvals.ErrDecided):
				return nil, reply.Refuse(http.StatusConflict, "%v", err)
			case errors.Is(err, state.ErrUnavailable):
				return nil, reply.Refuse(http.StatusServiceUnavailable, "%v", err)
			case err != nil:
				return nil, reply.Refuse(http.StatusUnprocessableEntity, "%v", err)
			}
			return q, nil
		})
	}
	handle("POST "+base+"/approvals/{id}/approve", decide(true))
	handle("POST "+base+"/approvals/{id}/refuse", decide(false))
}

// verdictOf reads a decision from the body of a request, which may be empty.
func verdictOf(r *http.Request, approve bool) (v approvals.Verdict, err error) {
	var body struct {
		For    string `json:"for"`
		Reason string `json:"reason"`
	}
	if err = json.NewDecoder(io.LimitReader(r.Body, maxVerdict)).Decode(&body); err != nil && !errors.Is(err, io.EOF) {
		return v, reply.Refuse(http.StatusBadRequest, "the body is not a JSON object with for or reason: %v", err)
	}
	v = approvals.Verdict{Approve: approve, Reason: body.Reason}
	if body.For == "" {
		return v, nil
	}
	if v.For, err = time.ParseDuration(body.For); err != nil || v.For <= 0 || !approve {
		return v, reply.Refuse(http.StatusBadRequest, "for: expected a time such as 10m, of an approval, got %.40q", body.For)
	}
	return v, nil
}

// teamURL returns the URL of the page on which callers approve calls, or "" if there is none.
func (v *Served) teamURL() string {
	if v.access == nil || v.access.local == nil {
		return ""
	}
	return v.access.Origins[0] + teamPath
}
