package oauth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// An instead replaces the responses of some paths of a site.
type instead map[string]func(w http.ResponseWriter, r *http.Request)

func (i instead) of(s *site) {
	own := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := i[r.URL.Path]; answer != nil {
			answer(w, r)
			return
		}
		own.ServeHTTP(w, r)
	})
}

func text(status int, kind, body string) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// moved serves a path of a site with the response of another path.
func moved(s *site, to string) func(w http.ResponseWriter, r *http.Request) {
	own := s.Config.Handler
	return func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.URL.Path = to
		own.ServeHTTP(w, r)
	}
}

const (
	resourcePlace = "/.well-known/oauth-protected-resource/mcp"
	issuerPlace   = "/.well-known/oauth-authorization-server"
	openIDPlace   = "/.well-known/openid-configuration"
)

func TestLoginAtServersThatAnswerOddly(t *testing.T) {
	page := text(http.StatusOK, "text/html", "<!doctype html><title>App</title>")
	for _, test := range []struct {
		name  string
		plant func(s *site)
	}{
		{"an issuer with a slash in the resource", func(s *site) { s.resource = map[string]any{"authorization_servers": []string{s.URL + "/"}} }},
		{"an issuer with a slash in its metadata, and so in its responses", func(s *site) {
			s.issuer = map[string]any{"issuer": s.URL + "/"}
			s.back = func(q url.Values) { q.Set("iss", s.URL+"/") }
		}},
		{"a host in capitals", func(s *site) {
			s.resource = map[string]any{"resource": strings.Replace(s.URL, "http:", "HTTP:", 1) + "/mcp"}
		}},
		{"authorization_servers as a text", func(s *site) { s.resource = map[string]any{"authorization_servers": s.URL} }},
		{"scopes_supported as a text", func(s *site) { s.resource = map[string]any{"scopes_supported": "read"} }},
		{"scopes_supported of an issuer as a text", func(s *site) { s.issuer = map[string]any{"scopes_supported": "read write"} }},
		{"methods as a text", func(s *site) { s.issuer = map[string]any{"code_challenge_methods_supported": "S256"} }},
		{"members of other types", func(s *site) {
			s.issuer = map[string]any{"grant_types_supported": 5, "client_id_metadata_document_supported": "yes", "scopes_supported": map[string]any{}}
		}},
		{"a page in place of the issuer's metadata", func(s *site) { instead{issuerPlace: page, openIDPlace: moved(s, issuerPlace)}.of(s) }},
		{"502 in place of the issuer's metadata", func(s *site) {
			instead{issuerPlace: text(http.StatusBadGateway, "text/html", "<html>"), openIDPlace: moved(s, issuerPlace)}.of(s)
		}},
		{"an error in place of the issuer's metadata", func(s *site) {
			instead{issuerPlace: text(http.StatusOK, "application/json", `{"error":"not_found"}`), openIDPlace: moved(s, issuerPlace)}.of(s)
		}},
		{"issuer's metadata without a token endpoint", func(s *site) {
			instead{issuerPlace: text(http.StatusOK, "application/json", `{"issuer":"`+s.URL+`"}`), openIDPlace: moved(s, issuerPlace)}.of(s)
		}},
		{"a page in place of the resource's metadata", func(s *site) {
			instead{resourcePlace: page, "/.well-known/oauth-protected-resource": moved(s, resourcePlace)}.of(s)
		}},
		{"a page where the challenge points", func(s *site) {
			s.challenge = `Bearer resource_metadata="` + s.URL + `/page"`
			instead{"/page": page}.of(s)
		}},
		{"404 where the challenge points", func(s *site) { s.challenge = `Bearer resource_metadata="` + s.URL + `/nothing"` }},
		{"a relative URL in the challenge", func(s *site) {
			s.challenge = `Bearer resource_metadata="/described"`
			instead{"/described": moved(s, resourcePlace), resourcePlace: page}.of(s)
		}},
		{"a redirect within the origin", func(s *site) {
			instead{issuerPlace: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, openIDPlace, http.StatusFound)
			}, openIDPlace: moved(s, issuerPlace)}.of(s)
		}},
		{"a redirect to another origin", func(s *site) {
			instead{issuerPlace: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
			}, openIDPlace: moved(s, issuerPlace)}.of(s)
		}},
		{"client_secret_expires_at as a text", func(s *site) { s.registered = map[string]any{"client_secret_expires_at": "0"} }},
		{"client_secret_expires_at as 0.0", func(s *site) {
			instead{"/register": text(http.StatusCreated, "application/json", `{"client_id":"client","client_secret_expires_at":0.0,"redirect_uris":"x"}`)}.of(s)
		}},
		{"a token without a type", func(s *site) { s.answer = func(url.Values) map[string]any { return map[string]any{"token_type": nil} } }},
		{"a token of type BEARER", func(s *site) {
			s.answer = func(url.Values) map[string]any { return map[string]any{"token_type": "BEARER"} }
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t)
			test.plant(s)
			if status, err := s.get(s.client(nil), "/mcp"); status != http.StatusOK || err != nil {
				t.Errorf("%d, %v", status, err)
			}
		})
	}
}

func TestErrorNamesEachPlaceOfMetadata(t *testing.T) {
	s := newSite(t)
	instead{issuerPlace: text(http.StatusOK, "text/html", "<html>"), openIDPlace: text(http.StatusBadGateway, "text/html", "<html>")}.of(s)
	_, err := s.get(s.client(nil), "/mcp")
	for _, want := range []string{issuerPlace + `: a response of type "text/html" that is not a JSON object`, openIDPlace + ": HTTP status 502"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s = newSite(t)
	s.resource, s.issuer = map[string]any{"authorization_servers": []string{s.URL + "/tenant"}}, nil
	if _, err := s.get(s.client(nil), "/mcp"); err == nil || strings.Count(err.Error(), "HTTP status 404") != 3 {
		t.Errorf("an issuer with a path: %v", err)
	}
}

func TestTokenResponses(t *testing.T) {
	long := []string{"asked"}
	for _, test := range []struct {
		name, kind, body string
		want             accessToken
		lasts            time.Duration
		fault            string
	}{
		{"a right one", "application/json", `{"access_token":"a","token_type":"Bearer","expires_in":60,"refresh_token":"r","scope":"x y"}`, accessToken{Access: "a", Refresh: "r", Scopes: []string{"x", "y"}}, time.Minute, ""},
		{"expires_in as a text", "application/json", `{"access_token":"a","token_type":"Bearer","expires_in":"60"}`, accessToken{Access: "a", Scopes: long}, time.Minute, ""},
		{"expires_in as a fraction", "application/json", `{"access_token":"a","token_type":"Bearer","expires_in":60.5}`, accessToken{Access: "a", Scopes: long}, 60500 * time.Millisecond, ""},
		{"expires_in as null", "application/json", `{"access_token":"a","token_type":"Bearer","expires_in":null}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"expires_in that is negative", "application/json", `{"access_token":"a","token_type":"Bearer","expires_in":-1}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"expires_in as words", "application/json", `{"access_token":"a","token_type":"Bearer","expires_in":"soon"}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"expires_in as an object", "application/json", `{"access_token":"a","token_type":"Bearer","expires_in":{}}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"expires_in of a thousand years", "application/json", `{"access_token":"a","token_type":"Bearer","expires_in":"1e300"}`, accessToken{Access: "a", Scopes: long}, maxExpires, ""},
		{"scope as an array", "application/json", `{"access_token":"a","token_type":"Bearer","scope":["x","y z"]}`, accessToken{Access: "a", Scopes: []string{"x", "y", "z"}}, 0, ""},
		{"scope as null", "application/json", `{"access_token":"a","token_type":"Bearer","scope":null}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"no type", "application/json", `{"access_token":"a"}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"a type that is null", "application/json", `{"access_token":"a","token_type":null}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"a type in small letters", "application/json", `{"access_token":"a","token_type":"bearer"}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"refresh_token as null", "application/json", `{"access_token":"a","refresh_token":null}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"refresh_token as false", "application/json", `{"access_token":"a","refresh_token":false}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"error as null", "application/json", `{"access_token":"a","error":null}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"a byte order mark", "application/json", "\ufeff" + `{"access_token":"a"}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"as plain text", "text/plain", `{"access_token":"a"}`, accessToken{Access: "a", Scopes: long}, 0, ""},
		{"as a form", "application/x-www-form-urlencoded", "access_token=a&token_type=bearer&expires_in=60&scope=x+y", accessToken{Access: "a", Scopes: []string{"x", "y"}}, time.Minute, ""},
		{"scopes of a form with a comma", "application/x-www-form-urlencoded", "access_token=a&scope=repo%2Cgist", accessToken{Access: "a", Scopes: []string{"repo,gist"}}, 0, ""},

		{"another type", "application/json", `{"access_token":"a","token_type":"mac"}`, accessToken{}, 0, "only Bearer is sent"},
		{"a token as a number", "application/json", `{"access_token":5}`, accessToken{}, 0, "no access_token"},
		{"two tokens in a form", "application/x-www-form-urlencoded", "access_token=a&access_token=b", accessToken{}, 0, "not a JSON object"},
		{"an error with 200", "application/json", `{"error":"bad_verification_code","error_description":"The code is incorrect"}`, accessToken{}, 0, "bad_verification_code: The code is incorrect"},
		{"an error in a form with 200", "application/x-www-form-urlencoded", "error=bad_verification_code&error_description=The+code+is+incorrect", accessToken{}, 0, "bad_verification_code: The code is incorrect"},
		{"an error as an object", "application/json", `{"error":{"code":"E1","message":"It was used"}}`, accessToken{}, 0, "E1: It was used"},
		{"a page", "text/html", "<html>", accessToken{}, 0, "not a JSON object"},
		{"an array", "application/json", "[]", accessToken{}, 0, "not a JSON object"},
		{"nothing", "", "", accessToken{}, 0, "not a JSON object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(text(http.StatusOK, test.kind, test.body)))
			defer server.Close()
			c := New(Options{HTTP: server.Client()})
			now := time.Now()
			c.now = func() time.Time { return now }
			got, err := c.token(t.Context(), &login{Issuer: &issuer{Issuer: server.URL, Token: server.URL}, Client: Registration{ID: "client"}}, url.Values{}, long)
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("%v, expected %q", err, test.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			lasts := time.Duration(0)
			if !got.Expires.IsZero() {
				lasts = got.Expires.Sub(now)
			}
			if got.Access != test.want.Access || got.Refresh != test.want.Refresh || !slices.Equal(got.Scopes, test.want.Scopes) || lasts != test.lasts {
				t.Errorf("%+v, lasts %v", got, lasts)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for body, want := range map[string]string{
		`{"message":"Not for you"}`:                         "HTTP status 429: Not for you",
		`{"error":"slow_down","error_description":"Later"}`: "slow_down: Later",
		`<html>`: "HTTP status 429",
	} {
		server := httptest.NewServer(http.HandlerFunc(text(http.StatusTooManyRequests, "", body)))
		err := New(Options{HTTP: server.Client()}).post(t.Context(), server.URL, http.Header{}, "", nil)
		if err == nil || !strings.HasSuffix(err.Error(), want) || isRefusal(err) {
			t.Errorf("%s: %v", body, err)
		}
		server.Close()
	}
	for code, is := range map[string]bool{"invalid_grant": true, "bad_refresh_token": true, "temporarily_unavailable": false, "server_error": false} {
		if isRefusal(&Error{Code: code, Status: http.StatusOK}) != is {
			t.Errorf("%s: expected %v", code, is)
		}
	}
}
