package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestVersionCheck(t *testing.T) {
	for _, test := range []struct {
		name, body string
		status     int
		newest     string
		err        string
	}{
		{"a release", `{"tag_name":"v1.2.3"}`, 200, "1.2.3", ""},
		{"none yet", `{"message":"Not Found"}`, 404, "", "404"},
		{"no version", `{"tag_name":"\u001b[31mnightly"}`, 200, "", "not a version"},
		{"no JSON", `<html>`, 200, "", "invalid character"},
		{"too large", `{"x":"` + strings.Repeat("a", 2<<20) + `","tag_name":"v1.2.3"}`, 200, "", "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				w.Write([]byte(test.body))
			}))
			defer s.Close()
			newest, err := newestVersion(t.Context(), s.Client(), s.URL)
			if newest != test.newest || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("newestVersion returned %q, %v", newest, err)
			}
		})
	}
	for _, test := range []struct{ current, newest, says string }{
		{"0.1.0", "0.2.0", "0.2.0 is available"},
		{"0.1.0", "0.1.0", "newest"},
		{"0.2.0-rc.1", "0.2.0", "0.2.0 is available"},
		{"0.2.0", "0.1.9", "newest"},
	} {
		if got := comparison(test.current, test.newest); !strings.Contains(got, test.says) {
			t.Errorf("%s and %s: %q", test.current, test.newest, got)
		}
	}
}
