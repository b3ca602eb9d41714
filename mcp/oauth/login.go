package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/state"
)

// A Visit is one visit of the user to an authorization server.
type Visit struct {
	// Redirect is the address to which the authorization server sends the user back.
	Redirect string
	// Go sends the user to a page with an http or https URL, and returns the URL with which the
	// user came back.
	Go func(ctx context.Context, page string) (back string, err error)
	// Close, if not nil, ends the visit.
	Close func()
}

// visit sends the user to the login page, and returns the token.
func (c *Client) visit(ctx context.Context, l *login, scopes []string) (t *accessToken, err error) {
	of := l.Issuer
	if of.Authorize == "" {
		return nil, fmt.Errorf("the authorization server %s has no page to log in at", of.Issuer)
	}
	if !l.isIdentity() && !slices.Contains(of.Challenges, "S256") { // for an ID token, the nonce binds the code to this login
		return nil, fmt.Errorf("the authorization server %s does not announce proofs with S256 (code_challenge_methods_supported), so another client could use the code", of.Issuer)
	}
	if slices.Contains(of.Scopes, "offline_access") {
		scopes = union(scopes, []string{"offline_access"})
	}
	known, remembered, err := c.known(ctx, of)
	if err != nil {
		return nil, err
	}
	visit, err := c.options.Visit(ctx, known.Redirect)
	if err != nil {
		return nil, err
	}
	if visit.Close != nil {
		defer visit.Close()
	}
	if known.ID == "" || remembered && known.Redirect != visit.Redirect {
		if known, err = c.register(ctx, of, visit.Redirect); err != nil {
			return nil, err
		}
		remembered = true
	}
	defer func() {
		if err != nil && remembered { // the authorization server may have forgotten the client; its page then shows that, until the user gives up and ctx ends
			_ = c.store.remove(context.WithoutCancel(ctx), keyOf(ofClients, of.Issuer), state.Hold{})
		}
	}()
	l.Client = *known
	state, verifier := rand.Text(), rand.Text()+rand.Text() // 52 characters, as RFC 7636 requires at least 43
	nonce := ""
	if l.isIdentity() {
		nonce = rand.Text()
	}
	page, err := l.page(visit.Redirect, state, nonce, verifier, scopes)
	if err != nil {
		return nil, err
	}
	back, err := visit.Go(ctx, page)
	if err != nil {
		return nil, err
	}
	code, err := codeOf(back, state, of)
	if err != nil {
		return nil, err
	}
	t, err = c.token(ctx, l, l.form(url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {visit.Redirect}, "code_verifier": {verifier}}), scopes)
	if err == nil && l.isIdentity() {
		err = l.identify(t, nonce, c.now())
	}
	if err == nil && remembered {
		err = c.store.saveClient(ctx, of.Issuer, known)
	}
	return t, err
}

// page returns the URL of the login page.
func (l *login) page(redirect, state, nonce, verifier string, scopes []string) (string, error) {
	page, err := url.Parse(l.Issuer.Authorize)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(verifier))
	q := page.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": l.Client.ID, "redirect_uri": redirect, "state": state, "nonce": nonce, "resource": l.Resource,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256", "scope": strings.Join(scopes, " "),
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if slices.Contains(scopes, "offline_access") {
		q.Set("prompt", "consent") // OpenID Connect requires this
	}
	if l.Proof != nil {
		thumbprint, err := l.Proof.thumbprint()
		if err != nil {
			return "", err
		}
		q.Set("dpop_jkt", thumbprint) // binds the code to the key, so that other clients cannot use the code
	}
	page.RawQuery = q.Encode()
	return page.String(), nil
}

// codeOf returns the code with which the user came back. It checks the sender before it uses any
// other parameter, including an error (RFC 9207).
func codeOf(back, state string, of *issuer) (string, error) {
	u, err := url.Parse(back)
	if err != nil {
		return "", errors.New("the browser returned without a valid URL")
	}
	q := u.Query()
	for _, name := range []string{"code", "state", "iss", "error"} {
		if len(q[name]) > 1 {
			return "", fmt.Errorf("the browser returned with %s twice", name)
		}
	}
	if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) == 0 {
		return "", errors.New("the browser returned from another login (state)")
	}
	switch iss := q["iss"]; {
	case len(iss) == 0 && bool(of.SendsIssuer):
		return "", fmt.Errorf("the authorization server %s announced that it identifies itself, but did not (iss)", of.Issuer)
	case len(iss) > 0 && iss[0] != of.Issuer: // byte for byte as in the metadata (RFC 9207 section 2.4)
		return "", fmt.Errorf("the browser returned from another authorization server than %s (iss)", of.Issuer)
	}
	if fault := q.Get("error"); fault != "" {
		return "", &Error{Code: plain(fault), Description: plain(q.Get("error_description"))}
	}
	if q.Get("code") == "" {
		return "", fmt.Errorf("the browser returned from %s without a code", of.Issuer)
	}
	return q.Get("code"), nil
}
