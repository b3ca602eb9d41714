package authserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/internal/oauthdoc"
	"github.com/zitadel/oidc/v3/pkg/client/rp"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"golang.org/x/oauth2"
)

// maxUserinfo is the largest size of a userinfo response in bytes.
const maxUserinfo = 256 << 10

// A party holds the settings that this server needs as a client of a provider. They come from the
// provider's metadata.
type party struct {
	issuer   string // issuer as the provider writes it
	userinfo string // userinfo endpoint, or empty
	config   oauth2.Config
	first    *rp.IDTokenVerifier // for ID tokens that come with a code
	later    *rp.IDTokenVerifier // for ID tokens that come with a refresh token, whose nonce is missing or old
}

// partyFor returns the party for the provider. It reads the provider's metadata at the first call
// and after each failure.
func (p *Provider) partyFor(ctx context.Context, callback string) (*party, error) {
	p.mu.Lock()
	known := p.party
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	u, err := url.Parse(p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("the OpenID provider %s: %w", p.Issuer, err)
	}
	var found struct {
		Issuer    string         `json:"issuer"`
		Authorize string         `json:"authorization_endpoint"`
		Token     string         `json:"token_endpoint"`
		Userinfo  string         `json:"userinfo_endpoint"`
		Keys      string         `json:"jwks_uri"`
		Scopes    oauthdoc.Words `json:"scopes_supported"`
	}
	own := oauthdoc.OpenID(u)
	places := append([]string{own}, slices.DeleteFunc(oauthdoc.Issuer(u), func(place string) bool { return place == own })...)
	err = oauthdoc.Read(ctx, p.HTTP, places, func(text []byte) error {
		found.Issuer, found.Authorize, found.Token, found.Userinfo, found.Keys, found.Scopes = "", "", "", "", "", nil
		switch err := oauthdoc.Decode(text, &found); {
		case err != nil:
			return err
		case found.Issuer == "":
			return oauthdoc.ErrNone
		case !oauthdoc.Same(found.Issuer, p.Issuer):
			return fmt.Errorf("it is of %.200q", found.Issuer)
		case found.Authorize == "" || found.Token == "" || found.Keys == "":
			return errors.New("it lacks one of authorization_endpoint, token_endpoint and jwks_uri")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the OpenID provider %s: %w", p.Issuer, err)
	}
	scopes := []string{oidc.ScopeOpenID, oidc.ScopeEmail}
	for scope, wanted := range map[string]bool{oidc.ScopeOfflineAccess: true, oauthdoc.GroupsClaim(p.GroupsClaim): p.readsGroups()} {
		if wanted && slices.Contains(found.Scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	keys := rp.NewRemoteKeySet(p.HTTP, found.Keys)
	verifier := func(options ...rp.VerifierOption) *rp.IDTokenVerifier {
		return rp.NewIDTokenVerifier(found.Issuer, p.ClientID, keys, append(options, rp.WithSupportedSigningAlgorithms(jws.Names(identityAlgorithms())...), rp.WithISSVerifier(func(iss string) error {
			if !oauthdoc.Same(iss, found.Issuer) {
				return fmt.Errorf("it names the issuer %.200q, not %s", iss, found.Issuer)
			}
			return nil
		}))...)
	}
	made := &party{
		issuer: found.Issuer, userinfo: found.Userinfo,
		config: oauth2.Config{ClientID: p.ClientID, ClientSecret: p.Secret, RedirectURL: callback, Scopes: scopes, Endpoint: oauth2.Endpoint{AuthURL: found.Authorize, TokenURL: found.Token}},
		first:  verifier(rp.WithNonce(func(ctx context.Context) string { n, _ := ctx.Value(nonce{}).(string); return n })),
		later:  verifier(rp.WithNonce(nil)),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.party = made
	return made, nil
}

// identityAlgorithms returns the signature algorithms of ID tokens and logout tokens.
func identityAlgorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.PS256, jose.EdDSA}
}

// page returns the URL of the provider's login page.
func (t *party) page(state string, v *visit) string {
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(v.Verifier), oauth2.SetAuthURLParam("nonce", v.Nonce)}
	if slices.Contains(t.config.Scopes, oidc.ScopeOfflineAccess) {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // OpenID Connect Core section 11
	}
	return t.config.AuthCodeURL(state, options...)
}

// A confirmedUser is a user whom a provider has confirmed.
type confirmedUser struct {
	name    string // name on this server
	subject string // subject at the provider
	session string // session at the provider (sid), or empty
	groups  []string
	refresh string // refresh token of the provider, or empty
}

// redeem returns the user for whom the provider issued a code.
func (p *Provider) redeem(ctx context.Context, t *party, code, verifier string) (*confirmedUser, error) {
	token, err := t.config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, p.HTTP), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Issuer, err)
	}
	text, _ := token.Extra("id_token").(string)
	who, err := rp.VerifyTokens[*oidc.IDTokenClaims](ctx, token.AccessToken, text, t.first)
	if err != nil {
		return nil, fmt.Errorf("%s: the ID token: %w", p.Issuer, err)
	}
	v, err := p.confirmUser(ctx, t, token, who.Subject, who.Claims)
	if err != nil {
		return nil, err
	}
	v.session = who.SessionID
	if granted, isNamed := token.Extra("scope").(string); slices.Contains(t.config.Scopes, oidc.ScopeOfflineAccess) && (!isNamed || slices.Contains(strings.Fields(granted), oidc.ScopeOfflineAccess)) {
		v.refresh = token.RefreshToken
	}
	return v, nil
}

// renew asks the provider to confirm a user, with the refresh token of the login. It returns
// [ErrNoUser] if the provider does not confirm the user. A provider may answer without an ID token,
// or with one that lacks claims (OpenID Connect Core section 12.2), and may have no userinfo
// endpoint. Then the user is unchanged. isConfirmed reports whether the groups were confirmed.
func (p *Provider) renew(ctx context.Context, callback string, known confirmedUser) (now *confirmedUser, isConfirmed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, providerTime)
	defer cancel()
	t, err := p.partyFor(ctx, callback)
	if err != nil {
		return nil, false, err
	}
	token, err := t.config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, p.HTTP), &oauth2.Token{RefreshToken: known.refresh}).Token()
	if refused, is := errors.AsType[*oauth2.RetrieveError](err); is && refused.ErrorCode != "" && refused.Response.StatusCode < http.StatusInternalServerError && refused.Response.StatusCode != http.StatusTooManyRequests && refused.ErrorCode != "invalid_client" {
		return nil, false, fmt.Errorf("%w: %s says %.200q", ErrNoUser, p.Issuer, refused.ErrorCode+" "+refused.ErrorDescription)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", p.Issuer, err)
	}
	claims := map[string]any{}
	text, _ := token.Extra("id_token").(string)
	if text != "" {
		who, err := rp.VerifyTokens[*oidc.IDTokenClaims](ctx, token.AccessToken, text, t.later)
		if err != nil {
			return nil, false, fmt.Errorf("%s: the ID token: %w", p.Issuer, err)
		}
		if who.Subject != known.subject {
			return nil, false, fmt.Errorf("%w: the ID token names the user %.200q, not %.200q", ErrNoUser, who.Subject, known.subject)
		}
		claims = who.Claims
	}
	subject := cmp.Or(p.SubjectClaim, "sub")
	hasName := claims[cmp.Or(p.EmailClaim, "email")] != nil || claims["email_verified"] != nil || subject != "sub" && claims[subject] != nil
	if t.userinfo == "" && !hasName {
		v := known
		v.refresh = token.RefreshToken
		if text != "" {
			v.groups = p.groups(claims)
		}
		return &v, text != "", nil
	}
	v, err := p.confirmUser(ctx, t, token, known.subject, claims)
	if err != nil {
		return nil, false, err
	}
	if v.name != known.name {
		return nil, false, fmt.Errorf("%w: %.200q now has the name %.200q", ErrNoUser, known.name, v.name)
	}
	v.refresh = token.RefreshToken
	return v, true, nil
}

// readsGroups reports whether the groups of users matter.
func (p *Provider) readsGroups() bool { return p.AllGroups || len(p.Groups) > 0 }

// groups returns the groups in the claims that matter.
func (p *Provider) groups(claims map[string]any) []string {
	return slices.DeleteFunc(oauthdoc.Groups(claims, p.GroupsClaim), func(group string) bool {
		_, gives := p.Groups[group]
		return !gives && !p.AllGroups
	})
}

// confirmUser returns the user that the claims of an ID token describe. Missing claims are read
// from the userinfo endpoint.
func (p *Provider) confirmUser(ctx context.Context, t *party, token *oauth2.Token, subject string, claims map[string]any) (*confirmedUser, error) {
	subjectClaim, emailClaim, groupsClaim := cmp.Or(p.SubjectClaim, "sub"), cmp.Or(p.EmailClaim, "email"), oauthdoc.GroupsClaim(p.GroupsClaim)
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return claims[name] == nil })
	}
	text := func(name string) string {
		if name == "sub" {
			return subject
		}
		value, _ := claims[name].(string)
		return value
	}
	isSubject := func() bool { return slices.Contains(p.Subjects, text(subjectClaim)) }
	isKnown := isSubject() || has(emailClaim, "email_verified")
	if t.userinfo != "" && (!isKnown || p.readsGroups() && !has(groupsClaim)) {
		more, err := p.askUserinfo(ctx, t, token, subject)
		if err != nil {
			return nil, err
		}
		claims = merged(claims, more, [][]string{{subjectClaim}, {groupsClaim}, {emailClaim, "email_verified"}})
	}
	v := &confirmedUser{subject: subject, groups: p.groups(claims)}
	if isSubject() {
		v.name = text(subjectClaim)
		return v, nil
	}
	if verified, isFlag := claims["email_verified"].(bool); !(isFlag && verified) && claims["email_verified"] != "true" {
		return nil, fmt.Errorf("%w: %.200q has no e-mail address that %s verified", ErrNoUser, subject, p.Issuer)
	}
	v.name = strings.ToLower(text(emailClaim))
	if _, err := p.find(v.name, nil); err != nil {
		return nil, fmt.Errorf("%w: %.200q", err, v.name)
	}
	return v, nil
}

// merged returns the claims named in sets. The claims of a set come from claims if it has all of
// them, and otherwise from more. They must come from one source, because the source of an address
// also decides whether the address is verified.
func merged(claims, more map[string]any, sets [][]string) map[string]any {
	all := map[string]any{}
	for _, names := range sets {
		from := claims
		if slices.ContainsFunc(names, func(name string) bool { return claims[name] == nil }) {
			from = more
		}
		for _, name := range names {
			all[name] = from[name]
		}
	}
	return all
}

// askUserinfo requests the claims of a user from the userinfo endpoint (OpenID Connect Core section
// 5.3).
func (p *Provider) askUserinfo(ctx context.Context, t *party, token *oauth2.Token, subject string) (claims map[string]any, err error) {
	fault := func(format string, a ...any) error {
		return fmt.Errorf("%s: %s: %w", p.Issuer, t.userinfo, fmt.Errorf(format, a...))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.userinfo, nil)
	if err != nil {
		return nil, fault("%w", err)
	}
	token.SetAuthHeader(req)
	req.Header.Set("Accept", "application/json, application/jwt")
	response, err := p.HTTP.Do(req)
	if err != nil {
		return nil, fault("%w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxUserinfo+1))
	switch {
	case err != nil:
		return nil, fault("%w", err)
	case response.StatusCode != http.StatusOK:
		return nil, fault("HTTP status %d", response.StatusCode)
	case len(body) > maxUserinfo:
		return nil, fault("more than %d KiB", maxUserinfo>>10)
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "application/jwt" {
		if body, err = t.signed(ctx, strings.TrimSpace(string(body))); err != nil {
			return nil, fault("%w", err)
		}
	}
	if err := oauthdoc.Decode(body, &claims); err != nil {
		return nil, fault("%w", err)
	}
	if claims["sub"] != subject {
		return nil, fault("it names the user %.200q, not %.200q", fmt.Sprint(claims["sub"]), subject)
	}
	return claims, nil
}

// signed returns the claims of a signed userinfo response after it checks the signature.
func (t *party) signed(ctx context.Context, text string) ([]byte, error) {
	if strings.Count(text, ".") == 4 {
		return nil, errors.New("it is encrypted, which junction cannot read: configure the provider to send it as JSON, or signed")
	}
	object, err := jose.ParseSignedCompact(text, jws.Algorithms())
	if err != nil {
		return nil, fmt.Errorf("it is not signed as expected: %w", err)
	}
	payload, err := t.first.KeySet.VerifySignature(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("it is not signed by %s: %w", t.issuer, err)
	}
	var c struct {
		Issuer   string    `json:"iss"`
		Audience jws.Texts `json:"aud"`
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	if !oauthdoc.Same(c.Issuer, t.issuer) || !slices.Contains(c.Audience, t.config.ClientID) {
		return nil, fmt.Errorf("it was issued by %.200q for %.200q, not by %s for %s", c.Issuer, c.Audience, t.issuer, t.config.ClientID)
	}
	return payload, nil
}
