package up

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/admission"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// RefusalCounter counts requests with an invalid key or token. It ignores requests without either,
// which clients send to learn where to log in. It is safe for concurrent use.
type RefusalCounter struct {
	Log *slog.Logger

	Mu     sync.Mutex
	All    int
	unsaid int // requests since the last logged line
	said   time.Time
}

// Add counts a request, and reports whether it had a key or token. It logs a line if the last one
// is older than [RefusalInterval].
func (r *RefusalCounter) Add(req *http.Request, why error) bool {
	if req.Header.Get("Authorization") == "" && req.Header.Get("X-API-Key") == "" {
		return false
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.All++
	r.unsaid++
	if now := time.Now(); now.Sub(r.said) >= cli.RefusalInterval {
		r.Log.Warn("junction: a client was refused", "from", req.RemoteAddr, "error", why, "requests", r.unsaid)
		r.said, r.unsaid = now, 0
	}
	return true
}

const (
	// maxGuests is the largest number of connections without an admitted request. A low limit of
	// open files makes the number smaller.
	maxGuests = 10_000
	// maxMembers is the largest number of connections with an admitted request. One caller gets at
	// most a quarter of them.
	maxMembers = 100_000
	// minConnections is the smallest value of both limits.
	minConnections = 16
	// ownFiles is the number of files reserved for the gateway itself and its servers.
	ownFiles = 64
)

// LimitConnections limits the connections of a listener. The limits depend on the number of files
// that the process may open.
func LimitConnections(l net.Listener) *admission.Listener {
	files := max(openFiles()-ownFiles, 0)
	return admission.Limit(l, share.New(min(max(files/4, minConnections), maxGuests)), share.New(min(max(files/2, minConnections), maxMembers)))
}

// Admit marks the connection of a request as admitted. The argument who is nil for an anonymous
// caller, whom the remote address identifies instead.
func Admit(r *http.Request, who *mcp.Principal) {
	if !admission.IsGuest(r.Context()) {
		return
	}
	caller := share.Key("", "", r.RemoteAddr)
	if who != nil {
		caller = share.Key(who.Issuer, who.Subject, "")
	}
	admission.LetIn(r.Context(), caller)
}

// AdmitAuthenticated returns a function that calls principal, and also [Admit] if principal accepts
// the request.
func AdmitAuthenticated(principal func(*http.Request) (*mcp.Principal, error)) func(*http.Request) (*mcp.Principal, error) {
	return func(r *http.Request) (*mcp.Principal, error) {
		p, err := principal(r)
		if err == nil {
			Admit(r, p)
		}
		return p, err
	}
}

// AdmitAfterBody returns r with a body that admits the connection when the body has been read
// completely. It is for requests that need no credentials.
func AdmitAfterBody(r *http.Request) *http.Request {
	if !admission.IsGuest(r.Context()) {
		return r
	}
	if r.ContentLength == 0 {
		Admit(r, nil)
		return r
	}
	with := *r
	with.Body = &arrivingBody{ReadCloser: r.Body, request: r}
	return &with
}

// An arrivingBody is a request body that admits its connection when it has been read completely.
type arrivingBody struct {
	io.ReadCloser
	request *http.Request
	read    int64
}

// Read implements [io.Reader].
func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); err == io.EOF || b.read == b.request.ContentLength {
		Admit(b.request, nil)
	}
	return n, err
}
