package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
)

// Transport returns an http.RoundTripper for requests to the server at a URL. It adds the token,
// and obtains one when the server requires it. Requests to other origins are sent without a token.
// The RoundTripper base sends the requests; nil means http.DefaultTransport.
func (c *Client) Transport(server string, base http.RoundTripper) (http.RoundTripper, error) {
	u, err := serverURL(server)
	if err != nil {
		return nil, err
	}
	return &transport{client: c, access: c.accessTo(u), base: httplink.Noted(cmp.Or(base, http.DefaultTransport))}, nil
}

func serverURL(server string) (*url.URL, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return nil, errors.New("authorization: the URL of the server is not valid") // not quoted, as it may contain a secret
	}
	return u, nil
}

type transport struct {
	client *Client
	access *access
	base   http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !outside.SameOrigin(req.URL, t.access.server) {
		return t.base.RoundTrip(req)
	}
	ctx := req.Context()
	var loggedIn, newNonce bool
	for step := 0; ; step++ {
		login, err := t.client.fresh(ctx, t.access)
		if err != nil {
			return nil, fmt.Errorf("authorization at %s: %w", t.access.server.Host, err)
		}
		response, err := t.send(req, login, step > 0)
		if err != nil {
			return nil, err
		}
		asked := challengeOf(response.Header)
		t.access.setNonce(response.Header.Get(headerNonce))
		isUnauthorized := response.StatusCode == http.StatusUnauthorized
		more := response.StatusCode == http.StatusForbidden && asked.fault == "insufficient_scope"
		nonce := isUnauthorized && asked.fault == faultNonce && !newNonce && login != nil && login.Proof != nil
		again := more || nonce || isUnauthorized && !loggedIn
		if !again || step >= maxSteps || req.Body != nil && req.GetBody == nil {
			return response, nil
		}
		if newNonce = newNonce || nonce; !nonce {
			loggedIn, err = t.client.authorize(ctx, t.access, login, asked, more)
		}
		if errors.Is(err, errNotOAuth) {
			return response, nil // the server may want a key in a header
		}
		_, _ = io.CopyN(io.Discard, response.Body, maxMetadata) // the connection can then be reused
		_ = response.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("authorization at %s: %w", t.access.server.Host, err)
		}
	}
}

// send sends a request with the token of a login. The flag again reports that the body of the
// request was already read once.
func (t *transport) send(req *http.Request, l *login, again bool) (*http.Response, error) {
	if l == nil && !again {
		return t.base.RoundTrip(req)
	}
	sent := req.WithContext(req.Context())
	sent.Header = req.Header.Clone()
	if again && req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		sent.Body = body
	}
	switch {
	case l == nil:
	case l.Proof == nil || !l.Token.Bound:
		sent.Header.Set("Authorization", "Bearer "+l.Token.Access)
	default:
		proof, err := l.Proof.sign(t.client.now(), sent.Method, sent.URL, l.Token.Access, t.access.proofNonce())
		if err != nil {
			return nil, fmt.Errorf("authorization at %s: %w", t.access.server.Host, err)
		}
		sent.Header.Set("Authorization", "DPoP "+l.Token.Access)
		sent.Header.Set(headerProof, proof)
	}
	return t.base.RoundTrip(sent)
}

// probe sends a request without a token to find the server's challenge. The result wanted reports
// whether the server requires a token.
func (c *Client) probe(ctx context.Context, server *url.URL, base http.RoundTripper) (asked challenge, wanted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.String(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return challenge{}, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	response, err := cmp.Or(base, http.DefaultTransport).RoundTrip(req)
	if err != nil {
		return challenge{}, false, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusUnauthorized {
		return challengeOf(response.Header), true, nil
	}
	protected, err := c.resourceOf(from(ctx, server), server, "") // some servers require tokens only when a tool is called
	return challenge{}, protected != nil, err
}

// CloseIdleConnections closes the idle connections of the base transport; see
// [http.Client.CloseIdleConnections].
func (t *transport) CloseIdleConnections() { (&http.Client{Transport: t.base}).CloseIdleConnections() }
