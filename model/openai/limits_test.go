package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

func event(delta string) string {
	return `data: {"choices":[{"index":0,"delta":` + delta + "}]}\n\n"
}

func TestAMessageHasALimitOfCalls(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	for i := range maxCalls + 1 {
		body.WriteString(event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"a","arguments":"{}"}}]}`, i, i)))
	}
	_, m := at(t, Options{}, answer{status: http.StatusOK, body: body.String()})
	res, err := m.Generate(t.Context(), hello(), nil)
	if !errors.Is(err, model.ErrBroken) || res == nil || len(res.Message.Calls()) != maxCalls {
		t.Errorf("%v", err)
	}
}

// Pieces are joined once, so that the time for a long thought is not quadratic.
func TestALongThoughtIsJoinedInLinearTime(t *testing.T) {
	t.Parallel()
	const pieces = 5_000
	piece := event(`{"reasoning_content":"thinking "}`)
	body := strings.Repeat(piece, pieces) + event(`{"content":"ok"}`) + "data: [DONE]\n\n"
	_, m := at(t, Options{Provider: "deepseek"}, answer{status: http.StatusOK, body: body})
	res := generate(t, m, hello())
	want := strings.Repeat("thinking ", pieces)
	if got := res.Message.Parts[0].Reasoning; got == nil || got.Text != want {
		t.Error("the thought is another")
	}
	if got := string(res.Message.Extra["deepseek"]["reasoning_content"]); got != `"`+want+`"` {
		t.Error("what goes back is another")
	}
}

func TestAnEventHasALimit(t *testing.T) {
	t.Parallel()
	body := event(`{"content":"ok"}`) + "data: " + strings.Repeat("x", wire.MaxEvent+1) + "\n\n"
	_, m := at(t, Options{}, answer{status: http.StatusOK, body: body})
	res, err := m.Generate(t.Context(), hello(), nil)
	if !errors.Is(err, model.ErrBroken) || res == nil || res.Message.Text() != "ok" {
		t.Errorf("%v", err)
	}
}
