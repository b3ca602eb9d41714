package authserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/formfill"
)

// asks reports whether a logged-in user is asked for consent.
func asks(t *testing.T, b *formfill.Browser, at string) bool {
	t.Helper()
	p, err := b.Get(t.Context(), at)
	for err == nil && p.Next() != "" && strings.HasPrefix(p.Next(), issuer) {
		p, err = b.Get(t.Context(), p.Next())
	}
	if err != nil || p.Next() == "" && !strings.HasSuffix(p.Action, consentPath) {
		t.Fatalf("%d %s, %v", p.Status, p.Text, err)
	}
	return p.Next() == ""
}

const (
	siteCallback = "https://app.example/back"
	documentAt   = "https://app.example/client.json"
)

// publish publishes the document of a client.
func (s *site) publish(at, text string) {
	s.web[at] = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

func TestConsentIsSkippedOnlyForUnchangedConfidentialClients(t *testing.T) {
	s := newSite(t)
	s.publish(documentAt, `{"client_id":"`+documentAt+`","client_name":"App","redirect_uris":["`+siteCallback+`","https://app.example/other","http://127.0.0.1/callback"]}`)
	ann, ben := s.browser("ann"), s.browser("ben")
	of := s.register("App", siteCallback, "https://app.example/other", callback)
	for _, id := range []string{of, documentAt} {
		s.code(ann, ask(id, siteCallback), siteCallback)
		s.code(ann, ask(id, callback), callback)
		s.code(ben, ask(id, siteCallback, "resource", other), siteCallback) // only to log in
	}
	s.code(ben, ask(of, siteCallback), siteCallback)
	for name, test := range map[string]struct {
		b    *formfill.Browser
		at   string
		asks bool
	}{
		"the same":                              {ann, ask(of, siteCallback), false},
		"with another address":                  {ann, ask(of, "https://app.example/other"), true},
		"with more scopes":                      {ann, ask(of, siteCallback, "scope", "read write"), true},
		"for another resource":                  {ann, ask(of, siteCallback, "resource", other), true},
		"with a wish to be asked":               {ann, ask(of, siteCallback, "prompt", "consent"), true},
		"a program here":                        {ann, ask(of, callback), true},
		"what ann registered, allowed by ben":   {ben, ask(of, siteCallback), true},
		"another client of that name":           {ann, ask(s.register("App", siteCallback), siteCallback), true},
		"by a document":                         {ann, ask(documentAt, siteCallback), false},
		"by a document, with another address":   {ann, ask(documentAt, "https://app.example/other"), true},
		"by a document, a program here":         {ann, ask(documentAt, callback), true},
		"by a document, for another user":       {ben, ask(documentAt, siteCallback), true},
		"by a document, for another's resource": {ben, ask(documentAt, siteCallback, "resource", other), false},
	} {
		if got := asks(t, test.b, test.at); got != test.asks {
			t.Errorf("%s: asks %v", name, got)
		}
	}
	back, err := ann.Visit(t.Context(), ask(of, callback, "prompt", "none"), endsAt(callback))
	if q := query(back); err != nil || q.Get("error") != "interaction_required" || q.Get("iss") != issuer {
		t.Errorf("without a page: %v, %v", q, err)
	}
	back, err = ann.Visit(t.Context(), ask(of, siteCallback, "prompt", "none"), endsAt(siteCallback))
	if q := query(back); err != nil || q.Get("code") == "" {
		t.Errorf("without a page, remembered: %v, %v", q, err)
	}
	if p, err := ann.Get(t.Context(), ask(of, siteCallback, "prompt", "login")); err != nil {
		t.Error(err)
	} else if p, err = ann.Get(t.Context(), p.Next()); err != nil || !strings.HasSuffix(p.Action, loginPath) {
		t.Errorf("with a wish to log in: %d %s, %v", p.Status, p.Text, err)
	}
}

// An attacker's client with its own redirect URI gets nothing by a user's consent to another client
// (the confused deputy of the specification).
func TestTheConsentForOneClientIsNoneForAnother(t *testing.T) {
	s := newSite(t)
	ann := s.browser("ann")
	s.code(ann, ask(s.register("App", siteCallback), siteCallback), siteCallback)
	const evil = "https://evil.example/back"
	of := s.register("App", evil)
	if !asks(t, ann, ask(of, evil)) {
		t.Fatal("ann is not asked")
	}
	ann.Fields["decision"] = "deny"
	back, err := ann.Visit(t.Context(), ask(of, evil), endsAt(evil))
	if q := query(back); err != nil || q.Get("error") != "access_denied" || q.Has("code") || q.Get("iss") != issuer {
		t.Errorf("ann says no: %v, %v", q, err)
	}
}

func TestConsentPageNamesClientAndScopes(t *testing.T) {
	s := newSite(t)
	ann := s.browser("ann")
	delete(ann.Fields, "decision")
	p, err := ann.Show(t.Context(), ask(s.register(`<script>alert(1)</script>"`, callback), callback, "scope", "read write"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;&#34;", "registered itself here on", "any program can do that, under any name", "127.0.0.1:4711", "on your own computer", resource, "<dd>read</dd>", "<dd>write</dd>", "<dd>ann</dd>", "tools.example"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("%q is missing: %s", want, p.Text)
		}
	}
	if strings.Contains(p.Text, "<script") {
		t.Errorf("there is a script: %s", p.Text)
	}
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src " + styleHash() + "; form-action 'self' http://127.0.0.1:4711; frame-ancestors 'none'; base-uri 'none'",
		"X-Frame-Options":         "DENY", "Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
	} {
		if got := p.Header.Get(header); got != want {
			t.Errorf("%s: %s", header, got)
		}
	}
	s.publish(documentAt, `{"client_id":"`+documentAt+`","redirect_uris":["`+siteCallback+`"]}`)
	p, err = ann.Show(t.Context(), ask(documentAt, siteCallback))
	if err != nil || !strings.Contains(p.Text, "described by a document at app.example") || !strings.Contains(p.Text, "<dd>nothing</dd>") || strings.Contains(p.Text, "your own computer") {
		t.Errorf("by a document: %s, %v", p.Text, err)
	}
	for _, c := range ann.Cookies(&url.URL{Scheme: "https", Host: "tools.example", Path: "/"}) {
		if !strings.HasPrefix(c.Name, "__Host-junction-") {
			t.Errorf("the cookie %s", c)
		}
	}
}

// A form is accepted only from the page that was shown, in the same browser.
func TestFormsOfOtherOriginsAreRefused(t *testing.T) {
	s := newSite(t)
	for _, form := range []string{"login", "consent"} {
		id := s.register("A client", callback)
		shown := func(user string) (*formfill.Browser, *formfill.Page) {
			b := s.browser(user)
			delete(b.Fields, "decision")
			if form == "login" {
				delete(b.Fields, "password")
			}
			p, err := b.Show(t.Context(), ask(id, callback))
			if err != nil || !strings.HasSuffix(p.Action, form) {
				t.Fatalf("%d %s, %v", p.Status, p.Text, err)
			}
			b.Fields["password"], b.Fields["decision"] = password, "allow"
			b.Fill(p)
			return b, p
		}
		_, evil := shown("ben")
		for name, change := range map[string]func(url.Values){
			"none":           func(v url.Values) { v.Del("csrf") },
			"another":        func(v url.Values) { v.Set("csrf", strings.Repeat("A", 43)) },
			"the attacker's": func(v url.Values) { v.Set("csrf", evil.Values.Get("csrf")) },
			"all of an attack": func(v url.Values) {
				v.Set("csrf", evil.Values.Get("csrf"))
				v.Set("request", evil.Values.Get("request"))
			},
		} {
			ann, p := shown("ann")
			change(p.Values)
			got, err := ann.Send(t.Context(), p.Action, p.Values)
			if err != nil || got.Status != http.StatusBadRequest || got.Next() != "" {
				t.Errorf("%s, token %s: %d to %q, %v", form, name, got.Status, got.Next(), err)
			}
		}
		// Browsers set the first header, and the second in older versions.
		for name, header := range map[string]http.Header{
			"Sec-Fetch-Site":      {"Sec-Fetch-Site": {"cross-site"}},
			"of the same site":    {"Sec-Fetch-Site": {"same-site"}},
			"Origin":              {"Origin": {"https://evil.example"}},
			"an Origin of nobody": {"Origin": {"null"}},
		} {
			ann, p := shown("ann")
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, p.Action, strings.NewReader(p.Values.Encode()))
			req.Header = header
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for _, c := range ann.Cookies(p.URL) {
				req.AddCookie(c)
			}
			if status, got := s.send(req); status != http.StatusBadRequest && status != http.StatusForbidden {
				t.Errorf("%s, %s: %d %v", form, name, status, got)
			}
		}
		// A GET request decides nothing.
		ann, p := shown("ann")
		got, err := ann.Get(t.Context(), p.Action+"?"+p.Values.Encode())
		if err != nil || got.Next() != "" || !strings.HasSuffix(got.Action, form) {
			t.Errorf("%s by GET: %d to %q, %v", form, got.Status, got.Next(), err)
		}
	}
}

// The session of the time before a login is useless after it.
func TestALoginBeginsAnotherSession(t *testing.T) {
	s := newSite(t)
	id := s.register("A client", callback)
	ann := s.browser("ann")
	session := func() (name string) {
		for _, c := range ann.Cookies(&url.URL{Scheme: "https", Host: "tools.example", Path: "/"}) {
			if strings.HasSuffix(c.Name, sessionCookie) {
				name = c.Value
			}
		}
		return name
	}
	s.code(ann, ask(id, callback), callback)
	first := session()
	s.code(ann, ask(id, callback, "prompt", "login"), callback)
	if second := session(); first == "" || second == "" || first == second {
		t.Errorf("the sessions are %q and %q", first, second)
	}
	// Another user logs in.
	ann.Fields["decision"] = "other"
	p, err := ann.Get(t.Context(), ask(id, callback))
	for err == nil && p.Next() != "" {
		p, err = ann.Get(t.Context(), p.Next())
	}
	if err == nil {
		p, err = ann.Send(t.Context(), p.Action, ann.Fill(p))
	}
	if err != nil || !strings.HasPrefix(p.Next(), issuer+loginPath) || session() != "" {
		t.Errorf("%d to %q, session %q, %v", p.Status, p.Next(), session(), err)
	}
}

func TestUsersHaveTheScopesThatTheyHave(t *testing.T) {
	s := newSite(t)
	if l := s.login("ben", "scope", "read write"); l.scope != "read" {
		t.Errorf("ben has %q", l.scope)
	}
	if err := s.users.Add(t.Context(), "eve", password, nil); err != nil {
		t.Fatal(err)
	}
	id := s.register("A client", callback)
	back, err := s.browser("eve").Visit(t.Context(), ask(id, callback), endsAt(callback))
	if q := query(back); err != nil || q.Get("error") != "access_denied" || !strings.Contains(q.Get("error_description"), "read") || q.Get("iss") != issuer {
		t.Errorf("eve: %v, %v", q, err)
	}
}

func TestFailedLoginsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		id := s.register("A client", callback)
		try := func(user, word string) int {
			t.Helper()
			b := formfill.New(map[string]string{"username": user, "password": word}, s)
			p, err := b.Show(t.Context(), ask(id, callback))
			if err != nil {
				t.Fatal(err)
			}
			return p.Status
		}
		for range defaultFailedLogins {
			if got := try("ann", "a guess of it"); got != http.StatusUnauthorized {
				t.Fatalf("a wrong password: %d", got)
			}
		}
		if got := try("nobody", password); got != http.StatusUnauthorized {
			t.Errorf("no user: %d", got)
		}
		began := time.Now()
		if got := try("ann", password); got != http.StatusOK || time.Since(began) != slowTime {
			t.Errorf("after many: %d after %v", got, time.Since(began))
		}
		if got := try("ben", password); got != http.StatusOK {
			t.Errorf("another user: %d", got)
		}
		s.from = "192.0.2.2:1"
		if got := try("ann", password); got != http.StatusOK {
			t.Errorf("from elsewhere: %d", got)
		}
		s.from = "192.0.2.1:2"
		time.Sleep(attemptTime)
		for range 3 * defaultFailedLogins { // successful logins do not count
			if got := try("ann", password); got != http.StatusOK {
				t.Fatalf("after a while: %d", got)
			}
		}
		for i := range manyTimes * defaultFailedLogins {
			if got := try(strings.Repeat("x", i+1), "a guess of it"); got != http.StatusUnauthorized {
				t.Fatalf("names, one after the other: %d", got)
			}
		}
		began = time.Now()
		if got := try("ben", password); got != http.StatusOK || time.Since(began) != slowTime {
			t.Errorf("after many names: %d after %v", got, time.Since(began))
		}
		// For each name and address with too many failures one login waits.
		results := make(chan int, 2)
		for range 2 {
			go func() { results <- try("ben", password) }()
		}
		if first, second := <-results, <-results; first != http.StatusTooManyRequests || second != http.StatusOK {
			t.Errorf("two at a time: %d and %d", first, second)
		}
	})
}

// A browser in which the user logged in before has a count of its own, in both directions.
func TestBrowserThatKnowsTheUserDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		id := s.register("A client", callback)
		ann := map[string]string{"username": "ann", "password": password, "decision": "allow"}
		b := formfill.New(ann, s)
		s.code(b, ask(id, callback), callback)
		again := ask(id, callback, "prompt", "login")
		guess := func() {
			p, err := formfill.New(map[string]string{"username": "ann", "password": "a guess of it"}, s).Show(t.Context(), again)
			if err != nil || p.Status != http.StatusUnauthorized {
				t.Fatalf("a guess: %+v, %v", p, err)
			}
		}
		for range defaultFailedLogins + 5 {
			guess()
		}
		began := time.Now()
		s.code(b, again, callback)
		if took := time.Since(began); took != 0 {
			t.Errorf("the browser that knows ann waited %v", took)
		}
		ann["password"] = "a guess of it"
		for range defaultFailedLogins {
			if p, err := b.Show(t.Context(), again); err != nil || p.Status != http.StatusUnauthorized {
				t.Fatalf("a guess in the browser: %+v, %v", p, err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("guesses in the browser waited %v", took)
		}
		ann["password"] = password
		s.code(b, again, callback)
		if took := time.Since(began); took != slowTime {
			t.Errorf("after too many in the browser: %v", took)
		}
	})
}

// A guesser uses the turns of its own addresses only. A user with the right password in a new
// browser logs in within slowTime and the time for the passwords of the other addresses.
func TestGuessersKeepNoUserOut(t *testing.T) {
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf("198.51.100.%d:1", i+1), fmt.Sprintf("[2001:db8:7:%x::1]:1", i+1))
	}
	for _, test := range []struct {
		name     string
		from     []string
		inFlight int // from each address
	}{
		{"one login after the other", []string{"192.0.2.7:1"}, 1},
		{"many at a time", []string{"192.0.2.7:1"}, 500},
		{"many addresses", many, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				for range manyTimes * defaultFailedLogins {
					s.attempts.take(time.Now(), attemptTime, attempt{"login of ann", manyTimes * defaultFailedLogins})
				}
				ctx, cancel := context.WithCancel(t.Context())
				var guessers sync.WaitGroup
				end := func() { cancel(); guessers.Wait() }
				defer end()
				for _, from := range test.from {
					for range test.inFlight {
						guessers.Go(func() {
							r := httptest.NewRequestWithContext(ctx, http.MethodPost, issuer+loginPath, nil)
							r.RemoteAddr = from
							for ctx.Err() == nil {
								_, _ = s.check(r, "ann", "a guess of it")
								time.Sleep(200 * time.Millisecond)
							}
						})
					}
				}
				time.Sleep(3 * time.Second)
				s.from = "203.0.113.9:1"
				began := time.Now()
				id := s.register("A client", callback)
				s.code(s.browser("ann"), ask(id, callback), callback)
				if took := time.Since(began); took > 30*time.Second {
					t.Errorf("the login takes %v", took)
				}
				end()
				if len(s.waiting.slots) != 0 {
					t.Errorf("%d are said to wait", len(s.waiting.slots))
				}
			})
		})
	}
}

// A login whose password is not checked does not count as failed. All browsers of one user take the
// turns of one site.
func TestLoginsThatAreNotChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		login := func(ctx context.Context, known string) error {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, issuer+loginPath, nil)
			r.RemoteAddr = "203.0.113.9:1"
			if known != "" {
				w := httptest.NewRecorder()
				if err := s.rememberUser(w, known); err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Cookie", w.Result().Cookies()[0].String())
			}
			_, err := s.check(r, "ann", password)
			return err
		}
		var ends []func()
		for _, site := range []string{"192.0.2.1", "192.0.2.2"} {
			end, err := s.hashing.Wait(t.Context(), site)
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, end)
		}
		for range 2 * defaultFailedLogins {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := login(ctx, ""); !errors.Is(err, errBusy) {
				t.Fatalf("while all passwords are checked: %v", err)
			}
			cancel()
		}
		var busy sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for range 50 {
			busy.Go(func() { _ = login(ctx, "ann") })
		}
		synctest.Wait()
		began := time.Now()
		other := make(chan error)
		go func() {
			end, err := s.hashing.Wait(t.Context(), "198.51.100.1")
			if err == nil {
				end()
			}
			other <- err
		}()
		synctest.Wait()
		for _, end := range ends {
			end()
		}
		if err := <-other; err != nil || time.Since(began) > 0 {
			t.Errorf("another site waits %v behind the browsers of one user: %v", time.Since(began), err)
		}
		cancel()
		busy.Wait()
		began = time.Now()
		if err := login(t.Context(), ""); err != nil || time.Since(began) > 0 {
			t.Errorf("after logins that were not checked: %v after %v", err, time.Since(began))
		}
	})
}
