package httpsse

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// An endlessServer responds on the stream and never ends its response to the POST.
type endlessServer struct{ stream *io.PipeWriter }

func (s *endlessServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		body, server := io.Pipe()
		s.stream = server
		go io.WriteString(server, "event: endpoint\ndata: /messages\n\n")
		context.AfterFunc(r.Context(), func() { server.CloseWithError(r.Context().Err()) })
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
	}
	io.WriteString(s.stream, "data: "+`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n\n")
	body, server := io.Pipe()
	context.AfterFunc(r.Context(), func() { server.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, ContentLength: 8, Body: body, Request: r}, nil
}

// The response to the POST does not delay a response on the stream.
func TestAResponseOnTheStreamIsNotHeldUpByThePost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := ClientWith("http://endless.example/sse", ClientOptions{HTTP: &http.Client{Transport: new(endlessServer)}}).(link.Linker).Link(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		out := link.Out{ID: "1", Method: "tools/call", Arrives: true, Message: jsonrpc.AppendRequest(nil, "1", "tools/call", nil)}
		m, err := l.Call(ctx, out, nil)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the response, which came at once, was returned after %v: %v, %v", took, m, err)
		}
		l.Close()
	})
}

// A hastyServer drops the response to a message that comes while its handler of the stream still
// runs, as Spring does.
type hastyServer struct {
	stream *io.PipeWriter
	busy   time.Time // end of that time
}

func (s *hastyServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		body, server := io.Pipe()
		s.stream, s.busy = server, time.Now().Add(20*time.Millisecond)
		go io.WriteString(server, "event: endpoint\ndata: /messages\n\n")
		context.AfterFunc(r.Context(), func() { server.CloseWithError(r.Context().Err()) })
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
	}
	if time.Now().After(s.busy) {
		go io.WriteString(s.stream, "data: "+`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n\n")
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

func TestFirstMessageComesWhenTheServerIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := ClientWith("http://hasty.example/sse", ClientOptions{HTTP: &http.Client{Transport: new(hastyServer)}}).(link.Linker).Link(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if m, err := l.Call(ctx, request(1, "initialize"), nil); err != nil || string(m.Result) != "{}" {
			t.Errorf("got %+v, %v", m, err)
		}
	})
}
