package authserver

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestAClientGetsTokensForItsUser(t *testing.T) {
	s := newSite(t)
	l := s.login("ann", "scope", "read write unknown offline_access openid")
	if l.scope != "read write" {
		t.Errorf("the scopes are %q", l.scope)
	}
	token, err := s.Verify(t.Context(), l.access, resource)
	if err != nil || token.Subject != "ann" || token.Issuer != issuer || token.ClientID != l.client || strings.Join(token.Audience, " ") != resource {
		t.Errorf("the token says %+v, %v", token, err)
	}
	if err := lets(s.guard(resource), l.access); err != nil {
		t.Error(err)
	}
	if err := lets(s.guard(other), l.access); err == nil || !strings.Contains(err.Error(), "not for "+other) {
		t.Errorf("at another resource: %v", err)
	}
	work := s.login("ann", "resource", other)
	if err := lets(s.guard(other), work.access); err != nil {
		t.Error(err)
	}
	spelled := s.login("ann", "resource", "https://TOOLS.example:443/mcp/")
	if err := lets(s.guard(resource), spelled.access); err != nil {
		t.Errorf("with another spelling of the resource: %v", err)
	}
	none := s.login("ben", "scope", "-", "resource", "-")
	if none.scope != "read" {
		t.Errorf("who asks for nothing gets %q", none.scope)
	}
}

// Codex renews its token with scope=.
func TestAParameterWithoutAValueIsTakenAsNotSent(t *testing.T) {
	s := newSite(t)
	l := s.login("ann", "scope", "read write")
	status, got := s.refresh(l.client, l.refresh, "scope", "", "resource", "", "client_secret", "")
	if l = s.tokensIn(l.client, status, got); l.scope != "read write" {
		t.Errorf("a login is renewed with %q", l.scope)
	}
	none := s.login("ann", "scope", "", "resource", "", "prompt", "", "max_age", "", "response_mode", "", "request", "", "request_uri", "", "client_secret", "")
	if none.scope != "read" {
		t.Errorf("who asks for nothing gets %q", none.scope)
	}
	status, got = s.refresh(l.client, "")
	isRefused(t, "no refresh token", status, got, http.StatusBadRequest, "invalid_request", "refresh_token missing")
}

func TestParametersThatCannotBeReadAreRefused(t *testing.T) {
	s := newSite(t)
	for name, body := range map[string]string{"half an escape": "grant_type=%4", "more than there should be": "scope=" + strings.Repeat("s", maxForm)} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+tokenPath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		status, got := s.send(req)
		isRefused(t, name, status, got, http.StatusBadRequest, "invalid_request", "cannot be read")
	}
}

func TestARequestThatMayNotBeTheClientsIsShownToTheUser(t *testing.T) {
	s := newSite(t)
	id := s.register("A client", callback, "https://app.example/back?a=b", "cursor://back")
	for name, at := range map[string]string{
		"an unknown client":          ask("nobody", callback),
		"no client":                  ask("-", callback),
		"no address":                 ask(id, "-", "redirect_uri", "-"),
		"another site":               ask(id, "https://evil.example/back?a=b"),
		"another path":               ask(id, "https://app.example/other"),
		"a longer path":              ask(id, "https://app.example/back/../evil?a=b"),
		"another query":              ask(id, "https://app.example/back?a=b&next=https://evil.example"),
		"a user in front of a host":  ask(id, "https://app.example@evil.example/back?a=b"),
		"another port of a site":     ask(id, "https://app.example:444/back?a=b"),
		"another case":               ask(id, "https://APP.example/back?a=b"),
		"a name of this machine":     ask(id, "http://localhost:4711/callback"),
		"this machine over https":    ask(id, "https://127.0.0.1:4711/callback"),
		"another path here":          ask(id, "http://127.0.0.1:4711/other"),
		"a query here":               ask(id, "http://127.0.0.1:4711/callback?x=y"),
		"a user here":                ask(id, "http://evil@127.0.0.1:4711/callback"),
		"a fragment here":            ask(id, "http://127.0.0.1:4711/callback#x"),
		"a script":                   ask(id, "javascript:alert(1)"),
		"another scheme":             ask(id, "cursor://other"),
		"a parameter twice":          ask(id, callback) + "&scope=write",
		"the address twice":          ask(id, callback) + "&redirect_uri=https://evil.example",
		"a parameter that is long":   ask(id, callback, "state", strings.Repeat("s", 5_000)),
		"a client that is no domain": ask("https://tools.example/client", callback),
	} {
		p, err := s.browser("ann").Get(t.Context(), at)
		if err != nil || p.Status != http.StatusBadRequest || p.Next() != "" || !strings.Contains(p.Text, "error_description") && !strings.Contains(p.Text, `"error"`) {
			t.Errorf("%s: %d, %s to %q, %v", name, p.Status, p.Text, p.Next(), err)
		}
	}
	for _, at := range []string{"http://127.0.0.1:1/callback", "https://app.example/back?a=b", "cursor://back", callback} {
		if p, err := s.browser("ann").Get(t.Context(), ask(id, at)); err != nil || !strings.HasPrefix(p.Next(), issuer+loginPath+"?request=") {
			t.Errorf("%s: %d %s, %v", at, p.Status, p.Text, err)
		}
	}
}

func TestARequestThatIsWrongGoesBackToTheClient(t *testing.T) {
	s := newSite(t)
	id := s.register("A client", callback)
	for name, test := range map[string]struct {
		change     []string
		fault, why string
	}{
		"no challenge":          {[]string{"code_challenge", "-"}, "invalid_request", "PKCE"},
		"no PKCE":               {[]string{"code_challenge", "-", "code_challenge_method", "-"}, "invalid_request", "S256"},
		"plain":                 {[]string{"code_challenge_method", "plain"}, "invalid_request", "S256"},
		"plain, as by default":  {[]string{"code_challenge_method", "-"}, "invalid_request", "S256"},
		"another method":        {[]string{"code_challenge_method", "S512"}, "invalid_request", "code_challenge_method"},
		"a short challenge":     {[]string{"code_challenge", "abc"}, "invalid_request", "code_challenge"},
		"a challenge of spaces": {[]string{"code_challenge", strings.Repeat(" ", 43)}, "invalid_request", "code_challenge"},
		"another resource":      {[]string{"resource", "https://evil.example/mcp"}, "invalid_target", "not protected"},
		"a part of a resource":  {[]string{"resource", issuer + "/mcpx"}, "invalid_target", "not protected"},
		"a token":               {[]string{"response_type", "token"}, "unauthorized_client", "response type"},
		"a code and a token":    {[]string{"response_type", "code token"}, "unauthorized_client", "response type"},
		"no type":               {[]string{"response_type", "-"}, "invalid_request", "response type"},
		"a fragment":            {[]string{"response_mode", "fragment"}, "invalid_request", "response_mode"},
		"a form":                {[]string{"response_mode", "form_post"}, "invalid_request", "response_mode"},
		"a request object":      {[]string{"request", "e30.e30."}, "request_not_supported", ""},
		"a request elsewhere":   {[]string{"request_uri", "https://evil.example"}, "request_not_supported", ""},
		"no page, no user":      {[]string{"prompt", "none"}, "login_required", ""},
	} {
		back, err := s.browser("nobody").Visit(t.Context(), ask(id, callback, test.change...), endsAt(callback))
		if q := query(back); err != nil || q.Get("error") != test.fault || !strings.Contains(q.Get("error_description"), test.why) || q.Get("state") != "the state" || q.Get("iss") != issuer || q.Has("code") {
			t.Errorf("%s: %v, %v", name, q, err)
		}
	}
}

// The sealed request in a page's address is valid in its own browser only, and gets one response.
func TestARequestIsAnsweredOnceAndInItsBrowser(t *testing.T) {
	s := newSite(t)
	id := s.register("A client", callback)
	ann := s.browser("ann")
	begun, err := ann.Get(t.Context(), ask(id, callback))
	if err != nil {
		t.Fatal(err)
	}
	login := begun.Next()
	victim := s.browser("ben")
	for name, at := range map[string]string{"the login": login, "the consent": strings.Replace(login, loginPath, consentPath, 1), "nothing": issuer + loginPath, "what is not sealed": issuer + loginPath + "?request=x"} {
		p, err := victim.Get(t.Context(), at)
		if err != nil || p.Status != http.StatusBadRequest || !strings.Contains(p.Text, "began in another browser") {
			t.Errorf("%s of another browser: %d %s, %v", name, p.Status, p.Text, err)
		}
	}
	if s.code(ann, login, callback) == "" {
		t.Error("there is no code")
	}
	again, err := ann.Show(t.Context(), login)
	if err != nil || again.Status != http.StatusBadRequest || !strings.Contains(again.Text, "began in another browser, or too long ago") {
		t.Errorf("a second time: %d %s, %v", again.Status, again.Text, err)
	}
}

func TestRegistrationsThatCouldHarmAreRefused(t *testing.T) {
	s := newSite(t)
	for name, test := range map[string]struct {
		client any
		fault  string
	}{
		"no address":        {map[string]any{"client_name": "x"}, "invalid_redirect_uri"},
		"http elsewhere":    {map[string]any{"redirect_uris": []string{"http://app.example/back"}}, "invalid_redirect_uri"},
		"a script":          {map[string]any{"redirect_uris": []string{"javascript:alert(1)"}}, "invalid_redirect_uri"},
		"a script, shouted": {map[string]any{"redirect_uris": []string{"JavaScript:alert(1)"}}, "invalid_redirect_uri"},
		"data":              {map[string]any{"redirect_uris": []string{"data:text/html,x"}}, "invalid_redirect_uri"},
		"a fragment":        {map[string]any{"redirect_uris": []string{"https://app.example/#x"}}, "invalid_redirect_uri"},
		"a user":            {map[string]any{"redirect_uris": []string{"https://a@app.example/"}}, "invalid_redirect_uri"},
		"a policy":          {map[string]any{"redirect_uris": []string{"https://app.example;script-src/"}}, "invalid_redirect_uri"},
		"any":               {map[string]any{"redirect_uris": []string{"https://*.example/"}}, "invalid_redirect_uri"},
		"no scheme":         {map[string]any{"redirect_uris": []string{"/back"}}, "invalid_redirect_uri"},
		"no host":           {map[string]any{"redirect_uris": []string{"https:///back"}}, "invalid_redirect_uri"},
		"many":              {map[string]any{"redirect_uris": strings.Split(strings.Repeat("https://app.example/ ", 21), " ")[:21]}, "invalid_redirect_uri"},
		"a long name":       {map[string]any{"client_name": strings.Repeat("n", 300), "redirect_uris": []string{callback}}, "invalid_client_metadata"},
		"another grant":     {map[string]any{"grant_types": []string{"client_credentials"}, "redirect_uris": []string{callback}}, "invalid_client_metadata"},
		"another response":  {map[string]any{"response_types": []string{"token"}, "redirect_uris": []string{callback}}, "invalid_client_metadata"},
		"much":              {map[string]any{"redirect_uris": []string{callback}, "x": strings.Repeat("x", 20_000)}, "invalid_client_metadata"},
		"no object":         {"text", "invalid_client_metadata"},
	} {
		status, got := s.post(registerPath, test.client)
		isRefused(t, name, status, got, http.StatusBadRequest, test.fault, "")
	}
}

func TestTokensRequireTheCode(t *testing.T) {
	s := newSite(t)
	id, foreign := s.register("A client", callback), s.register("Another", callback)
	ann := s.browser("ann")
	for name, test := range map[string]struct {
		change     []string
		status     int
		fault, why string
	}{
		"another client":       {[]string{"client_id", foreign}, 400, "invalid_grant", "another client"},
		"an unknown client":    {[]string{"client_id", "nobody"}, 401, "invalid_client", "unknown"},
		"a secret":             {[]string{"client_secret", "secret"}, 401, "invalid_client", "no secrets"},
		"another address":      {[]string{"redirect_uri", "http://127.0.0.1:4712/callback"}, 400, "invalid_grant", "redirect_uri"},
		"another verifier":     {[]string{"code_verifier", verifier + "x"}, 400, "invalid_grant", "PKCE"},
		"no verifier":          {[]string{"code_verifier", "-"}, 400, "invalid_grant", "PKCE"},
		"the challenge itself": {[]string{"code_verifier", query(ask(id, callback)).Get("code_challenge")}, 400, "invalid_grant", "PKCE"},
		"another resource":     {[]string{"resource", other}, 400, "invalid_target", "the code is only for"},
		"another code":         {[]string{"code", "guessed"}, 400, "invalid_grant", "unknown"},
		"another grant":        {[]string{"grant_type", "password"}, 400, "unsupported_grant_type", ""},
		"client credentials":   {[]string{"grant_type", "client_credentials"}, 400, "unauthorized_client", ""},
	} {
		code := s.code(ann, ask(id, callback), callback)
		status, got := s.redeem(id, callback, code, test.change...)
		isRefused(t, name, status, got, test.status, test.fault, test.why)
		if got["access_token"] != nil {
			t.Errorf("%s: there is a token", name)
		}
	}
	code := s.code(ann, ask(id, callback), callback)
	if p, err := ann.Get(t.Context(), issuer+tokenPath+"?"+url.Values{"grant_type": {"authorization_code"}, "client_id": {id}, "code": {code}}.Encode()); err != nil || p.Status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d %s, %v", p.Status, p.Text, err)
	}
}
