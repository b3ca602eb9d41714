package console

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func answering(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func TestADocumentIsServedOnceOutsideOfTheConsole(t *testing.T) {
	c, origin := opened(t)
	path := c.Once(answering("a view"))
	if strings.Contains(path, strings.Trim(c.path, "/")) {
		t.Errorf("%s has the console's path", path)
	}
	if status, _, _ := asked(t, "POST", origin+path, ""); status != http.StatusUnauthorized {
		t.Errorf("it is sent something: %d", status)
	}
	if status, _, _ := asked(t, "GET", origin+path, "", "Host", "evil.example"); status != http.StatusForbidden {
		t.Errorf("under another name it gets %d", status)
	}
	if status, text, h := asked(t, "GET", origin+path, ""); status != http.StatusOK || text != "a view" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("it gets %d %q %v", status, text, h)
	}
	if status, text, _ := asked(t, "GET", origin+path, ""); status != http.StatusUnauthorized {
		t.Errorf("a second time it gets %d %q", status, text)
	}
}

func TestDocumentsDoNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		get := func(path string) int {
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:1"+path, nil))
			return w.Code
		}
		early, late := c.Once(answering("")), c.Once(answering(""))
		time.Sleep(onceTime - time.Second)
		if got := get(early); got != http.StatusOK {
			t.Errorf("before its end it gets %d", got)
		}
		time.Sleep(2 * time.Second)
		if got := get(late); got != http.StatusUnauthorized {
			t.Errorf("after its end it gets %d", got)
		}
		first := c.Once(answering(""))
		for range maxOnce {
			c.Once(answering(""))
		}
		if got := get(first); got != http.StatusUnauthorized || len(c.waiting) != maxOnce {
			t.Errorf("with %d that wait the first gets %d", len(c.waiting), got)
		}
	})
}
