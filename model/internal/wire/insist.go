package wire

import (
	"fmt"

	"github.com/junction-mcp/junction/model"
)

// MaxAttempts is in how many forms one request is made: each time without what the
// provider refused before.
const MaxAttempts = 12

// Refusals is what a provider was found not to take.
type Refusals interface {
	// Without returns the tools that are not among it, and notes on the others.
	Without(tools []model.Tool) (kept []model.Tool, aside []model.Note)
	// From learns from an error, and says whether the request can be made again, and
	// with which tools.
	From(err error, tools []model.Tool) (next []model.Tool, notes []model.Note, again bool)
	// Sendable returns the request with texts in place of the pictures that are among it,
	// or that the dialect does not take.
	Sendable(req *model.Request, d *model.Dialect) *model.Request
	// FromPictures is as From, for the pictures of the request that was sent.
	FromPictures(err error, sent *model.Request) (notes []model.Note, again bool)
}

// Insist makes a request with ask, whose Response says that an answer had begun, and
// again without what was refused. Notes of the Response tell of tools and pictures.
func Insist(provider string, req *model.Request, d model.Dialect, known Refusals, ask func(req *model.Request, tools []model.Tool) (*model.Response, error)) (*model.Response, error) {
	tools, notes := model.Lower(req.Tools, d)
	tools, aside := known.Without(tools)
	notes = append(notes, aside...)
	var last error
	for range MaxAttempts {
		sent := known.Sendable(req, &d)
		res, err := ask(sent, tools)
		if res != nil {
			res.Notes = notes
			return res, err
		}
		next, more, again := known.From(err, tools)
		if !again {
			more, again = known.FromPictures(err, sent)
		}
		if !again {
			return nil, err
		}
		tools, notes, last = next, append(notes, more...), err
	}
	return nil, &model.Error{Provider: provider, Message: fmt.Sprintf("the request was refused in %d forms, at last: %v", MaxAttempts, last), Err: model.ErrBadTool}
}
