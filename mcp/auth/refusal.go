package auth

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/jws"
)

const (
	schemeBearer = "Bearer"
	schemeProof  = "DPoP"
	headerProof  = "DPoP"
	headerNonce  = "DPoP-Nonce"
)

// A Refusal is the error for a request that a Guard refuses, and the HTTP response to it. The
// status is 401 with a challenge that describes the required token, or 403 if scopes are missing
// (RFC 6750, RFC 9728, RFC 9449). It is 503 if tokens cannot be checked now. Only the error
// contains the reason, and not the response.
type Refusal struct {
	Status int // HTTP status

	challenge string
	nonce     string
	err       error
}

// Error returns the reason.
func (r *Refusal) Error() string { return "not authorized: " + r.err.Error() }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.err }

// ServeHTTP writes the response.
func (r *Refusal) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	if r.challenge != "" {
		h.Set("WWW-Authenticate", r.challenge)
	}
	if r.nonce != "" {
		h.Set(headerNonce, r.nonce)
	}
	if r.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "5")
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(r.Status)
	text := map[int]string{http.StatusUnauthorized: "not authenticated", http.StatusForbidden: "more rights are needed", http.StatusBadRequest: "the request has more than one token, or one in its URL"}[r.Status]
	if text == "" {
		text = ErrUnavailable.Error()
	}
	_, _ = w.Write(jsonrpc.AppendError(nil, "", jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s", text))) // the client may be gone
}

// quoted returns a value without the characters that a challenge cannot contain.
func quoted(value string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, value)
}

// refuse returns a Refusal with a challenge. The code fault is one of RFC 6750, or empty. A 401
// always names the scopes for a login, as clients that log in again request the scopes that they
// received last.
func (g *Guard) refuse(status int, fault string, err error, scopes ...string) *Refusal {
	scheme := schemeBearer
	if g.options.Proofs != ProofsTaken {
		scheme = schemeProof
	}
	if status == http.StatusUnauthorized {
		scopes = g.options.Scopes
	}
	return &Refusal{Status: status, challenge: g.challenge(scheme, fault, scopes), err: err}
}

func (g *Guard) challenge(scheme, fault string, scopes []string) string {
	var b strings.Builder
	b.WriteString(scheme)
	if fault != "" {
		b.WriteString(` error="` + fault + `",`)
	}
	b.WriteString(` resource_metadata="` + quoted(g.resource.Scheme+"://"+g.resource.Host+g.MetadataPath()) + `"`)
	if len(scopes) > 0 {
		b.WriteString(`, scope="` + quoted(strings.Join(scopes, " ")) + `"`)
	}
	if scheme == schemeProof {
		b.WriteString(`, algs="` + strings.Join(jws.Names(jws.ProofAlgorithms()), " ") + `"`)
	}
	return b.String()
}

// refuseToken returns the refusal for an error of a Verifier.
func (g *Guard) refuseToken(err error) *Refusal {
	if errors.Is(err, ErrUnavailable) {
		return &Refusal{Status: http.StatusServiceUnavailable, err: err}
	}
	return g.refuse(http.StatusUnauthorized, "invalid_token", err)
}

// Forbidden returns the Refusal of a request that needs scopes which the token lacks. It lists all
// scopes that the request needs, so that clients request them (step-up). The list includes the
// scopes in Options.Needs. Otherwise clients that request only the listed scopes would lose the
// scopes in Options.Needs.
func (g *Guard) Forbidden(needs, has []string) *Refusal {
	needs = append(slices.Clone(g.options.Needs), lacking(g.options.Needs, needs)...)
	return g.refuse(http.StatusForbidden, "insufficient_scope", fmt.Errorf("the token has the scopes %q, but this needs %q", has, needs), needs...)
}
