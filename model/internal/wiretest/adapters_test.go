package wiretest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/anthropic"
	"github.com/junction-mcp/junction/model/injected"
	"github.com/junction-mcp/junction/model/openai"
	"github.com/junction-mcp/junction/model/responses"
)

// adapters has a row for each wire.
var adapters = []adapter{
	{name: "openai", atLeast: 24, open: func(client *http.Client, options json.RawMessage) (model.Model, error) {
		o := openai.Options{Model: "gpt-test", Key: "sk-secret", HTTPClient: client}
		return with(options, &o, func() (*openai.Model, error) { return openai.New(o) })
	}},
	{name: "responses", atLeast: 37, open: func(client *http.Client, options json.RawMessage) (model.Model, error) {
		o := responses.Options{Model: "gpt-test", Key: "sk-secret", HTTPClient: client}
		return with(options, &o, func() (*responses.Model, error) { return responses.New(o) })
	}},
	{name: "anthropic", atLeast: 28, open: func(client *http.Client, options json.RawMessage) (model.Model, error) {
		o := anthropic.Options{Model: "claude-sonnet-4-5", Key: "sk-secret-key", HTTPClient: client}
		return with(options, &o, func() (*anthropic.Model, error) { return anthropic.New(o) })
	}},
	{name: "injected", atLeast: 18, textChanges: true, open: func(client *http.Client, _ json.RawMessage) (model.Model, error) {
		return injected.New(plainText{client}), nil
	}},
}

// with opens a model with its options after decoding those of a stream into them.
func with[M model.Model](given json.RawMessage, options any, open func() (M, error)) (model.Model, error) {
	if given != nil {
		if err := json.Unmarshal(given, options); err != nil {
			return nil, err
		}
	}
	return open()
}

// plainText is a model whose answer is the text of a page, as it comes. It is complete if the text
// ends with a tilde; otherwise it was cut off at its limit.
type plainText struct{ client *http.Client }

func (p plainText) Info() model.Info { return model.Info{Provider: "plain", Language: true} }

func (p plainText) Generate(ctx context.Context, _ *model.Request, emit func(model.Delta)) (*model.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://model.test/", strings.NewReader("{}"))
	if err != nil {
		return nil, err
	}
	answer, err := p.client.Do(req)
	if err != nil {
		return nil, &model.Error{Provider: "plain", Err: err}
	}
	defer answer.Body.Close()
	res := &model.Response{Stop: model.StopLength, Message: model.Message{Role: model.RoleAssistant}}
	var all strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := answer.Body.Read(buffer)
		text, _, done := strings.Cut(string(buffer[:n]), "~")
		if text != "" && res.Stop == model.StopLength {
			all.WriteString(text)
			emit(model.Delta{Text: text})
		}
		if done {
			res.Stop = model.StopEnd
		}
		if err != nil {
			if all.Len() > 0 {
				res.Message.Parts = []model.Part{{Text: all.String()}}
			}
			if errors.Is(err, io.EOF) || res.Stop == model.StopEnd {
				return res, nil
			}
			return res, &model.Error{Provider: "plain", Err: model.ErrBroken}
		}
	}
}
