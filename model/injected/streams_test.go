package injected

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wiretest"
)

// plainText is a model whose answer is the text of a page, as it comes. It was
// done if the text ends with a tilde; otherwise it was cut off at its limit.
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

func TestRecordedTexts(t *testing.T) {
	wiretest.Suite{Dir: "testdata/streams", AtLeast: 18, TextChanges: true, Open: func(_ testing.TB, client *http.Client, _ json.RawMessage) model.Model {
		return New(plainText{client})
	}}.Run(t)
}
