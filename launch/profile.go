package launch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/sandbox"
)

// Confinement returns what a program may do by its profile, in a line. If what is locked is a container, no profile means that its engine confines it.
func (l *Launcher) Confinement(p *sandbox.Profile, locked *install.Locked) string {
	switch {
	case p == nil && locked != nil && locked.IsContainer():
		return "may do what its container may"
	case p == nil:
		return "is not confined"
	}
	shown, in := *p, ""
	if p.By != "" {
		in = plaintext.Unbroken(strings.TrimSpace("runs in a container of "+p.By+" "+p.Image)) + "; "
	}
	shown.By, shown.Read, shown.Write = "", withTargets(l.Place, p.Read), withTargets(l.Place, p.Write)
	var may []string
	for _, line := range ProfileLines(shown) {
		may = append(may, strings.Join(strings.Fields(line), " "))
	}
	if len(may) == 0 {
		return in + "is confined to its own package"
	}
	return in + "is confined, but for " + strings.Join(may, ", ")
}

// withTargets returns paths of a profile, each with where it leads by links, which is what is allowed.
func withTargets(p place.Place, paths []string) (shown []string) {
	for _, path := range paths {
		named := p.Expand(path)
		if real, err := filepath.EvalSymlinks(named); err == nil && real != filepath.Clean(named) {
			path += " (which is " + p.Tilde(real) + ")"
		}
		shown = append(shown, path)
	}
	return shown
}

// ProfileLines returns what a profile allows, in lines of a word and a value.
func ProfileLines(p sandbox.Profile) (lines []string) {
	for _, list := range []struct {
		word   string
		values []string
	}{{"read", p.Read}, {"write", p.Write}, {"host", p.Hosts}, {"env", p.Env}} {
		for _, value := range list.values {
			lines = append(lines, fmt.Sprintf("%-5s  %s", list.word, plaintext.Unbroken(value)))
		}
	}
	if p.By != "" {
		lines = append(lines, plaintext.Unbroken(strings.TrimSpace("in     "+p.By+" "+p.Image)))
	}
	s := SettingsOf(p)
	for _, limit := range []struct{ word, value string }{{"processes", number(s.Processes)}, {"memory", s.Memory}, {"files", number(s.Files)}} {
		if limit.value != "" {
			lines = append(lines, limit.word+"  "+limit.value)
		}
	}
	if p.CPU > 0 {
		lines = append(lines, "cpu  "+strconv.FormatFloat(p.CPU, 'f', -1, 64))
	}
	return lines
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Covers reports whether a list has a path, a folder that it is in, or a host.
func Covers(list []string, value string) bool {
	return slices.ContainsFunc(list, func(has string) bool {
		rest, below := strings.CutPrefix(has, "*.")
		return has == value || strings.HasPrefix(value, strings.TrimSuffix(has, "/")+"/") || below && strings.HasSuffix(value, "."+rest)
	})
}

// SettingsOf returns a profile as settings have it.
func SettingsOf(p sandbox.Profile) settings.Sandbox {
	s := settings.Sandbox{Read: p.Read, Write: p.Write, Hosts: p.Hosts, Env: p.Env, Processes: p.Processes, CPU: p.CPU, Files: p.Files, By: p.By, Image: p.Image}
	if p.Memory > 0 {
		s.Memory = fmt.Sprintf("%dMB", (p.Memory+1e6-1)/1e6)
	}
	return s
}
