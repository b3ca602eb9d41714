package host

import (
	"path/filepath"
	"strings"
)

// ServerName returns a name for a server that has none, of its command or of the host of its address.
func ServerName(origin string) string {
	if _, rest, isURL := strings.Cut(origin, "://"); isURL {
		origin, _, _ = strings.Cut(rest, "/")
	} else {
		origin = strings.TrimSuffix(filepath.Base(origin), filepath.Ext(origin))
	}
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '-'
	}, origin)
	switch {
	case name == "":
		return "server"
	case strings.EqualFold(name, OwnServer): // which Junction's tools are called
		return name + "-server"
	}
	return name
}
