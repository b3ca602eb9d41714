package httpsse

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/tolerance"
)

func TestClientReadsOddForms(t *testing.T) {
	const good, note = `{"jsonrpc":"2.0","id":5,"result":{"a":1}}`, `{"jsonrpc":"2.0","method":"one"}`
	const event = "event: message\ndata: " + good + "\n\n"
	for _, test := range []struct {
		name    string
		first   string // before the event endpoint
		untyped bool
		reply   string // on the stream, which stays open
		named   string
	}{
		{"as it should be", "", false, event, ""},
		{"no name", "", false, "data:" + good + "\n\n", ""},
		{"CR ends lines", "", false, strings.ReplaceAll(event, "\n", "\r"), ""},
		{"no content type", "", true, event, "content-type"},
		{"a byte order mark", "\ufeff", false, event, ""},
		{"a heartbeat before the endpoint", "event: ping\ndata: 1\n\n", false, event, "early-event"},
		{"an object before the response", "", false, "data: {\"type\":\"heartbeat\"}\n\n" + event, "not-a-message"},
		{"a word before it", "", false, "data: ping\n\n" + event, "not-a-message"},
		{"an event ping before it", "", false, "event: ping\ndata: 1\n\n" + event, "not-a-message"},
		{"another endpoint before it", "", false, "event: endpoint\ndata: /other\n\n" + event, ""},
		{"no blank line", "", false, "event: message\ndata: " + good + "\n", ""},
		{"no blank line, and more behind", "", false, "data: " + note + "\nevent: message\ndata: " + good + "\n", "joined-events"},
		{"a batch", "", false, "data: [" + note + "," + good + "]\n\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seen tolerance.Records
			p := &clientPeer{endpoint: test.first + goodEndpoint, untyped: test.untyped, message: func(p *clientPeer, w http.ResponseWriter, _ *jsonrpc.Message) {
				w.WriteHeader(http.StatusAccepted)
				p.say <- test.reply
			}}
			l, _, err := dialPeer(t, p, ClientOptions{Logger: seen.Logger(slog.New(slog.DiscardHandler), "s")})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			m, err := l.Call(ctx, request(5, "tools/call"), nil)
			if err != nil || string(m.Result) != `{"a":1}` {
				t.Errorf("got %+v, %v", m, err)
			}
			var named []string
			for _, line := range seen.Of("s") {
				name, _, _ := strings.Cut(line, ":")
				named = append(named, name)
			}
			if got := strings.Join(named, " "); got != test.named {
				t.Errorf("named %q, want %q", got, test.named)
			}
		})
	}
}
