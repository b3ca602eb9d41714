package scripted

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/model"
)

// Turn returns the response to a request. The model sets fields of the Response that are empty: the
// role, ids of calls, arguments, the reason for stopping, and usage. A Turn must not change the
// request. It may return an error together with a Response; see [model.Model].
type Turn func(ctx context.Context, req *model.Request) (*model.Response, error)

// Func returns a turn that calls f with the request.
func Func(f func(req *model.Request) (*model.Response, error)) Turn {
	return func(_ context.Context, req *model.Request) (*model.Response, error) { return f(req) }
}

// Say returns a turn that responds with a text.
func Say(text string) Turn { return Reply(model.Part{Text: text}) }

// Call returns a turn that calls one tool. arguments is a JSON object; "" means no arguments.
func Call(name, arguments string) Turn { return Reply(Calling(name, arguments)) }

// Reply returns a turn that responds with a message of the given parts.
func Reply(parts ...model.Part) Turn {
	return Respond(&model.Response{Message: model.Message{Parts: parts}})
}

// Respond returns a turn that responds with a copy of resp.
func Respond(resp *model.Response) Turn {
	return func(context.Context, *model.Request) (*model.Response, error) {
		own := *resp
		own.Message = copied(&resp.Message)
		return &own, nil
	}
}

// Fail returns a turn that fails with an error.
func Fail(err error) Turn {
	return func(context.Context, *model.Request) (*model.Response, error) { return nil, err }
}

// Break returns a turn that responds with the parts, after which its stream fails with err.
func Break(err error, parts ...model.Part) Turn {
	reply := Reply(parts...)
	return func(ctx context.Context, req *model.Request) (*model.Response, error) {
		resp, _ := reply(ctx, req)
		return resp, err
	}
}

// Wait returns a turn that waits until the context is done and returns its error.
func Wait() Turn {
	return func(ctx context.Context, _ *model.Request) (*model.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// Calling returns a part for [Reply] that calls a tool. arguments is a JSON object; "" means no
// arguments. The model generates the id of the call.
func Calling(name, arguments string) model.Part {
	if arguments == "" {
		arguments = "{}"
	}
	return model.Part{Call: &model.Call{Name: name, Arguments: json.RawMessage(arguments)}}
}
