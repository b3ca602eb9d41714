package reach

import (
	"io"
	"net"
	"net/http"

	"github.com/junction-mcp/junction/internal/admission"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// maxGuests bounds the connections of which no request was let in yet; fewer are allowed where the process may open few files.
	maxGuests = 10_000
	// maxMembers bounds the others that have a place of their own, of which one caller has a quarter.
	maxMembers = 100_000
	// minConnections is how many of each are allowed in any case.
	minConnections = 16
	// ownFiles are files that are kept for the gateway itself and its servers.
	ownFiles = 64
)

// LimitConnections limits the connections of a listener by how many files the process may open.
func LimitConnections(l net.Listener) *admission.Listener {
	files := max(openFiles()-ownFiles, 0)
	return admission.Limit(l, share.New(min(max(files/4, minConnections), maxGuests)), share.New(min(max(files/2, minConnections), maxMembers)))
}

// LetIn notes that a request was let in, of nobody who is known where who is nil.
func LetIn(r *http.Request, who *mcp.Principal) {
	if !admission.IsGuest(r.Context()) {
		return
	}
	caller := share.Key("", "", r.RemoteAddr)
	if who != nil {
		caller = share.Key(who.Issuer, who.Subject, "")
	}
	admission.LetIn(r.Context(), caller)
}

// Admitting is a way to let clients in which notes whose connections those are.
func Admitting(principal func(*http.Request) (*mcp.Principal, error)) func(*http.Request) (*mcp.Principal, error) {
	return func(r *http.Request) (*mcp.Principal, error) {
		p, err := principal(r)
		if err == nil {
			LetIn(r, p)
		}
		return p, err
	}
}

// Arriving has a request whose sender needs no credentials be let in once all of it is there.
func Arriving(r *http.Request) *http.Request {
	if !admission.IsGuest(r.Context()) {
		return r
	}
	if r.ContentLength == 0 {
		LetIn(r, nil)
		return r
	}
	with := *r
	with.Body = &arrivingBody{ReadCloser: r.Body, request: r}
	return &with
}

type arrivingBody struct {
	io.ReadCloser
	request *http.Request
	read    int64
}

// Read implements [io.Reader].
func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); err == io.EOF || b.read == b.request.ContentLength {
		LetIn(b.request, nil)
	}
	return n, err
}
