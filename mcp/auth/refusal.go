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

// A Refusal is the error for a request that is not let in, and the response to it: 401 with a challenge that tells
// the client which token it needs, 403 for one that lacks scopes (RFC 6750, RFC 9728, RFC 9449), 503 where tokens
// cannot be checked. What is wrong stands in the error, and not in the response.
type Refusal struct {
	Status int // of HTTP

	challenge string
	nonce     string
	err       error
}

// Error says what is wrong.
func (r *Refusal) Error() string { return "not authorized: " + r.err.Error() }

// Unwrap is what is wrong.
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

// quoted is a value in a challenge: what cannot stand in one is left out.
func quoted(value string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, value)
}

// refuse returns a refusal with a challenge; fault is one of the codes of RFC 6750, or empty. With 401 it names what to ask
// for in a login, whatever is wrong with the token: clients that log in again ask for what they heard last.
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

// refuseToken refuses a token for what a Verifier says of it.
func (g *Guard) refuseToken(err error) *Refusal {
	if errors.Is(err, ErrUnavailable) {
		return &Refusal{Status: http.StatusServiceUnavailable, err: err}
	}
	return g.refuse(http.StatusUnauthorized, "invalid_token", err)
}

// Forbidden refuses a request of who has some scopes, and lacks others: clients then ask for all that it needs
// (step-up), with what everything needs: some ask for nothing else, and would lose it.
func (g *Guard) Forbidden(needs, has []string) *Refusal {
	needs = append(slices.Clone(g.options.Needs), lacking(g.options.Needs, needs)...)
	return g.refuse(http.StatusForbidden, "insufficient_scope", fmt.Errorf("the token has the scopes %q, and this needs %q", has, needs), needs...)
}
