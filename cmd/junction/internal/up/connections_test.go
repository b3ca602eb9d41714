package up_test

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/internal/admission"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// A connection of plain HTTP also gets its place among the members, although its heads are
// inspected.
func TestPlainHTTPConnectionsAreAccepted(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	guests, members := share.New(16), share.New(16)
	c := admission.Limit(tcp, guests, members)
	server := &http.Server{ReadHeaderTimeout: time.Second, ConnContext: admission.ConnContext, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		up.Admit(r, &mcp.Principal{Issuer: "i", Subject: "ada"})
	})}
	up.WatchHeads(server)
	go func() { _ = server.Serve(up.HeadListener{Listener: c}) }()
	defer server.Close()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+tcp.Addr().String(), nil)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if members.Used() != 1 || guests.Used() != 0 {
		t.Errorf("%d members and %d guests", members.Used(), guests.Used())
	}
}
