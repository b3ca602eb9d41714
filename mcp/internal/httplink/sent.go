package httplink

import (
	"bytes"
	"context"
	"io"
)

type sentKey struct{}

// OnSent returns a context for [Endpoint.Do]. It calls sent whenever the whole body of a request was
// passed to the connection. The server may not have read it yet.
func OnSent(ctx context.Context, sent func()) context.Context {
	return context.WithValue(ctx, sentKey{}, sent)
}

// A sentBody is the body of a request. It calls sent when it was read to its end.
type sentBody struct {
	of   *bytes.Reader
	sent func()
}

// Read implements [io.Reader].
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.of.Read(p)
	if err == io.EOF { // the transport has written all that it read before
		b.sent()
	}
	return n, err
}

// Close implements [io.Closer].
func (*sentBody) Close() error { return nil }
