package authserver

import (
	"strings"
	"testing"
)

// The headings of the pages name the resource.
func TestHeadingsNameTheLogin(t *testing.T) {
	s := newSite(t)
	p := s.loginPage(false, clientText{name: "c"}, "r", "t", "", "")
	q := s.consentPage(&request{}, &client{}, User{}, nil, clientText{}, "r", "t")
	for name, text := range map[string]string{"login": p.text.String(), "consent": q.text.String()} {
		if strings.Contains(text, "%!") {
			t.Errorf("the page of the %s: %.400s", name, text[strings.Index(text, "<title>"):])
		}
	}
}
