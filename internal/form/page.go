package form

import (
	"net/url"
	"strings"
)

// Doubts returns warnings to show before a user visits a page.
func Doubts(page *url.URL) []string {
	var warnings []string
	if page.Scheme == "http" && page.Hostname() != "localhost" && page.Hostname() != "127.0.0.1" {
		warnings = append(warnings, "the connection to it is not encrypted")
	}
	if page.User != nil {
		warnings = append(warnings, "the part before the @ is not the host")
	}
	for _, label := range strings.Split(page.Hostname(), ".") {
		if strings.HasPrefix(strings.ToLower(label), "xn--") || strings.ContainsFunc(label, func(r rune) bool { return r > 0x7f }) {
			warnings = append(warnings, "the host has letters of other alphabets, which may look like Latin ones")
			break
		}
	}
	return warnings
}
