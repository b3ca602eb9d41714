package scripted

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/model"
)

// Turn makes the answer to one request. What it leaves empty in the Response is
// filled in: the role, ids of calls, arguments, the reason for stopping, usage.
// It must not change the request. An error may come with a Response; see
// [model.Model].
type Turn func(ctx context.Context, req *model.Request) (*model.Response, error)

// Func is a turn that depends on the request.
func Func(f func(req *model.Request) (*model.Response, error)) Turn {
	return func(_ context.Context, req *model.Request) (*model.Response, error) { return f(req) }
}

// Say answers with a text.
func Say(text string) Turn { return Reply(model.Part{Text: text}) }

// Call calls one tool; arguments are a JSON object, and "" means none.
func Call(name, arguments string) Turn { return Reply(Calling(name, arguments)) }

// Reply answers with a message of these parts, in this order.
func Reply(parts ...model.Part) Turn {
	return Respond(&model.Response{Message: model.Message{Parts: parts}})
}

// Respond answers with this response, or rather with a copy of it.
func Respond(resp *model.Response) Turn {
	return func(context.Context, *model.Request) (*model.Response, error) {
		own := *resp
		own.Message = copied(&resp.Message)
		return &own, nil
	}
}

// Fail answers with an error.
func Fail(err error) Turn {
	return func(context.Context, *model.Request) (*model.Response, error) { return nil, err }
}

// Break says the parts, and then the stream breaks with err.
func Break(err error, parts ...model.Part) Turn {
	reply := Reply(parts...)
	return func(ctx context.Context, req *model.Request) (*model.Response, error) {
		resp, _ := reply(ctx, req)
		return resp, err
	}
}

// Wait answers nothing until the context ends, and then with its error.
func Wait() Turn {
	return func(ctx context.Context, _ *model.Request) (*model.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// Calling is a part that calls a tool, for [Reply]. Arguments are a JSON object,
// and "" means none. The model gives the call an id.
func Calling(name, arguments string) model.Part {
	if arguments == "" {
		arguments = "{}"
	}
	return model.Part{Call: &model.Call{Name: name, Arguments: json.RawMessage(arguments)}}
}
