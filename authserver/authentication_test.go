package authserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/formfill"
)

// allowed lets a browser of the provider's user allow a client, and returns the login.
func (o *organization) allowed(s *site, b *formfill.Browser, id string) in {
	o.t.Helper()
	p, _ := o.visit(s, b, ask(id, callback))
	if p.Action == "" {
		o.t.Fatalf("%d %s", p.Status, p.Text)
	}
	p, err := b.Send(o.t.Context(), p.Action, b.Fill(p))
	if err != nil {
		o.t.Fatal(err)
	}
	status, got := s.redeem(id, callback, query(p.Next()).Get("code"))
	return s.tokensIn(id, status, got)
}

// offline makes the provider issue refresh tokens for one use each, as long as it has the user.
func (o *organization) offline(in web) (asked *int, gone *int) {
	asked, gone = new(int), new(int)
	o.members = map[string]any{"scopes_supported": []string{"openid", "email", "offline_access"}}
	in[providerAt+"/token"] = func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		w.Header().Set("Content-Type", "application/json")
		answer := map[string]any{"access_token": "theirs", "token_type": "Bearer"}
		switch {
		case r.PostForm.Get("grant_type") != "refresh_token":
			o.spent = r.PostForm
			answer["id_token"] = o.identity()
		case *gone == http.StatusServiceUnavailable:
			w.WriteHeader(*gone)
			return
		case *gone != 0 || r.PostForm.Get("refresh_token") != o.refresh:
			w.WriteHeader(http.StatusBadRequest)
			answer = map[string]any{"error": "invalid_grant"}
		default:
			*asked++
			if o.again {
				answer["id_token"] = o.identity()
			}
		}
		o.refresh += "r"
		answer["refresh_token"] = o.refresh
		_ = json.NewEncoder(w).Encode(answer)
	}
	return asked, gone
}

func TestProviderIsAskedAtEachRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newProviderSite(t)
		o.again = true
		asked, gone := o.offline(s.web)
		b := s.browser("nobody")
		one := s.register("One", callback)
		l := o.allowed(s, b, one)
		if scope := o.asked.Get("scope"); scope != "openid email offline_access" || o.asked.Get("prompt") != "consent" {
			t.Fatalf("the provider is asked %v", o.asked)
		}
		for range 10 { // it outlives a login that cannot be confirmed
			time.Sleep(unaskedLoginTime / 2)
			status, got := s.refresh(one, l.refresh)
			l = s.tokensIn(one, status, got)
		}
		if *asked != 10 {
			t.Errorf("the provider was asked %d times", *asked)
		}
		*gone = http.StatusServiceUnavailable
		time.Sleep(time.Hour)
		if status, got := s.refresh(one, l.refresh); status < 500 {
			t.Fatalf("while the provider is away: %d %v", status, got)
		}
		*gone = 0
		time.Sleep(time.Second)
		status, got := s.refresh(one, l.refresh)
		l = s.tokensIn(one, status, got)
		*gone = http.StatusForbidden
		time.Sleep(time.Hour)
		status, got = s.refresh(one, l.refresh)
		isRefused(t, "a user who is gone", status, got, http.StatusBadRequest, "invalid_grant", "has ended")
		if _, err := s.Verify(t.Context(), l.access, resource); err == nil {
			t.Error("the access token holds")
		}
	})
}

// A browser that is still logged in gets no new tokens for a user whom the provider no longer
// confirms.
func TestProviderIsAskedAboutBrowsersThatAreLoggedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newProviderSite(t)
		_, gone := o.offline(s.web)
		b := s.browser("nobody")
		o.allowed(s, b, s.register("One", callback))
		*gone = http.StatusForbidden
		time.Sleep(time.Hour)
		two := s.register("Two", callback)
		p, err := b.Visit(t.Context(), ask(two, callback), endsAt(callback))
		if err != nil {
			t.Fatal(err)
		}
		status, got := s.redeem(two, callback, query(p).Get("code"))
		isRefused(t, "a new client", status, got, http.StatusBadRequest, "invalid_grant", "has ended")
		if to, err := b.Visit(t.Context(), ask(two, callback), func(to string) bool { return strings.HasPrefix(to, providerAt) }); err != nil {
			t.Errorf("the browser is not sent to the provider: %s, %v", to, err)
		}
	})
}

func TestRenewalsForAnotherUserAreRefused(t *testing.T) {
	for name, change := range map[string]func(c map[string]any){
		"another subject":       func(c map[string]any) { c["sub"] = "5678" },
		"another address":       func(c map[string]any) { c["email"] = "eve@example.com" },
		"another domain":        func(c map[string]any) { c["email"] = "ann@example.org" },
		"an address not theirs": func(c map[string]any) { c["email_verified"] = false },
	} {
		synctest.Test(t, func(t *testing.T) {
			s, o := newProviderSite(t)
			o.again = true
			o.offline(s.web)
			id := s.register("A client", callback)
			l := o.allowed(s, s.browser("nobody"), id)
			o.change = change
			time.Sleep(time.Hour)
			status, got := s.refresh(id, l.refresh)
			isRefused(t, name, status, got, http.StatusBadRequest, "invalid_grant", "has ended")
		})
	}
}

// A provider need not send an ID token with a refresh token (OpenID Connect Core section 12.2), nor
// all claims of the first again.
func TestProviderSaysNothingAtRenewal(t *testing.T) {
	for _, test := range []struct {
		name    string
		groups  any // of the first ID token
		change  func(c map[string]any)
		scopes  string // at the renewals
		endures bool   // beyond the lifetime of a login that cannot be confirmed
	}{
		{"no ID token", nil, nil, "read", true},
		{"no ID token, without groups that give scopes", []string{"sales"}, nil, "read", true},
		{"no ID token, with groups", []string{"eng"}, nil, "read write", false},
		{"an ID token without an address", nil, func(c map[string]any) { delete(c, "email"); delete(c, "email_verified") }, "read", true},
		{"an ID token with groups alone", []string{"eng"}, func(c map[string]any) { delete(c, "email"); delete(c, "email_verified") }, "read write", true},
		{"an ID token without groups any more", []string{"eng"}, func(c map[string]any) { delete(c, "email"); delete(c, "email_verified"); delete(c, "groups") }, "read", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, o := newProviderSite(t)
				s.options.Provider.Groups = map[string][]string{"eng": {"write"}}
				asked, _ := o.offline(s.web)
				o.claims["groups"] = test.groups
				id := s.register("A client", callback)
				b := s.browser("nobody")
				p, _ := o.visit(s, b, ask(id, callback, "scope", "read write"))
				p, err := b.Send(t.Context(), p.Action, b.Fill(p))
				if err != nil {
					t.Fatal(err)
				}
				status, got := s.redeem(id, callback, query(p.Next()).Get("code"))
				l := s.tokensIn(id, status, got)
				o.again, o.change = test.change != nil, test.change
				for range 2 {
					time.Sleep(unaskedLoginTime / 3)
					status, got = s.refresh(id, l.refresh)
					if l = s.tokensIn(id, status, got); l.scope != test.scopes {
						t.Errorf("the scopes are %q", l.scope)
					}
				}
				if *asked != 2 {
					t.Errorf("the provider was asked %d times", *asked)
				}
				time.Sleep(unaskedLoginTime)
				status, got = s.refresh(id, l.refresh)
				if test.endures {
					s.tokensIn(id, status, got)
				} else {
					isRefused(t, "groups that were not confirmed for long", status, got, http.StatusBadRequest, "invalid_grant", "has ended")
				}
			})
		})
	}
}

func TestLoginGetsNoOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := newProviderSite(t)
		id := s.register("A client", callback)
		l := o.allowed(s, s.browser("nobody"), id)
		time.Sleep(unaskedLoginTime - time.Minute)
		status, got := s.refresh(id, l.refresh)
		l = s.tokensIn(id, status, got)
		time.Sleep(time.Minute)
		status, got = s.refresh(id, l.refresh)
		isRefused(t, "at a provider that is not asked", status, got, http.StatusBadRequest, "invalid_grant", "too old")
		if _, err := s.Verify(t.Context(), l.access, resource); err == nil {
			t.Error("the access token holds")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(o *Options) { o.LoginTime = 24 * time.Hour })
		l := s.login("ann")
		time.Sleep(24*time.Hour - time.Minute)
		status, got := s.refresh(l.client, l.refresh)
		l = s.tokensIn(l.client, status, got)
		time.Sleep(time.Minute)
		status, got = s.refresh(l.client, l.refresh)
		isRefused(t, "with a password", status, got, http.StatusBadRequest, "invalid_grant", "too old")
	})
}

func TestLogout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		ann, ben := s.login("ann"), s.login("ben")
		all, err := Logins(t.Context(), s.store)
		if err != nil || len(all) != 2 || !all[0].Until.Equal(all[0].At.Add(defaultLoginTime)) {
			t.Fatalf("%+v, %v", all, err)
		}
		if n, err := Logout(t.Context(), s.store, "ann"); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		status, got := s.refresh(ann.client, ann.refresh)
		isRefused(t, "ann", status, got, http.StatusBadRequest, "invalid_grant", "has ended")
		status, got = s.refresh(ben.client, ben.refresh)
		s.tokensIn(ben.client, status, got)
		if all, err := Logins(t.Context(), s.store); err != nil || len(all) != 1 || all[0].User != "ben" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// userinfo makes the provider's userinfo endpoint return the claims that are missing in its ID
// tokens.
func (o *organization) userinfo(in web, kind string, claims map[string]any, left ...string) {
	o.members = map[string]any{"userinfo_endpoint": providerAt + "/me"}
	o.change = func(c map[string]any) {
		for _, name := range left {
			delete(c, name)
		}
	}
	in[providerAt+"/me"] = func(w http.ResponseWriter, r *http.Request) {
		o.asks++
		if r.Header.Get("Authorization") != "Bearer theirs" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", kind)
		switch kind {
		case "application/json", "text/plain":
			_ = json.NewEncoder(w).Encode(claims)
		case "application/jwt":
			_, _ = w.Write([]byte(o.sign(claims)))
		case "application/jwt; encrypted":
			w.Header().Set("Content-Type", "application/jwt")
			_, _ = w.Write([]byte("a.b.c.d.e"))
		case "application/jwt; none":
			w.Header().Set("Content-Type", "application/jwt")
			_, _ = w.Write([]byte("eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0In0."))
		}
	}
}

func TestClaimsAreReadFromUserinfo(t *testing.T) {
	json, jwt, mail := "application/json", "application/jwt", []string{"email", "email_verified"}
	right := map[string]any{"sub": "1234", "email": "Ann@Example.com", "email_verified": true, "iss": providerAt, "aud": "junction"}
	with := func(name string, value any) map[string]any {
		c := map[string]any{name: value}
		for other, value := range right {
			if other != name {
				c[other] = value
			}
		}
		return c
	}
	for _, test := range []struct {
		name   string
		kind   string
		claims map[string]any
		left   []string // claims missing in the ID token
		status int
		asks   int
	}{
		{"a user", json, right, mail, http.StatusOK, 1},
		{"a user whom the ID token names", json, with("email", "eve@example.org"), nil, http.StatusOK, 0},
		{"email_verified is only there, of another address", json, with("email", "eve@example.org"), []string{"email_verified"}, http.StatusForbidden, 1},
		{"email_verified as a text", json, with("email_verified", "true"), mail, http.StatusOK, 1},
		{"an address that is not verified", json, with("email_verified", false), mail, http.StatusForbidden, 1},
		{"an address of which nothing is said", json, with("email_verified", nil), mail, http.StatusForbidden, 1},
		{"another subject", json, with("sub", "5678"), mail, http.StatusBadGateway, 1},
		{"no subject", json, with("sub", nil), mail, http.StatusBadGateway, 1},
		{"as plain text", "text/plain", right, mail, http.StatusOK, 1},
		{"signed", jwt, right, mail, http.StatusOK, 1},
		{"signed by another", jwt, with("iss", "https://evil.example"), mail, http.StatusBadGateway, 1},
		{"signed for another", jwt, with("aud", "another"), mail, http.StatusBadGateway, 1},
		{"signed with none", "application/jwt; none", right, mail, http.StatusBadGateway, 1},
		{"encrypted", "application/jwt; encrypted", right, mail, http.StatusBadGateway, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, o := newProviderSite(t)
			o.userinfo(s.web, test.kind, test.claims, test.left...)
			p, _ := o.visit(s, s.browser("nobody"), ask(s.register("A client", callback), callback))
			if p.Status != test.status || o.asks != test.asks || p.Status == http.StatusOK && !strings.Contains(p.Text, "<dd>ann@example.com</dd>") {
				t.Errorf("%d %s, asked %d times", p.Status, p.Text, o.asks)
			}
		})
	}
}

func TestGroupsGiveScopes(t *testing.T) {
	for _, test := range []struct {
		name   string
		groups any
		want   string
	}{
		{"a group", []string{"Domain Users", "eng"}, "read write"},
		{"one group as a text", "eng", "read write"},
		{"another group", []string{"sales"}, "read"},
		{"part of a name", "eng sales", "read"},
		{"none", nil, "read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, o := newProviderSite(t)
			s.options.Provider.Groups, s.options.Provider.GroupsClaim = map[string][]string{"eng": {"write"}}, "teams"
			o.userinfo(s.web, "application/json", map[string]any{"sub": "1234", "teams": test.groups})
			id := s.register("A client", callback)
			b := s.browser("nobody")
			p, _ := o.visit(s, b, ask(id, callback, "scope", "read write"))
			if p.Action == "" {
				t.Fatalf("%d %s", p.Status, p.Text)
			}
			p, err := b.Send(t.Context(), p.Action, b.Fill(p))
			if err != nil {
				t.Fatal(err)
			}
			status, got := s.redeem(id, callback, query(p.Next()).Get("code"))
			if l := s.tokensIn(id, status, got); l.scope != test.want {
				t.Errorf("the scopes are %q", l.scope)
			}
		})
	}
}

func TestSubjectClaimNamesUsers(t *testing.T) {
	s, o := newProviderSite(t)
	p := s.options.Provider
	p.SubjectClaim, p.Subjects, p.EmailClaim = "login", []string{"ann.b"}, "mail"
	o.claims["login"] = "ann.b"
	page, _ := o.visit(s, s.browser("nobody"), ask(s.register("A client", callback), callback))
	if !strings.Contains(page.Text, "<dd>ann.b</dd>") {
		t.Errorf("by a subject: %d %s", page.Status, page.Text)
	}
	o.claims["login"], o.claims["mail"] = "ben.c", "Ben@example.com"
	page, _ = o.visit(s, s.browser("nobody"), ask(s.register("A client", callback), callback))
	if !strings.Contains(page.Text, "<dd>ben@example.com</dd>") {
		t.Errorf("by an address: %d %s", page.Status, page.Text)
	}
}

func TestProviderIsSpelledInSeveralWays(t *testing.T) {
	for name, change := range map[string]func(s *site, o *organization){
		"in the settings": func(s *site, o *organization) { s.options.Provider.Issuer = "https://LOGIN.example:443/" },
		"in its metadata": func(s *site, o *organization) {
			o.members, o.iss = map[string]any{"issuer": providerAt + "/"}, providerAt+"/"
		},
		"in its ID token": func(s *site, o *organization) { o.claims["iss"] = providerAt + "/" },
		"behind a page": func(s *site, o *organization) {
			s.web[providerAt+metadataPath], s.web[providerAt+openIDPath] = s.web[providerAt+openIDPath], webPage
		},
	} {
		s, o := newProviderSite(t)
		change(s, o)
		if p, _ := o.visit(s, s.browser("nobody"), ask(s.register("A client", callback), callback)); p.Status != http.StatusOK {
			t.Errorf("%s: %d %s", name, p.Status, p.Text)
		}
	}
	for _, iss := range []string{"https://evil.example", providerAt + "/"} {
		s, o := newProviderSite(t)
		o.iss = iss
		if p, _ := o.visit(s, s.browser("nobody"), ask(s.register("A client", callback), callback)); p.Status != http.StatusBadGateway {
			t.Errorf("a response of %s: %d %s", iss, p.Status, p.Text)
		}
	}
}

// webPage is the response of an application to an unknown path.
func webPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = w.Write([]byte("<!doctype html>"))
}
