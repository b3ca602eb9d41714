package authserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// freshTime is how long a token is accepted after its grant is revoked or its user is removed.
const freshTime = 10 * time.Second

// tokenType is the type of an access token (RFC 9068 section 2.1).
const tokenType = "at+jwt"

// claims are the claims of an access token.
type claims struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	Client   string `json:"client_id"`
	Scope    string `json:"scope,omitempty"`
	Expires  int64  `json:"exp"`
	Issued   int64  `json:"iat"`
	ID       string `json:"jti"`
	Grant    string `json:"sid"`
	Bound    bound  `json:"cnf,omitzero"`
}

// bound identifies the key that a token is bound to (RFC 9449 section 6.1).
type bound struct {
	Thumbprint string `json:"jkt,omitempty"`
}

// response is the response of the token endpoint (RFC 6749 section 5.1).
type response struct {
	Token   string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"`
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
}

// tokens returns a response with a new access token and the valid refresh token. If thumbprint is
// not empty, the access token is bound to that key.
func (s *Server) tokens(ctx context.Context, id string, g *grant, scopes []string, thumbprint string) (*op.Response, error) {
	u, err := s.holder(ctx, g)
	if err != nil {
		return nil, err
	}
	scopes = u.may(scopes) // the user may have lost some of them
	now := time.Now()
	token, err := s.sign(ctx, claims{
		Issuer: s.options.Issuer, Subject: g.User, Audience: g.Resource, Client: g.Client, Scope: strings.Join(scopes, " "),
		Expires: now.Add(s.options.TokenTime).Unix(), Issued: now.Unix(), ID: rand.Text(), Grant: id, Bound: bound{thumbprint},
	})
	if err != nil {
		return nil, serverFault(err)
	}
	sealed, err := s.seal(refresh{id, g.Generation}, refreshSeal)
	if err != nil {
		return nil, serverFault(err)
	}
	kind := oidc.BearerToken
	if thumbprint != "" {
		kind = typeProof
	}
	return op.NewResponse(&response{
		Token: token, Type: kind, Expires: int(s.options.TokenTime / time.Second),
		Refresh: refreshPrefix + sealed, Scope: strings.Join(scopes, " "),
	}), nil
}

// sign returns a signed access token.
func (s *Server) sign(ctx context.Context, c claims) (string, error) {
	all, err := s.signing(ctx)
	if err != nil {
		return "", err
	}
	key := jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: all[0].key, KeyID: all[0].ID}}
	signer, err := jose.NewSigner(key, new(jose.SignerOptions).WithType(tokenType))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(text)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// claims returns the claims of a token that this server signed. It does not check whether the token
// has expired.
func (s *Server) claims(ctx context.Context, token string) (*claims, error) {
	object, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil || len(object.Signatures) != 1 {
		return nil, fmt.Errorf("%w: it does not have the signature algorithm of %s", auth.ErrToken, s.options.Issuer)
	}
	header := object.Signatures[0].Header
	if header.ExtraHeaders[jose.HeaderType] != tokenType {
		return nil, fmt.Errorf("%w: it is not an access token", auth.ErrToken)
	}
	signed, err := s.verifying(ctx, header.KeyID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	if signed == nil {
		return nil, fmt.Errorf("%w: %s has no key %.40q", auth.ErrToken, s.options.Issuer, header.KeyID)
	}
	text, err := object.Verify(&signed.key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("%w: it does not have the signature of %s", auth.ErrToken, s.options.Issuer)
	}
	c := new(claims)
	if err := json.Unmarshal(text, c); err != nil || c.Issuer != s.options.Issuer {
		return nil, fmt.Errorf("%w: it was issued by %.200q, not by %s", auth.ErrToken, c.Issuer, s.options.Issuer)
	}
	return c, nil
}

// Verify implements [auth.Verifier]. It refuses a token at most freshTime after its grant was
// revoked or its user was removed. While the store of replicas is away, it accepts a token of a login
// that it verified less than the lifetime of a token ago.
func (s *Server) Verify(ctx context.Context, token, _ string) (*auth.Token, error) {
	c, err := s.claims(ctx, token)
	if err != nil {
		return nil, err
	}
	turn := s.verified.begin()
	g, _, err := s.grant(ctx, c.Grant)
	var u User
	if err == nil {
		u, err = s.holder(ctx, g)
	}
	if fault, is := errors.AsType[*oidc.Error](err); is && fault.ErrorType == oidc.InvalidGrant {
		return nil, fmt.Errorf("%w: %s", auth.ErrInactive, fault.Description)
	}
	now := time.Now()
	switch groups, held := s.verified.get(c.Grant, now); {
	case err == nil:
		s.verified.put(c.Grant, u.groups, now, s.options.TokenTime, turn)
	case s.options.Replicas != nil && isAway(err) && held:
		u.groups = groups
	default:
		return nil, fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	return &auth.Token{
		Issuer: c.Issuer, Subject: c.Subject, ClientID: c.Client, Audience: []string{c.Audience}, Scopes: strings.Fields(c.Scope), Groups: u.groups,
		Expires: time.Unix(c.Expires, 0), Fresh: now.Add(freshTime), Thumbprint: c.Bound.Thumbprint,
	}, nil
}

// Keys implements [op.Server].
func (e *endpoints) Keys(ctx context.Context, _ *op.Request[struct{}]) (*op.Response, error) {
	all, err := e.server.signing(ctx)
	if err != nil {
		return nil, serverFault(err)
	}
	return &op.Response{Header: http.Header{"Cache-Control": {"max-age=300"}}, Data: public(all)}, nil
}

// metadata serves the metadata of the server (RFC 8414). The same text is the document of OpenID
// Connect Discovery, so clients find the endpoints by either. There are no ID tokens.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	at, methods, algorithms := s.options.Issuer, []string{methodNone, methodKey}, jws.Names(jws.Algorithms())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*") // the metadata is public
	w.Header().Set("Cache-Control", "max-age=300")
	_ = json.NewEncoder(w).Encode(map[string]any{ // fails if the client has disconnected
		"issuer": at, "authorization_endpoint": at + authorizePath, "token_endpoint": at + tokenPath, "revocation_endpoint": at + revokePath,
		"registration_endpoint": at + registerPath, "jwks_uri": at + keysPath, "scopes_supported": append([]string{}, s.options.Scopes...),
		"response_types_supported": []string{"code"}, "response_modes_supported": []string{"query"},
		"grant_types_supported":                 []string{"authorization_code", "refresh_token"},
		"token_endpoint_auth_methods_supported": methods, "revocation_endpoint_auth_methods_supported": methods,
		"token_endpoint_auth_signing_alg_values_supported": algorithms, "revocation_endpoint_auth_signing_alg_values_supported": algorithms,
		"dpop_signing_alg_values_supported": jws.Names(jws.ProofAlgorithms()),
		"code_challenge_methods_supported":  []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported": !s.options.RegisteredOnly, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"ES256"},
	})
}
