package up

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/passed"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/internal/unreadbody"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
	uplib "github.com/junction-mcp/junction/up"
)

const (
	// replicaPath is the path below which replicas reach each other.
	replicaPath  = "/replica/"
	instancePath = replicaPath + "instance" // requests for instances that this replica has
	identityPath = replicaPath + "identity" // which replica this is

	refusedTime   = 15 * time.Second // how long a replica is left alone that leaves
	unreachedTime = 2 * time.Second  // how long one is left alone that could not be reached
	farewellTime  = time.Second      // for other replicas to notice that this one leaves, before it closes connections

	peerDialTime     = 3 * time.Second        // for a connection to a replica
	peerIdleTime     = time.Minute            // for an unused connection
	identityTime     = 2 * time.Second        // for a replica to say which one it is
	identityPause    = 500 * time.Millisecond // between two questions to all replicas
	maxIdentity      = 4 << 10                // bytes of the response
	maxNonce         = 64                     // characters of a question
	replicaHTTPConns = 64                     // unused connections to each replica
)

// An owning decides which replica runs an instance of a server, and passes requests on between
// them. It implements [gateway.Owners] and is safe for concurrent use.
type owning struct {
	owners   *replicas.Owners
	shared   *shared
	log      *slog.Logger
	gateway  *gateway.Gateway
	endpoint atomic.Pointer[streamable.Endpoint] // for other replicas; nil before it is served
	http     *http.Transport
	used     atomic.Bool  // whether another replica passed on a request
	once     *passed.Once // requests that other replicas passed on

	mu      sync.Mutex
	origins map[string]string      // of replicas
	looked  time.Time              // when all were last asked
	looking chan struct{}          // closed when the question that runs has ended; nil if none runs
	clients map[string]*mcp.Client // connections to peers by origin; nil after the end
	closing sync.WaitGroup         // of connections to replicas that are no peers any more
}

func newOwning(g *replicas.Group, s *shared, log *slog.Logger) *owning {
	dialer := &net.Dialer{Timeout: peerDialTime}
	t := &http.Transport{DialContext: dialer.DialContext, DialTLSContext: s.dialTLS, IdleConnTimeout: peerIdleTime, MaxIdleConnsPerHost: replicaHTTPConns, DisableCompression: true}
	return &owning{owners: replicas.NewOwners(g, log), shared: s, log: log, http: t, once: passed.NewOnce(), origins: map[string]string{}, clients: map[string]*mcp.Client{}}
}

// own gives a gateway what decides which replica runs an instance of a server, until stop is called.
// Without a store, it does nothing.
func (v *Served) own(ctx context.Context, given *uplib.Options) (stop func()) {
	g, front := v.App.Launch.Shared(), &v.Options.Front
	if g == nil || front.shared == nil || front.Stdio {
		return func() {}
	}
	front.owning = newOwning(g, front.shared, v.App.Logger())
	given.Owners = front.owning
	return front.owning.run(ctx)
}

// of sets the gateway that runs the instances. A nil owning does nothing.
func (o *owning) of(g *gateway.Gateway) {
	if o != nil {
		o.gateway = g
	}
}

// run holds the lease of this replica until stop is called. Nothing that the replica owns may run
// by then.
func (o *owning) run(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { o.owners.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		o.mu.Lock()
		clients := o.clients
		o.clients = nil
		o.mu.Unlock()
		for _, c := range clients {
			_ = c.Close()
		}
		o.closing.Wait()
		o.http.CloseIdleConnections()
	}
}

// leave gives instances to other replicas as soon as they are not used. A nil owning does nothing.
// The function farewell waits until other replicas that use this one have noticed.
func (o *owning) leave() (farewell func()) {
	if o == nil {
		return func() {}
	}
	began := time.Now()
	o.owners.Leave()
	return func() {
		if o.used.Load() {
			time.Sleep(time.Until(began.Add(farewellTime)))
		}
	}
}

// Claim implements [gateway.Owners].
func (o *owning) Claim(ctx context.Context, server, key string) (*gateway.Lease, mcp.Handler, error) {
	replica, err := o.owners.Find(ctx, key)
	if err != nil {
		return nil, nil, o.storeError(err)
	}
	for range 2 {
		if replica != o.owners.ID() {
			avoid := time.Duration(0)
			if !o.owners.Avoids(replica) {
				if origin := o.originOf(ctx, replica); origin != "" {
					return nil, &elsewhere{o, origin, replica, server, key}, nil
				}
				avoid = unreachedTime // it may have ended
			}
			o.owners.Forget(key, replica, avoid)
		}
		right, err := o.owners.Claim(ctx, key, fmt.Sprintf("an instance of server %q", server))
		if err == nil {
			own := gateway.Lease(right)
			return &own, nil, nil
		}
		other, is := errors.AsType[*replicas.ElsewhereError](err)
		switch {
		case errors.Is(err, replicas.ErrLeaves), errors.Is(err, state.ErrConflict):
			return nil, nil, gateway.ErrMoved
		case !is:
			return nil, nil, o.storeError(err)
		case other.Replica == replica:
			return nil, nil, fmt.Errorf("%w: the replica that has its instance cannot be reached; if this lasts, compare peers in the settings with the addresses of the replicas", gateway.ErrMoved)
		}
		replica = other.Replica
	}
	return nil, nil, gateway.ErrMoved
}

// storeError explains an error of the store.
func (o *owning) storeError(err error) error {
	if errors.Is(err, state.ErrUnavailable) || errors.Is(err, replicas.ErrOwnerLost) {
		return fmt.Errorf("the shared state is away, and without it no instance can start; try again later: %w", err)
	}
	return err
}

// originOf returns the origin at which a replica can be reached, or "". If it is not known, it asks
// all peers which replicas they are.
func (o *owning) originOf(ctx context.Context, replica string) string {
	for {
		o.mu.Lock()
		origin, looking := o.origins[replica], o.looking
		switch {
		case origin != "" && slices.Contains(o.shared.peers.Origins(), origin):
			o.mu.Unlock()
			return origin
		case looking == nil && time.Since(o.looked) < identityPause:
			o.mu.Unlock()
			return ""
		case looking == nil:
			o.looking = make(chan struct{})
			o.mu.Unlock()
			o.look(context.WithoutCancel(ctx)) // for others, too; it ends in bounded time
			continue
		}
		o.mu.Unlock()
		select {
		case <-looking:
		case <-ctx.Done():
			return ""
		}
	}
}

// look asks all peers which replicas they are.
func (o *owning) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, identityTime)
	defer cancel()
	var mu sync.Mutex
	found := map[string]string{}
	var asking sync.WaitGroup
	for _, origin := range o.shared.peers.Origins() {
		asking.Go(func() {
			id, err := o.identityAt(ctx, origin)
			if err != nil {
				o.log.Debug("junction: a peer does not say which replica it is", "peer", origin, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found[id] = origin
		})
	}
	asking.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.origins, o.looked = found, time.Now()
	close(o.looking)
	o.looking = nil
}

// forget makes originOf ask again where a replica is.
func (o *owning) forget(replica string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.origins, replica)
}

// identityAt asks a peer which replica it is. The response is sealed, so that only a replica can
// give it.
func (o *owning) identityAt(ctx context.Context, origin string) (string, error) {
	nonce := rand.Text()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+identityPath+"?"+url.Values{"nonce": {nonce}}.Encode(), nil)
	if err != nil {
		return "", err
	}
	if err := passed.Seal(o.shared.seals, r, nil, nil, time.Now()); err != nil {
		return "", err
	}
	resp, err := o.http.RoundTrip(r) // follows no redirects
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxIdentity))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	if err != nil {
		return "", err
	}
	id, err := o.shared.seals.Open(string(text), identityContext(nonce))
	return string(id), err
}

func identityContext(nonce string) []byte { return []byte("identity of a replica " + nonce) }

// A passedRequest describes a request that a replica passes on, in addition to its message.
type passedRequest struct {
	To       string         `json:"to"` // the replica
	Server   string         `json:"server,omitempty"`
	Key      string         `json:"key,omitempty"`      // of the instance
	Caller   string         `json:"caller,omitempty"`   // share of the caller without a principal: an address
	Session  string         `json:"session,omitempty"`  // of the client, if it has one
	Revision string         `json:"revision,omitempty"` // of the client
	User     *mcp.Principal `json:"user,omitempty"`     // without scopes and groups, which have been checked
}

// An elsewhere passes requests on to the replica that has an instance.
type elsewhere struct {
	owning                       *owning
	origin, replica, server, key string
}

// Handle implements [mcp.Handler].
func (e *elsewhere) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	t := &trip{about: passedRequest{To: e.replica, Server: e.server, Key: e.key, Caller: share.Of(ctx), Revision: req.Meta.Revision}}
	if p := req.Principal; p != nil {
		t.about.User, t.about.Caller = &mcp.Principal{Issuer: p.Issuer, Subject: p.Subject, ClientID: p.ClientID}, ""
	}
	if s, is := req.Caller.(interface{ Everywhere() string }); is {
		t.about.Session = s.Everywhere()
	}
	about, err := passed.Marshal(t.about)
	if err == nil && len(about) > passed.MaxAbout {
		err = errors.New("the names of the caller are too long: the replica that has its instance cannot get them")
	}
	if err != nil { // the other replica can be reached
		return mcp.Result{}, err
	}
	t.text = about
	c, err := e.owning.clientOf(context.WithValue(ctx, tripKey{}, t), e.origin)
	if err != nil && ctx.Err() == nil {
		e.owning.forget(e.replica)
		e.owning.owners.Forget(e.key, e.replica, unreachedTime)
		return mcp.Result{}, fmt.Errorf("%w: %w", gateway.ErrMoved, err)
	}
	if err != nil {
		return mcp.Result{}, err
	}
	result, err := c.Handle(context.WithValue(ctx, tripKey{}, t), req)
	_, isFault := errors.AsType[*mcp.Error](err)
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, mcp.ErrInputRequired):
		return result, err
	case t.refused.Load():
		e.owning.owners.Forget(e.key, e.replica, refusedTime)
		return mcp.Result{}, gateway.ErrMoved
	case !t.sent.Load():
		e.owning.forget(e.replica)
		e.owning.owners.Forget(e.key, e.replica, unreachedTime)
		return mcp.Result{}, fmt.Errorf("%w: %w", gateway.ErrMoved, err)
	case isFault || errors.Is(err, mcp.ErrLost):
		return result, err
	}
	return result, fmt.Errorf("%w: %w", mcp.ErrLost, err)
}

// clientOf returns the connection to the replica at an origin.
func (o *owning) clientOf(ctx context.Context, origin string) (*mcp.Client, error) {
	o.mu.Lock()
	c := o.clients[origin]
	o.mu.Unlock()
	if c != nil {
		return c, nil
	}
	t := streamable.ClientWith(origin+instancePath, streamable.ClientOptions{HTTP: &http.Client{Transport: &signing{o.http, o}}, Logger: o.log})
	c, err := mcp.DialWith(ctx, t, mcp.ClientOptions{Name: "replica at " + origin, Revision: revision.Latest().Name, Bridge: true, NoCache: true, ConnectTimeout: peerDialTime, Logger: o.log})
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch before := o.clients[origin]; {
	case o.clients == nil:
		_ = c.Close()
		return nil, errors.New("this replica has ended")
	case before != nil: // of another request at the same time
		_ = c.Close()
		return before, nil
	}
	for known, old := range o.clients {
		if !slices.Contains(o.shared.peers.Origins(), known) {
			o.closing.Go(func() { _ = old.Close() })
			delete(o.clients, known)
		}
	}
	o.clients[origin] = c
	return c, nil
}

// A trip is a request on its way to another replica.
type trip struct {
	about   passedRequest
	text    json.RawMessage // about in JSON
	sent    atomic.Bool     // whether the other replica may have got it
	refused atomic.Bool     // whether the other replica does not have the instance
}

// tripKey is the key of a trip in a context.
type tripKey struct{}

// signing is a RoundTripper that authenticates the requests of trips.
type signing struct {
	next   http.RoundTripper
	owning *owning
}

// RoundTrip implements [http.RoundTripper].
func (s *signing) RoundTrip(r *http.Request) (*http.Response, error) {
	t, _ := r.Context().Value(tripKey{}).(*trip)
	if t == nil {
		return nil, errors.New("a replica gets only requests that are passed on")
	}
	var body []byte
	if r.GetBody != nil {
		copied, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		if body, err = io.ReadAll(copied); err != nil { // it is in memory
			return nil, err
		}
	}
	signed := r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteHeaders: func() { t.sent.Store(true) }}))
	signed.Header = r.Header.Clone()
	if err := passed.Seal(s.owning.shared.seals, signed, body, t.text, time.Now()); err != nil {
		return nil, err
	}
	resp, err := s.next.RoundTrip(signed)
	if err == nil && resp.StatusCode == http.StatusMisdirectedRequest {
		t.refused.Store(true)
	}
	return resp, err
}

// serve makes the endpoint for other replicas.
func (o *owning) serve(options mcp.ServeOptions) EndpointHandler {
	hello := mcp.NewServer("junction", "1") // responds to the first request of a connection
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		about, is := ctx.Value(passedRequestKey{}).(*passedRequest)
		if !is || req.Method == "server/discover" {
			return hello.Handle(ctx, req)
		}
		of := *req
		of.Meta.Revision = about.Revision
		if about.Session != "" {
			of.Caller = passedSession(about.Session)
		}
		return o.gateway.HandlePassed(ctx, about.Server, about.Key, &of)
	})
	e := streamable.HandlerWith(h, streamable.Options{ServeOptions: options, AllowedHosts: []string{"*"}, Principal: func(r *http.Request) (*mcp.Principal, error) {
		about, _ := r.Context().Value(passedRequestKey{}).(*passedRequest)
		return about.User, nil
	}})
	o.endpoint.Store(e)
	return e
}

// A passedSession identifies the session of a client at another replica.
type passedSession string

// Everywhere returns the text that identifies the session at all replicas.
func (s passedSession) Everywhere() string { return string(s) }

// passedRequestKey is the key of a passedRequest in a context.
type passedRequestKey struct{}

// serveHTTP responds to a request of another replica.
func (o *owning) serveHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, err error) {
		unreadbody.Close(w, r)
		http.Error(w, err.Error(), status)
	}
	note, err := passed.Open(o.shared.seals, r, time.Now())
	if err != nil {
		refuse(http.StatusForbidden, err)
		return
	}
	if r.URL.Path == identityPath {
		nonce := r.URL.Query().Get("nonce")
		if r.Method != http.MethodGet || nonce == "" || len(nonce) > maxNonce {
			refuse(http.StatusBadRequest, errors.New("expected GET with a nonce"))
			return
		}
		_, _ = io.WriteString(w, o.shared.seals.Seal([]byte(o.owners.ID()), identityContext(nonce))) // the other replica may be gone
		return
	}
	about := new(passedRequest)
	if json.Unmarshal(note.About, about) != nil || r.URL.Path != instancePath {
		refuse(http.StatusNotFound, errors.New("there is nothing at this path"))
		return
	}
	endpoint := o.endpoint.Load()
	if about.To != o.owners.ID() || endpoint == nil {
		refuse(http.StatusMisdirectedRequest, errors.New("this is another replica"))
		return
	}
	if !o.once.Take(r, time.Now()) {
		refuse(http.StatusForbidden, errors.New("this request came before"))
		return
	}
	if about.Key != "" && r.Header.Get("Mcp-Method") != "server/discover" {
		right, err := o.owners.Claim(r.Context(), about.Key, fmt.Sprintf("an instance of server %q", about.Server))
		if err != nil {
			o.log.Debug("junction: a request for an instance elsewhere is refused", "server", about.Server, "error", err)
			refuse(http.StatusMisdirectedRequest, err)
			return
		}
		defer right.Release()
		o.used.Store(true)
	}
	ctx := context.WithValue(r.Context(), passedRequestKey{}, about)
	of := r.WithContext(ctx)
	of.Body = note.Reader(r.Body)
	if about.Caller != "" {
		of.RemoteAddr = net.JoinHostPort(strings.Trim(about.Caller, "[]"), "0")
	}
	Admit(r, about.User)
	endpoint.ServeHTTP(w, of)
}
