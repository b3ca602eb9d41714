package host

import (
	"context"
	"time"

	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/model"
)

// watched is what is reported of a request, and where its exchanges will be.
func (r *run) watched(request *model.Request) (Asked, *[]model.Exchange) {
	exchanges := new([]model.Exchange)
	asked := Asked{Model: r.h.options.Model.Info().Name, Messages: len(request.Messages), Tools: len(request.Tools), Tokens: window.TokensOfRequest(request)}
	if r.h.options.Trace {
		request.Tap = func(e model.Exchange) { *exchanges = append(*exchanges, e) }
		asked.Request = request
	}
	return asked, exchanges
}

// outside asks the model for what belongs to none of the seven steps, counts what it cost, and
// tells it: whoever follows a run must see all that is paid for. The answer is there,
// too, where it broke off with an error.
func (r *run) outside(ctx context.Context, request *model.Request, generated Generated) (*model.Response, error) {
	began := time.Now()
	asked, exchanges := r.watched(request)
	response, err := r.h.options.Model.Generate(ctx, request, r.retried)
	generated.Asked, generated.Exchanges, generated.Duration = asked, *exchanges, time.Since(began)
	if response != nil {
		used := r.charge(request, response)
		generated.Decided = &Decided{Message: &response.Message, Stop: response.Stop, StopDetail: response.StopDetail, Usage: response.Usage, Cost: used.Cost, CostUnknown: used.CostUnknown}
	}
	if err = orNothing(response, err); err != nil {
		generated.Error = err.Error()
	}
	r.tell(Event{Generated: &generated})
	return response, err
}
