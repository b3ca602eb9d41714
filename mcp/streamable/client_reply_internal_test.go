package streamable

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
)

func TestABatchWithSpaceBehindItIsDeliveredOnce(t *testing.T) {
	delivered := 0
	r := &clientReply{
		link:    &clientLink{endpoint: &httplink.Endpoint{Name: "odd"}, log: slog.New(slog.DiscardHandler)},
		scope:   clientScope{ctx: t.Context()},
		id:      "1",
		deliver: func(*jsonrpc.Message) { delivered++ },
	}
	body := []byte(`[{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}},{"jsonrpc":"2.0","id":1}]` + "\n")
	_, err := r.receive(body)
	if err == nil {
		t.Fatal("there is a response")
	}
	if _, again := r.receiveSeveral(&http.Response{}, body, err); !errors.Is(again, err) {
		t.Errorf("got %v, want %v", again, err)
	}
	if delivered != 1 {
		t.Errorf("the request was delivered %d times", delivered)
	}
}
