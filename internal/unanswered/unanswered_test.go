package unanswered_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/junction-mcp/junction/internal/unanswered"
	"github.com/junction-mcp/junction/mcp"
)

// gone is an error of a request without a response.
type gone struct{ error }

func (gone) Unanswered() {}

func (g gone) Unwrap() error { return g.error }

func TestAnErrorSaysWhetherItsServerResponded(t *testing.T) {
	refused := &mcp.Error{Code: mcp.CodeInvalidParams, Message: "no", Data: json.RawMessage(`{"a":1}`)}
	for _, test := range []struct {
		name string
		err  error
		code int
		data string
	}{
		{"a response", refused, mcp.CodeInvalidParams, `{"a":1}`},
		{"a response within another error", fmt.Errorf("call: %w", refused), mcp.CodeInvalidParams, `{"a":1}`},
		{"an error of this process", errors.New("x"), mcp.CodeInternalError, ""},
		{"no connection", gone{errors.New("x")}, mcp.CodeInternalError, `{"io.github.junction-mcp/unanswered":"connection"}`},
		{"no connection, as the server refuses it", gone{refused}, mcp.CodeInvalidParams, `{"a":1,"io.github.junction-mcp/unanswered":"connection"}`},
		{"no response in time", gone{context.DeadlineExceeded}, mcp.CodeInternalError, `{"io.github.junction-mcp/unanswered":"timeout"}`},
		{"data that are no object", gone{&mcp.Error{Code: 1, Data: json.RawMessage(`[1]`)}}, 1, `[1]`},
	} {
		got := mcp.ErrorOf(test.err)
		if got.Code != test.code || string(got.Data) != test.data {
			t.Errorf("%s: code %d, data %s; want %d, %s", test.name, got.Code, got.Data, test.code, test.data)
		}
	}
	if string(refused.Data) != `{"a":1}` {
		t.Errorf("the server's error was changed: %s", refused.Data)
	}
	for data, want := range map[string]unanswered.Reason{
		"": "", `{}`: "", `[]`: "", `{"io.github.junction-mcp/unanswered":"timeout"}`: unanswered.Timeout,
		`{"io.github.junction-mcp/unanswered":"whatever"}`: "", `{"io.github.junction-mcp/unanswered":1}`: "",
	} {
		if got := unanswered.In(json.RawMessage(data)); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}
