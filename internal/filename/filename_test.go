package filename

import "testing"

func TestURL(t *testing.T) {
	for path, want := range map[string]string{
		"/":            "file:///",
		"/a/b c":       "file:///a/b%20c",
		"/a?b#c%d":     "file:///a%3Fb%23c%25d",
		"/ä":           "file:///%C3%A4",
		"C:/Users/ada": "file:///C:/Users/ada",
	} {
		if got := URL(path); got != want {
			t.Errorf("URL(%q) = %q, want %q", path, got, want)
		}
	}
}
